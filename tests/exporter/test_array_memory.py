"""Tensors that have the memory of an array: what is read has the values of that moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import onnxwright as ow
from tests.harness.modules import module_with

X = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
PROGRAMS: dict[str, tuple[Callable[[Any], Any], str]] = {}


def program(refused: str = "") -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Add a function: computed as PyTorch does, or refused with this text."""

    def add(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        PROGRAMS[function.__name__] = function, refused
        return function

    return add


def _zeros() -> Any:
    return np.zeros(3, np.float32)


@program()
def written_after_it_is_read(x: Any) -> Any:
    array = _zeros()
    y = x + torch.from_numpy(array)
    array += 1
    return y


@program()
def made_anew_after_each_write(x: Any) -> Any:
    array, rows = _zeros(), []
    for n in range(3):
        array[n] = n + 1
        rows.append(x * torch.from_numpy(array))
    return torch.stack(rows)


@program()
def copied_by_torch_tensor(x: Any) -> Any:
    array = _zeros()
    tensor = torch.tensor(array)
    array += 1
    return x + tensor, x - torch.tensor(array)


@program()
def copied_by_an_operator(x: Any) -> Any:
    array = _zeros()
    tensor, wider = torch.from_numpy(array).clone(), torch.from_numpy(array).double()
    np.add(array, 3, out=array)
    return x + tensor, x + wider


@program()
def copy_that_is_written_to(x: Any) -> Any:
    tensor = torch.tensor(_zeros())
    tensor += x[0]
    return x + tensor


@program()
def items_read_as_numbers(x: Any) -> Any:
    array = _zeros()
    before = torch.from_numpy(array)[1].item()
    array[1] = 4
    return x + before, x + torch.from_numpy(array)[1].item()


@program()
def bytes_read_as_a_tensor(x: Any) -> Any:
    data = bytearray(3)
    y = x + torch.frombuffer(data, dtype=torch.uint8)
    data[0] = 7
    return y + torch.frombuffer(data, dtype=torch.uint8)


@program()
def in_a_list(x: Any) -> Any:
    array = np.zeros((1, 3), np.float32)
    y = torch.cat([x, torch.from_numpy(array)])
    array += 2
    return torch.cat([y, torch.from_numpy(array)])


@program("reads a tensor whose array was written since")
def read_after_the_write(x: Any) -> Any:
    array = _zeros()
    tensor = torch.from_numpy(array)
    y = x + tensor
    array += 1
    return y * tensor


@program("reads a tensor whose array was written since")
def view_read_after_the_write(x: Any) -> Any:
    array = _zeros()
    tensor = torch.as_tensor(array)[1:]
    y = x[:, 1:] + tensor
    array[1] = 4
    return y * tensor


@program()
def copies_and_views_of_before(x: Any) -> Any:
    array = _zeros()
    tensor = torch.from_numpy(array)
    copied = tensor.reshape(1, 3) + 0
    turned = tensor[None].expand(2, 3).t().reshape(6) * 1
    array += 1
    return x * torch.from_numpy(array) + copied, turned


@program("reads a tensor whose array was written since")
def one_tensor_for_all_writes(x: Any) -> Any:
    array = _zeros()
    tensor, y = torch.from_numpy(array), x
    for n in range(3):
        array[n] = n
        y = y * tensor
    return y


@program("writes to a tensor of an array")
def written_by_an_operator(x: Any) -> Any:
    array = _zeros()
    tensor = torch.from_numpy(array)
    tensor += 1
    return x + tensor + float(array.sum())


@program("writes to a tensor of an array")
def bytes_written_by_an_operator(x: Any) -> Any:
    data = bytearray(3)
    tensor = torch.frombuffer(data, dtype=torch.uint8)
    tensor.add_(1)
    return x + data[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_tensor_of_an_array(name: str) -> None:
    function, refused = PROGRAMS[name]
    module = module_with(dict)(lambda _, x: function(x))()
    if refused:
        with pytest.raises(ow.ExportError, match=f"OW904.*{refused}"):
            ow.export(module, (X,))
        return
    program = ow.export(module, (X,))
    wanted, given = module(-X), program(-X)
    if isinstance(wanted, torch.Tensor):
        wanted, given = [wanted], [given]
    for one, two in zip(given, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(one), two.numpy())


def test_a_tensor_that_is_held_has_the_values_of_the_state_at_export() -> None:
    array = _zeros()

    def forward(self: Any, x: Any) -> Any:
        y = x + self.tensor
        np.add(array, 1, out=array)
        return y

    module = module_with(lambda: {"tensor": torch.from_numpy(array)})(forward)()
    with pytest.warns(ow.OnnxwrightWarning, match="OW839"):
        program = ow.export(module, (X,))
    np.testing.assert_array_equal(array, _zeros())
    np.testing.assert_array_equal(np.asarray(program(X)), X.numpy())


@pytest.mark.parametrize("is_of_array", [True, False])
@pytest.mark.parametrize("has_array", [True, False])
def test_a_buffer_that_is_written_is_refused_where_the_program_has_its_array(
    is_of_array: bool, has_array: bool
) -> None:
    array = _zeros()
    buffer = torch.from_numpy(array[1:]) if is_of_array else torch.zeros(2)
    array = array if is_of_array else buffer.numpy()
    held = {"array": array} if has_array else {}

    def forward(self: Any, x: Any) -> Any:
        self.buffer[0] += x.sum()
        return x + self.buffer.sum() + (float(self.array[-2]) if has_array else 0)

    module = module_with(lambda: held)(forward)()
    module.register_buffer("buffer", buffer)
    del array
    if has_array:
        with pytest.raises(ow.ExportError, match="OW904.*writes to a tensor of an array"):
            ow.export(module, (X,))
        return
    program = ow.export(module, (X,))
    np.testing.assert_array_equal(np.asarray(program(X)), module(X).numpy())


def test_a_tensor_that_an_export_read_is_not_one_of_an_array() -> None:
    held = [torch.zeros(3), torch.zeros(3)]

    def forward(self: Any, x: Any) -> Any:
        held[0].add_(1)
        return x + held[0] + held[1]

    module = module_with(dict)(forward)()
    for _ in range(2):
        program = ow.export(module, (X,))
        torch.testing.assert_close(torch.as_tensor(program(X)), X + 1)
        program.model_proto  # noqa: B018 - writes the weights
    assert all(tensor.untyped_storage().resizable() for tensor in held)


def test_a_view_of_before_is_refused_where_its_tensor_is_read_again_since() -> None:
    array = _zeros()
    held = torch.from_numpy(array)

    def forward(self: Any, x: Any) -> Any:
        view = held[1:]
        np.add(array, 1, out=array)
        y = x * held
        return y[:, 1:] * view

    with pytest.raises(ow.ExportError, match="OW904.*reads a tensor whose array was written since"):
        ow.export(module_with(dict)(forward)(), (X,))
    np.testing.assert_array_equal(array, _zeros())


def test_a_tensor_of_an_array_that_is_written_is_refused_on_each_way() -> None:
    def forward(self: Any, x: Any) -> Any:
        self.tensor.add_(x.mean(0))
        return x + self.tensor

    for way in ("auto", "non-strict", "source"):
        held = {"tensor": torch.from_numpy(_zeros())}
        with pytest.raises(ow.ExportError, match="OW904"):
            ow.export(module_with(lambda: held)(forward)(), (X,), capture=way)  # noqa: B023
        np.testing.assert_array_equal(held["tensor"].numpy(), _zeros())
