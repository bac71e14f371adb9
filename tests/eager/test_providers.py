"""Execution providers: each way to run takes them, and one that is missing is an error."""

from __future__ import annotations

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


WAYS: dict[str, Callable[[Any], Any]] = {
    "eager": eagerly,
    "compiled": lambda providers: relu.compile(providers=providers)(X),
    "model": lambda providers: ow.CompiledModel(relu.to_model_proto(), providers=providers)(X),
    "exported": exported,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_provider_is_used(way: str) -> None:
    assert np.array_equal(WAYS[way](["CPUExecutionProvider"]), [0, 2])
    assert np.array_equal(WAYS[way]([("CPUExecutionProvider", {})]), [0, 2])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("providers", [["NoExecutionProvider"], "CPUExecutionProvider"], ids=str)
def test_one_that_is_missing_is_refused(way: str, providers: Any) -> None:
    """ONNX Runtime itself warns, takes the CPU, and says nothing more."""
    with pytest.raises(EagerValueError, match=r"OW625(?s:.*)this ONNX Runtime has .*CPUExecution"):
        WAYS[way](providers)


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
