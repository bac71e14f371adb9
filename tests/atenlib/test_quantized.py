"""Quantization as PyTorch's quantized_decomposed operators and fake_quantize do it."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch says what is right")

import torch.ao.quantization.fx._decomposed  # noqa: E402 - registers quantized_decomposed

from onnxwright.testing.aten_runs import run_as_graph, run_eagerly  # noqa: E402
from onnxwright.testing.tape import record  # noqa: E402

X = torch.linspace(-3.05, 3.05, 24).reshape(2, 3, 4)
SCALES = torch.tensor([0.05, 0.1, 0.02])
ZEROS = torch.tensor([0, 3, -2])
OPS = torch.ops.quantized_decomposed


def cases() -> dict[str, Any]:
    q8 = OPS.quantize_per_tensor(X, 0.05, 3, -128, 127, torch.int8)
    qc = OPS.quantize_per_channel(X, SCALES, ZEROS, 1, -128, 127, torch.int8)
    one, zero = torch.tensor([0.05]), torch.tensor([3])
    return {
        "int8": lambda: OPS.quantize_per_tensor(X, 0.05, 3, -128, 127, torch.int8),
        "uint8": lambda: OPS.quantize_per_tensor(X, 0.05, 128, 0, 255, torch.uint8),
        "narrow": lambda: OPS.quantize_per_tensor(X, 0.05, 3, -8, 7, torch.int8),
        "int16": lambda: OPS.quantize_per_tensor(X, 0.001, 0, -2000, 2000, torch.int16),
        "tensor": lambda: OPS.quantize_per_tensor.tensor(X, one, zero, -128, 127, torch.int8),
        "tensor2": lambda: OPS.quantize_per_tensor.tensor2(
            X, one, zero, torch.tensor(-128), torch.tensor(127), torch.int8
        ),
        "channel": lambda: OPS.quantize_per_channel(X, SCALES, ZEROS, 1, -128, 127, torch.int8),
        "narrow channel": lambda: OPS.quantize_per_channel(X, SCALES, ZEROS, -2, -8, 7, torch.int8),
        "back": lambda: OPS.dequantize_per_tensor(q8, 0.05, 3, -128, 127, torch.int8),
        "back half": lambda: OPS.dequantize_per_tensor(
            q8, 0.05, 3, -128, 127, torch.int8, out_dtype=torch.float16
        ),
        "back tensor": lambda: OPS.dequantize_per_tensor.tensor(
            q8, one, zero, -128, 127, torch.int8
        ),
        "back channel": lambda: OPS.dequantize_per_channel(
            qc, SCALES, ZEROS, 1, -128, 127, torch.int8
        ),
        "back without zeros": lambda: OPS.dequantize_per_channel(
            qc, SCALES, None, 1, -128, 127, torch.int8
        ),
        "fake": lambda: torch.fake_quantize_per_tensor_affine(X, 0.05, 3, -8, 7),
        "fake tensors": lambda: torch.fake_quantize_per_tensor_affine(
            X, torch.tensor(0.05), torch.tensor(3, dtype=torch.int32), -8, 7
        ),
        "fake channel": lambda: torch.fake_quantize_per_channel_affine(
            X, SCALES, ZEROS.to(torch.int32), 1, -8, 7
        ),
    }


@pytest.mark.parametrize("name", cases())
@pytest.mark.parametrize("run", [run_eagerly, run_as_graph])
def test_as_pytorch(name: str, run: Any) -> None:
    calls, result = record(cases()[name])
    (ours,) = run(calls, result, 23)
    torch.testing.assert_close(ours, result)
