"""Weights that are only read transposed are stored so, and still are the weights of the module."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from torch import nn

import onnxwright as ow
from tests.exporter.programs import operators
from tests.harness.modules import module_with


def _stored(program: ow.ONNXProgram, name: str):
    return program.model.graph.initializers[name].const_value


def test_linear_on_three_axes_has_no_transpose() -> None:
    model = nn.Linear(3, 4).eval()
    program = ow.export(model, (torch.randn(2, 5, 3),))
    assert operators(program) == {"MatMul": 1, "Add": 1}
    stored = _stored(program, "weight")
    assert tuple(stored.shape) == (3, 4)
    assert stored.raw.data_ptr() == model.weight.data_ptr()
    assert program.verify((torch.randn(2, 5, 3),)).ok


@module_with(lambda: {"words": nn.Embedding(500, 200)})
def Tied(self, ids):
    """One weight as embedding and as last layer."""
    return nn.functional.linear(self.words(ids), self.words.weight)


def test_a_weight_that_is_read_both_ways_is_written_once() -> None:
    ids = torch.tensor([[1, 2, 3]])
    program = ow.export(Tied().eval(), (ids,))
    assert operators(program) == {"Gather": 1, "MatMul": 1, "Transpose": 1}
    assert tuple(_stored(program, "words.weight").shape) == (500, 200)
    assert program.verify((ids,)).ok


@module_with(lambda: {"weight": nn.Parameter(torch.randn(300, 300) / 300)})
def Both(self, x):
    """One weight in two matrix products, transposed in one of them."""
    return nn.functional.linear(x, self.weight) @ self.weight


def test_a_weight_of_two_products_is_written_once() -> None:
    x = torch.randn(2, 3, 300)
    program = ow.export(Both().eval(), (x,))
    assert operators(program) == {"Transpose": 1, "MatMul": 2}
    assert program.verify((x,)).ok


@module_with(lambda: {"weight": nn.Parameter(torch.randn(4, 3))})
def Shown(self, x):
    """The transposed weight is a result."""
    return x @ self.weight.T, self.weight.T


def test_a_transposed_weight_can_be_a_result() -> None:
    x = torch.randn(2, 3)
    program = ow.export(Shown().eval(), (x,))
    assert program.verify((x,)).ok


@pytest.mark.parametrize("external", [False, True])
def test_files_hold_the_numbers_in_the_new_order(tmp_path: Path, external: bool) -> None:
    model, x = nn.Linear(40, 30).eval(), torch.randn(2, 5, 40)
    path = ow.export(model, (x,)).save(tmp_path / "m.onnx", external_data=external)
    proto = onnx.load(str(path))
    onnx.checker.check_model(str(path), full_check=True)
    held = {i.name: onnx.numpy_helper.to_array(i) for i in proto.graph.initializer}
    np.testing.assert_array_equal(held["weight"], model.weight.detach().numpy().T)


@pytest.mark.parametrize("how", ["state dict", "pt", "fake"])
def test_weights_are_given_as_the_module_has_them(tmp_path: Path, how: str) -> None:
    first, second, x = nn.Linear(3, 4).eval(), nn.Linear(3, 4).eval(), torch.randn(2, 5, 3)
    if how == "fake":
        program = ow.export(nn.Linear(3, 4, device="meta").eval(), (x.to("meta"),))
    else:
        program = ow.export(first, (x,))
    weights = second.state_dict()
    if how == "pt":
        torch.save(weights, tmp_path / "w.pt")
        weights = tmp_path / "w.pt"
    program.apply_weights(weights)
    torch.testing.assert_close(program(x), second(x).detach())


def test_weights_of_a_safetensors_file(tmp_path: Path) -> None:
    files = pytest.importorskip("safetensors.torch", reason="the format is its own")
    second, x = nn.Linear(3, 4).eval(), torch.randn(2, 5, 3)
    files.save_file(second.state_dict(), tmp_path / "w.safetensors")
    program = ow.export(nn.Linear(3, 4).eval(), (x,))
    program.apply_weights(tmp_path / "w.safetensors")
    torch.testing.assert_close(program(x), second(x).detach())
    path = program.save(tmp_path / "m.onnx")
    held = {i.name: onnx.numpy_helper.to_array(i) for i in onnx.load(str(path)).graph.initializer}
    np.testing.assert_array_equal(held["weight"], second.weight.detach().numpy().T)
