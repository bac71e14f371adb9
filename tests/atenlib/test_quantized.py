"""Quantization as PyTorch's quantized_decomposed operators and fake_quantize do it."""

from __future__ import annotations

from typing import Any

import torch
import torch.ao.quantization.fx._decomposed

from onnxwright.sweep.aten_runs import leaves, run_as_graph, run_eagerly
from onnxwright.sweep.tape import record
from tests.atenlib.one_op import outcomes
from tests.harness.tables import each

X = torch.linspace(-3.05, 3.05, 24).reshape(2, 3, 4)
SCALES = torch.tensor([0.05, 0.1, 0.02])
ZEROS = torch.tensor([0, 3, -2])
OPS = torch.ops.quantized_decomposed
FAKE_LEARNED = torch.ops.aten._fake_quantize_learnable_per_tensor_affine
FAKE_LEARNED_CHANNEL = torch.ops.aten._fake_quantize_learnable_per_channel_affine


def cases() -> dict[str, Any]:
    q8 = OPS.quantize_per_tensor(X, 0.05, 3, -128, 127, torch.int8)
    qc = OPS.quantize_per_channel(X, SCALES, ZEROS, 1, -128, 127, torch.int8)
    one, zero = torch.tensor([0.05]), torch.tensor([3])
    fake8 = torch.float8_e4m3fn
    a8, b8 = torch.randn(16, 32).to(fake8), torch.randn(16, 32).to(fake8).t()
    group = torch.tensor([[0.05, 0.02], [0.1, 0.03]])
    far = torch.tensor([[3, 0], [1, -2]])
    rows, tokens = X.reshape(2, 12), OPS.choose_qparams_per_token_asymmetric(X, torch.int8)
    qt = OPS.quantize_per_token(X, *tokens, -128, 127, torch.int8)
    qg = OPS.quantize_per_channel_group(rows, group, far, -8, 7, torch.int8, 6)
    return {
        "choose": lambda: OPS.choose_qparams.tensor(X, -128, 127, 1e-5, torch.int8),
        "choose above": lambda: OPS.choose_qparams.tensor(X + 9, 0, 255, 1e-5, torch.uint8),
        "choose none": lambda: OPS.choose_qparams.tensor(X * 0, -128, 127, 1e-5, torch.int8),
        "choose middle": lambda: OPS.choose_qparams_symmetric.tensor(
            X, -127, 127, 1e-5, torch.int8
        ),
        "choose middle above": lambda: OPS.choose_qparams_symmetric.tensor(
            X + 1, 0, 255, 1e-5, torch.uint8
        ),
        "choose rows": lambda: OPS.choose_qparams_per_token(X, torch.int8),
        "choose rows half": lambda: OPS.choose_qparams_per_token(X.half(), torch.int8),
        "choose rows apart": lambda: OPS.choose_qparams_per_token_asymmetric(X + 1, torch.int8),
        "rows": lambda: OPS.quantize_per_token(X, *tokens, -128, 127, torch.int8),
        "back rows": lambda: OPS.dequantize_per_token(
            qt, *tokens, -128, 127, torch.int8, torch.float32
        ),
        "group": lambda: OPS.quantize_per_channel_group(rows, group, far, -8, 7, torch.int8, 6),
        "back group": lambda: OPS.dequantize_per_channel_group(
            qg, group, far, -8, 7, torch.int8, 6, torch.float32
        ),
        "back group without zeros": lambda: OPS.dequantize_per_channel_group(
            qg, group, None, -8, 7, torch.int8, 6, torch.float16
        ),
        "back group of 64 bits": lambda: OPS.dequantize_per_channel_group(
            qg, group.double(), far, -8, 7, torch.int8, 6, torch.float32
        ),
        "float8 product": lambda: torch._scaled_mm(
            a8, b8, torch.tensor(2.0), torch.tensor(0.5), out_dtype=torch.float32
        ),
        "float8 product with a bias": lambda: torch._scaled_mm(
            a8,
            b8,
            torch.tensor(2.0),
            torch.tensor(0.5),
            torch.arange(16).bfloat16(),
            out_dtype=torch.bfloat16,
        ),
        "fake with a mask": lambda: torch.ops.aten.fake_quantize_per_tensor_affine_cachemask(
            X, 0.05, 3, -8, 7
        ),
        "fake on": lambda: torch.ops.aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
            X, torch.tensor(0.05), torch.tensor(3, dtype=torch.int32), torch.tensor([1]), -8, 7
        ),
        "fake off": lambda: (
            torch.ops.aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
                X, torch.tensor(0.05), torch.tensor(3, dtype=torch.int32), torch.tensor([0]), -8, 7
            )
        ),
        "fake channel with a mask": lambda: (
            torch.ops.aten.fake_quantize_per_channel_affine_cachemask(
                X, SCALES, ZEROS.to(torch.int32), 1, -8, 7
            )
        ),
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
        "learned": lambda: FAKE_LEARNED(X, torch.tensor([0.05]), torch.tensor([2.5]), -128, 127),
        "learned narrow": lambda: FAKE_LEARNED(
            X, torch.tensor([0.05]), torch.tensor([-9.6]), -8, 7, 0.5
        ),
        "learned without zero": lambda: FAKE_LEARNED(
            X, torch.tensor([0.05]), torch.tensor([0.4]), 3, 9
        ),
        "learned channel": lambda: FAKE_LEARNED_CHANNEL(
            X, SCALES, torch.tensor([0.5, 3.5, -2.7]), 1, -128, 127
        ),
        "learned channel narrow": lambda: FAKE_LEARNED_CHANNEL(
            X, SCALES, torch.tensor([0.5, 30.0, -20.0]), 1, -8, 7
        ),
        "learned channel half": lambda: FAKE_LEARNED_CHANNEL(
            X.half(), SCALES, torch.tensor([0.5, 3.5, -2.7]), 1, 0, 255
        ),
    }


@each("name", cases())
@each("run", [run_eagerly, run_as_graph])
def test_as_pytorch(name: str, run: Any) -> None:
    calls, result = record(cases()[name])
    expected = leaves(result)
    for ours, theirs in zip(run(calls, result, 23), expected, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_int8_matrix() -> None:
    """torch's kernel takes some sizes only, and ends the process for others."""
    x, matrix = X.reshape(2, 12), torch.randint(-100, 100, (5, 12), dtype=torch.int8)
    scales = torch.arange(5).float()
    expected = x @ (matrix.float() * scales[:, None]).T
    target = torch.ops.aten._weight_int8pack_mm.default
    theirs, modes = outcomes(target, x, matrix, scales, expected=expected)
    for ours in modes.values():
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-4)
