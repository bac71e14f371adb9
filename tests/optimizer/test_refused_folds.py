"""Nodes of weights that a run refuses stay as they are: what is folded is computed later."""

from __future__ import annotations

from typing import Any

import onnx
import pytest

import onnxwright as ow

HEAD = '<ir_version: 10, opset_import: ["" : 20]> g (float[N,2,K] x) => (float[?] y) '
CASES = {
    "Gather: an index out of range": "<float[2] w={1,2}, int64[1] i={3}> { a = Gather (w, i)",
    "Gather: an index that is computed": "<float[2] w={1,2}, int64[2] i={1,2}, int64[1] k={1}> "
    "{ j = Add (i, k) a = Gather (w, j)",
    "Gather: an axis": "<float[2] w={1,2}, int64[1] i={0}> { a = Gather <axis=5> (w, i)",
    "Pow: integers": "<int64[2] w={1,2}, int64[2] i={-1,-2}> { p = Pow (w, i) a = Cast <to=1> (p)",
    "Div: by zero": "<int64[2] w={1,2}, int64[2] i={1,0}> { p = Div (w, i) a = Cast <to=1> (p)",
    "Cast: a text": '<string[2] w={"a", "2"}> { a = Cast <to=1> (w)',
    "Add: shapes": "<float[2] w={1,2}, float[3] v={1,2,3}, float[2] a> { a = Add (w, v)",
    "Reshape: a size": "<float[2] w={1,2}, int64[1] i={3}, float[3] a> { a = Reshape (w, i)",
    "Split: sizes": "<float[2] w={1,2}, int64[2] i={1,0}, float[2] a> { a, b = Split (w, i)",
    "MatMul: lengths": "<float[2] w={1,2}, float[3] v={1,2,3}, float a> { a = MatMul (w, v)",
    "Gemm: lengths": "<float[1,2] w={1,2}, float[1,2] v={1,2}, float[1,2] a> { a = Gemm (w, v)",
    "Transpose: an axis": "<float[2] w={1,2}, float[2] a> { a = Transpose <perm=[3]> (w)",
    "ReduceSum: an axis": "<float[2] w={1,2}, int64[1] i={5}, float a> { a = ReduceSum (w, i)",
    "ArgMin: beside a NaN": "{ w = Constant <value_floats=[1.0, -1.0]> () q = Sqrt (w) "
    "p = ArgMin (q) a = Cast <to=1> (p)",
    "TopK: beside a NaN": "<int64[1] k={1}> { w = Constant <value_floats=[1.0, -1.0]> () "
    "q = Sqrt (w) a, b = TopK (q, k)",
    "BatchNormalization: channels": "<float[2,2,1] w={1,2,3,4}, float[3] s={1,2,3}> "
    "{ b = Conv (x, w) a = BatchNormalization (b, s, s, s, s)",
}
SOUND = {
    "Gather": "<float[2] w={1,2}, int64[2] i={-1,-2}> { a = Gather (w, i)",
    "Pow": "<int64[2] w={1,2}, int64[2] i={1,2}> { p = Pow (w, i) a = Cast <to=1> (p)",
    "Sqrt": "<float[2] w={1,-1}> { a = Sqrt (w)",
    "ArgMin": "{ w = Constant <value_floats=[1.0, 4.0]> () q = Sqrt (w) p = ArgMin (q) "
    "a = Cast <to=1> (p)",
    "Cast": '<string[2] w={"1", "2"}> { a = Cast <to=1> (w)',
    "Gemm": "<float[1,2] w={1,2}, float[1,2] v={1,2}> { a = Gemm <transB=1> (w, v)",
    "BatchNormalization": "<float[2,2,1] w={1,2,3,4}, float[2] s={1,2}> "
    "{ b = Conv (x, w) a = BatchNormalization (b, s, s, s, s)",
}


def optimized(text: str, **options: Any) -> list[str]:
    new_model = ow.optimize(onnx.parser.parse_model(f"{HEAD}{text} y = Mul (x, a) }}"), **options)
    for weight in new_model.graph.initializer:
        onnx.numpy_helper.to_array(weight)
    return [node.op_type for node in new_model.graph.node]


@pytest.mark.parametrize("what", CASES)
def test_it_stays(what: str) -> None:
    for options in ({}, {"level": "exact"}, {"target": "onnxruntime"}):
        assert what.split(":")[0] in optimized(CASES[what], **options)


@pytest.mark.parametrize("what", SOUND)
def test_it_is_folded(what: str) -> None:
    assert what not in optimized(SOUND[what])


def test_a_rule_of_the_library_does_not_end_the_run() -> None:
    text = "{ a = Transpose <perm=[7, 8]> (x) y = Mul (a, a) }"
    new_model, report = ow.optimize(onnx.parser.parse_model(HEAD + text), report=True)
    assert [node.op_type for node in new_model.graph.node] == ["Transpose", "Mul"]
    assert "transpose_of_ones" in report.failed
