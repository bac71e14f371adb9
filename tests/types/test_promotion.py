"""Type promotion is PyTorch's."""

from __future__ import annotations

import itertools

import pytest
import torch

from onnxwright.types.dtypes import DType
from onnxwright.types.promotion import compute_type, output_type, promote_types, result_type

PAIRS = {
    DType.BOOL: torch.bool,
    DType.UINT8: torch.uint8,
    DType.INT8: torch.int8,
    DType.INT16: torch.int16,
    DType.INT32: torch.int32,
    DType.INT64: torch.int64,
    DType.FLOAT16: torch.float16,
    DType.BFLOAT16: torch.bfloat16,
    DType.FLOAT: torch.float32,
    DType.DOUBLE: torch.float64,
    DType.COMPLEX64: torch.complex64,
    DType.COMPLEX128: torch.complex128,
}
BACK = {v: k for k, v in PAIRS.items()}
NUMBERS = {DType.BOOL: True, DType.INT64: 2, DType.FLOAT: 2.5, DType.COMPLEX64: 2j}


def test_promote_types_is_torchs_table():
    for a, b in itertools.product(PAIRS, PAIRS):
        assert promote_types(a, b) is BACK[torch.promote_types(PAIRS[a], PAIRS[b])], (a, b)


def operand(dtype, strength):
    if strength == "number":
        return NUMBERS[dtype]
    return torch.ones([] if strength == "zerodim" else [2]).to(PAIRS[dtype])


def test_result_type_is_torchs_for_every_pair_of_operands():
    choices = [(d, s) for s in ("tensor", "zerodim") for d in PAIRS]
    choices += [(d, "number") for d in NUMBERS]
    for a, b in itertools.product(choices, choices):
        wanted = torch.result_type(operand(*a), operand(*b))
        if wanted is torch.complex32:  # no ONNX type: such values are kept as COMPLEX64
            wanted = torch.complex64
        assert result_type([a, b]) is BACK[wanted], (a, b)


def test_categories_of_promotion():
    assert compute_type("int_to_float", [(DType.BOOL, "tensor")]) is DType.FLOAT
    assert compute_type("bool_to_long", [(DType.BOOL, "tensor")]) is DType.INT64
    assert compute_type("bool_to_long", [(DType.INT8, "tensor")]) is DType.INT8
    assert output_type("always_bool", DType.INT8) is DType.BOOL


def test_no_operand_has_no_type():
    with pytest.raises(ValueError, match="no operand"):
        result_type([])
