"""`onnxwright quantize` and `onnxwright half`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper, parser

from onnxwright.cli.main import main


@pytest.fixture
def model(tmp_path: Path) -> Path:
    proto = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> '
        "g (float[m,64] x) => (float[m,n] y) { y = MatMul(x, w) }"
    )
    weight = np.random.default_rng(0).random((64, 32), np.float32)
    proto.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    return path


def operators(path: Path) -> list[str]:
    onnxruntime.InferenceSession(path)
    return [node.op_type for node in onnx.load(path).graph.node]


def test_quantize(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = model.with_name("small.onnx")
    assert main(["quantize", str(model), "-o", str(out), "--bits", "4", "--report"]) == 0
    assert operators(out) == ["DequantizeLinear", "MatMul"]
    assert "w       64x32  4     32" in capsys.readouterr().out
    assert main(["quantize", str(model), "-o", str(out), "--bits", "8", "--dynamic"]) == 0
    assert "MatMulInteger" in operators(out)
    more = ["--target", "onnxruntime", "--accuracy-level", "4", "--skip", "w", "--json", "--report"]
    capsys.readouterr()
    assert main(["quantize", str(model), "-o", str(out), *more]) == 0
    assert json.loads(capsys.readouterr().out)["report"]["skipped"][0]["name"] == "w"
    assert operators(out) == ["MatMul"]


def test_half(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = model.with_name("half.onnx")
    assert main(["half", str(model), "-o", str(out), "--report"]) == 0
    assert operators(out) == ["Cast", "MatMul", "Cast"]
    assert "1 nodes compute in float16" in capsys.readouterr().out
    assert main(["half", str(model), "-o", str(out), "--keep", "MatMul", "--io", "half"]) == 0
    assert operators(out) == ["Cast", "MatMul", "Cast"]
