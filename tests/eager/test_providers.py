"""Execution providers: each way to run takes them, and one that is missing is an error."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnxwright as ow
from onnxwright import FLOAT, script
from onnxwright import opset18 as op
from onnxwright.cli.main import main
from onnxwright.errors import EagerValueError
from tests.harness.tables import each

X = np.array([-1.0, 2.0], np.float32)


@script()
def relu(x: FLOAT["N"]) -> FLOAT["N"]:
    return op.Relu(x)


def eagerly(providers: Any) -> Any:
    with ow.evaluator(ow.OrtEvaluator(providers=providers)):
        return relu(X)


def exported(providers: Any) -> Any:
    torch = pytest.importorskip("torch", reason="it exports a PyTorch module")
    program = ow.export(torch.nn.ReLU(), (torch.tensor(X),))
    program.initialize_inference_session(providers=providers)
    return program(torch.tensor(X)).numpy()


def exported_for(providers: Any) -> Any:
    torch = pytest.importorskip("torch", reason="it exports a PyTorch module")
    program = ow.export(torch.nn.ReLU(), (torch.tensor(X),), providers=providers, verify=True)
    assert copy.copy(program).providers is providers
    assert program.first_divergence((torch.tensor(X),)) is None
    (value,) = program.compute_values(["relu"], (torch.tensor(X),))
    assert torch.equal(value, program(torch.tensor(X)))
    used = program.initialize_inference_session().get_providers()
    assert used == ["CPUExecutionProvider"]
    return value.numpy()


def compiled_by_torch(providers: Any) -> Any:
    torch = pytest.importorskip("torch", reason="it compiles a PyTorch function")
    backend = ow.torch_backend(providers=providers)
    return torch.compile(torch.relu, backend=backend)(torch.tensor(X)).numpy()


def built(providers: Any) -> Any:
    g = ow.GraphBuilder()
    x = g.input("x", ow.FLOAT["N"])
    return g.run({"x": X}, g.op.Relu(x), providers=providers)


WAYS: dict[str, Callable[[Any], Any]] = {
    "eager": eagerly,
    "compiled": lambda providers: relu.compile(providers=providers)(X),
    "model": lambda providers: ow.CompiledModel(relu.to_model_proto(), providers=providers)(X),
    "run once": lambda providers: ow.run_model(relu.to_model_proto(), [X], providers=providers)[0],
    "built": built,
    "exported": exported,
    "exported for": exported_for,
    "compiled by torch": compiled_by_torch,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_provider_is_used(way: str) -> None:
    assert np.array_equal(WAYS[way](["CPUExecutionProvider"]), [0, 2])
    assert np.array_equal(WAYS[way]([("CPUExecutionProvider", {})]), [0, 2])


@each("way", WAYS)
@each("providers", [["NoExecutionProvider"], "CPUExecutionProvider"])
def test_one_that_is_missing_is_refused(way: str, providers: Any) -> None:
    """ONNX Runtime itself warns, takes the CPU, and says nothing more."""
    with pytest.raises(EagerValueError, match=r"OW625(?s:.*)this ONNX Runtime has .*CPUExecution"):
        WAYS[way](providers)


def test_sessions_of_a_model_are_kept_by_provider() -> None:
    """A model that ran on the CPU by default is not run there for a provider that is missing."""
    model = relu.to_model_proto()
    ow.run_model(model, [X])
    with pytest.raises(EagerValueError, match="OW625"):
        ow.run_model(model, [X], providers=["NoExecutionProvider"])


def test_the_reference_evaluator_has_no_providers() -> None:
    pytest.importorskip("torch", reason="it compiles a PyTorch function")
    with pytest.raises(ow.errors.ExportError, match="the reference evaluator has none"):
        ow.torch_backend("reference", providers=["CPUExecutionProvider"])


def test_commands_take_a_provider(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "relu.onnx"
    onnx.save(relu.to_model_proto(), path)
    line = ["run", str(path), "--random", "--dim", "N=2"]
    assert main([*line, "--provider", "CPUExecutionProvider"]) == 0
    assert main([*line, "--trace", "--provider", "CPUExecutionProvider"]) == 0
    two = ["compare", str(path), str(path), "--random", "--dim", "N=2"]
    assert main([*two, "--provider", "CPUExecutionProvider"]) == 0
    capsys.readouterr()
    for command in (line, [*line, "--trace"], two):
        assert main([*command, "--provider", "NoExecutionProvider"]) == 2
        assert "there is no provider NoExecutionProvider" in capsys.readouterr().err
    assert main([*line, "--evaluator", "reference", "--provider", "CPUExecutionProvider"]) == 2
    assert "--provider is for ONNX Runtime" in capsys.readouterr().err
