"""`as_strided` of tensors that are views themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import onnxwright as ow
from onnxwright.errors import ExportError
from tests.harness.modules import module_with


@module_with(lambda function: {"function": function})
def Program(self, x: Any) -> Any:
    return self.function(x)


X = torch.arange(24.0).reshape(2, 3, 4)
RIGHT: dict[str, Callable[[Any], Any]] = {
    "contiguous": lambda x: x.as_strided((2, 3), (1, 4), 2),
    "turned": lambda x: x.transpose(0, 2).as_strided((3, 2), (4, 1)),
    "turned, with an offset": lambda x: x.permute(1, 2, 0).as_strided((3, 2), (4, 1), 3),
    "computed from a turned one": lambda x: (x.transpose(1, 2) + 1).as_strided((4, 3), (2, 5)),
    "with an axis of one": lambda x: x.unsqueeze(1).transpose(1, 3).as_strided((4,), (3,)),
    "behind the beginning": lambda x: x[1:].as_strided((2, 2), (4, 1)),
    "behind the beginning, counted from the front": lambda x: x[1:].as_strided((2, 2), (4, 1), 13),
    "a copy": lambda x: torch.ops.aten.as_strided_copy(x.transpose(0, 2), (3, 2), (4, 1), 1),
    "written": lambda x: torch.as_strided_scatter(x.transpose(0, 2), x[0, :2, :3], (2, 3), (4, 1)),
}
REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "gaps": (lambda x: x[:, 1:].as_strided((2, 2), (4, 1)), "strides (12, 4, 1)"),
    "shared": (lambda x: x[:, :1].expand(2, 3, 4).as_strided((2,), (1,)), "strides (12, 0, 1)"),
    "before": (lambda x: x[1:].as_strided((2, 2), (4, 1), 3), "begins before the tensor"),
    "after": (
        lambda x: x[:1].as_strided((2, 2), (12, 1)),
        "up to the element 13 of a tensor of 12",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_elements_are_those_of_memory(name: str) -> None:
    module = Program(RIGHT[name])
    ours = ow.export(module, (X,))(X)
    torch.testing.assert_close(torch.as_tensor(ours), module(X))


@pytest.mark.parametrize("name", REFUSED)
def test_memory_of_others_is_refused(name: str) -> None:
    function, reason = REFUSED[name]
    with pytest.raises(ExportError, match=r"as_strided") as caught:
        ow.export(Program(function), (X,))
    assert reason in str(caught.value)


class OverlapOfSizes(torch.nn.Module):  # type: ignore[misc]
    """Overlapping chunks of rows that are not first in memory: the strides are sizes."""

    def forward(self, x: Any) -> Any:
        y = x.transpose(0, 1)
        first, second, last = y.stride()
        return y.as_strided((y.shape[0], 3, 2, 6), (first, second, second, last))


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_view_by_strides_that_are_sizes(rows: int) -> None:
    module = OverlapOfSizes()
    sizes = ({1: torch.export.Dim("b")},)
    program = ow.export(module, (torch.randn(4, 3, 6),), dynamic_shapes=sizes)
    x = torch.randn(4, rows, 6)
    torch.testing.assert_close(torch.as_tensor(program(x)), module(x))
