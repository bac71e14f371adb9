"""Attention: rows that masks hide, what is assumed, and what the target has."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import onnxwright as ow
from onnxwright.testing.proving import run_plainly

INPUTS = "float[N, 2, 4, 8] q, float[N, 2, 5, 8] k, float[N, 2, 5, 8] u"
MASKED = """{ t = Transpose<perm = [0, 1, 3, 2]>(k)  m = MatMul(q, t)
    c = Where(seen, m, least)  p = Softmax<axis = -1>(c)  y = MatMul(p, u) }"""
ZEROS = MASKED.replace("y = MatMul(p, u)", "n = IsNaN(p)  w = Where(n, z, p)  y = MatMul(w, u)")


def parsed(body: str, least: str, opset: int = 23) -> onnx.ModelProto:
    return onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : {opset}]> '
        f"g ({INPUTS}, bool[N, 1, 4, 5] seen) => (float[N, 2, 4, 8] y) "
        f"<float least = {{{least}}}, float z = {{0.0}}> {body}"
    )


def feeds(rng: Any, hidden: bool) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        name: rng.normal(size=(2, 2, length, 8)).astype(np.float32)
        for name, length in (("q", 4), ("k", 5), ("u", 5))
    }
    arrays["seen"] = rng.integers(2, size=(2, 1, 4, 5)).astype(bool)
    arrays["seen"][..., 0] = True
    if hidden:
        arrays["seen"][0, 0, 1] = False
    return arrays


def kinds(model: onnx.ModelProto) -> list[str]:
    return [n.op_type for n in model.graph.node]


def same(a: onnx.ModelProto, b: onnx.ModelProto, arrays: dict[str, Any]) -> bool:
    one, other = run_plainly(a, arrays, "a"), run_plainly(b, arrays, "b")
    assert one is not None
    assert other is not None
    return np.allclose(one[0], other[0], rtol=1e-4, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("least", ["-inf", "-3.4028235e38"])
def test_masks_that_may_hide_rows_stay(least: str) -> None:
    model = parsed(MASKED, least)
    optimized = ow.optimize(model)
    assert "Attention" not in kinds(optimized)
    for hidden in (False, True):
        assert same(model, optimized, feeds(np.random.default_rng(0), hidden))


@pytest.mark.parametrize("least", ["-inf", "-3.4028235e38", "-10000.0"])
def test_rows_that_are_promised_to_be_seen(least: str) -> None:
    model = parsed(MASKED, least)
    optimized = ow.optimize(model, assume=["visible"])
    assert kinds(optimized) == ["Attention"]
    assert same(model, optimized, feeds(np.random.default_rng(1), hidden=False))


def test_rows_that_are_zeros_when_hidden() -> None:
    model = parsed(ZEROS, "-inf")
    optimized = ow.optimize(model)
    assert kinds(optimized) == ["Attention"]
    for hidden in (False, True):
        assert same(model, optimized, feeds(np.random.default_rng(2), hidden))
    # The lowest number is not NaN afterwards: such rows are not zeros.
    assert "Attention" not in kinds(ow.optimize(parsed(ZEROS, "-3.4028235e38")))


ROWS = """g (float[N, 4, 16] q, float[N, 5, 16] k, float[N, 5, 16] u{extra}) => (float[N, 4, 16] y)
    <int64[4] h = {{0, 0, 2, 8}}, int64[3] r = {{0, 0, 16}}, float s = {{2.828427}}> {{
    a = Reshape(q, h)  b = Reshape(k, h)  c = Reshape(u, h)  qt = Transpose<perm = [0, 2, 1, 3]>(a)
    kt = Transpose<perm = [0, 2, 1, 3]>(b)  ut = Transpose<perm = [0, 2, 1, 3]>(c)
    kk = Transpose<perm = [0, 1, 3, 2]>(kt)  m = MatMul(qt, kk)  d = Div(m, s)  {mask}
    p = Softmax<axis = -1>({scores})  o = MatMul(p, ut)  t = Transpose<perm = [0, 2, 1, 3]>(o)
    y = Reshape(t, r) }}"""


@pytest.mark.parametrize("masked", [False, True])
def test_heads_made_of_rows(masked: bool) -> None:
    rng = np.random.default_rng(3)
    arrays = {n: rng.normal(size=(2, s, 16)).astype(np.float32)
             for n, s in (("q", 4), ("k", 5), ("u", 5))}  # fmt: skip
    text = ROWS.format(extra="", mask="", scores="d")
    if masked:
        arrays["mask"] = rng.normal(size=(2, 1, 4, 5)).astype(np.float32)
        text = ROWS.format(extra=", float[N, 1, 4, 5] mask", mask="e = Add(d, mask)", scores="e")
    for opset, target, expected in (
        (17, "onnxruntime", ["MultiHeadAttention"]),
        (23, "onnxruntime", ["Attention"]),
        (23, "any", ["Attention"]),
    ):
        model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> {text}')
        # A mask of floats may hide whole rows, unless that is excluded.
        optimized = ow.optimize(model, target=target, assume=["visible"])
        assert kinds(optimized) == expected
        assert same(model, optimized, arrays)
        assert not masked or "Attention" not in kinds(ow.optimize(model, target=target))
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 17]> {text}')
    assert "MultiHeadAttention" not in kinds(ow.optimize(model))


@pytest.mark.parametrize("least", [-np.inf, np.finfo(np.float32).min])
def test_rows_that_a_given_mask_hides_whole(least: float) -> None:
    rng = np.random.default_rng(4)
    arrays = {n: rng.normal(size=(2, s, 16)).astype(np.float32)
             for n, s in (("q", 4), ("k", 5), ("u", 5))}  # fmt: skip
    arrays["mask"] = np.zeros((2, 1, 4, 5), np.float32)
    arrays["mask"][0, 0, 1] = least
    text = ROWS.format(extra=", float[N, 1, 4, 5] mask", mask="e = Add(d, mask)", scores="e")
    for opset, target in ((17, "onnxruntime"), (23, "onnxruntime"), (23, "any")):
        model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> {text}')
        assert same(model, ow.optimize(model, target=target), arrays)
