"""Weights in bodies of control flow: what is computed of them alone is computed once, ahead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import onnx
import pytest

import onnxwright as ow
from onnxwright.testing import first_difference
from onnxwright.testing.proving import run_plainly
from tests.optimizer.corpus.check import operators
from tests.optimizer.test_forms import drawn, parsed

# name -> the model and the operators afterwards, those of bodies included.
CASES = {
    "normalization after a convolution in a branch": (
        """g (bool c, float[N,3,5,5] x) => (float[N,4,3,3] y)
        <float[4,3,3,3] w, float[4] s, float[4] t, float[4] m, float[4] v> {
          y = If (c) <then_branch = then () => (float[N,4,3,3] p) {
                a = Conv(x, w)  p = BatchNormalization(a, s, t, m, v) },
              else_branch = other () => (float[N,4,3,3] q) {
                b = Conv(x, w)  q = BatchNormalization(b, s, t, m, v) }> }""",
        "If Conv Conv",
    ),
    "a scaled weight in a loop": (
        """g (int64 n, float[N,4] x) => (float[N,4] y) <float[4,4] w, float[4] ws> {
          y = Loop (n, , x) <body = body (int64 i, bool go, float[N,4] a) =>
              (bool on, float[N,4] b) {
                on = Identity(go)  m = MatMul(a, w)  p = Mul(m, ws)  b = Tanh(p) }> }""",
        "Loop MatMul Tanh",
    ),
    "queries, keys and values in a loop": (
        """g (int64 n, float[N,4] x) => (float[N,4] y)
        <float[4,4] wa, float[4,4] wb, float[4,4] wc> {
          y = Loop (n, , x) <body = body (int64 i, bool go, float[N,4] a) =>
              (bool on, float[N,4] b) {
                on = Identity(go)  q = MatMul(a, wa)  k = MatMul(a, wb)  v = MatMul(a, wc)
                m = Mul(q, k)  s = Sub(m, v)  b = Tanh(s) }> }""",
        "Loop MatMul Split Mul Sub Tanh",
    ),
    "one of three products in a branch": (
        """g (bool c, float[N,4] x) => (float[N,4] y)
        <float[4,4] wa, float[4,4] wb, float[4,4] wc> {
          z = If (c) <then_branch = then () => (float[N,4] p) { p = MatMul(x, wa) },
              else_branch = other () => (float[N,4] q) { q = Neg(x) }>
          k = MatMul(x, wb)  v = MatMul(x, wc)  m = Mul(z, k)  y = Sub(m, v) }""",
        "If MatMul Neg MatMul MatMul Mul Sub",
    ),
    "a product outside of a loop, its sum inside": (
        """g (int64 n, float[N,4] x) => (float[N,4] y) <float[4,4] w, float[4] b> {
          m = MatMul(x, w)
          y = Loop (n, , x) <body = body (int64 i, bool go, float[N,4] a) =>
              (bool on, float[N,4] r) {
                on = Identity(go)  s = Add(m, b)  r = Mul(a, s) }> }""",
        "MatMul Loop Add Mul",
    ),
    "a gather that a branch guards": (
        """g (bool c, float[N,4] x) => (float[N,4] y)
        <float[3,4] w, int64[1] i = {7}> {
          y = If (c) <then_branch = then () => (float[N,4] p) {
                r = Gather(w, i)  p = Add(x, r) },
              else_branch = other () => (float[N,4] q) { q = Neg(x) }> }""",
        "If Gather Add Neg",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_body(name: str) -> None:
    text, expected = CASES[name]
    model = parsed(text, 18)
    optimized = ow.optimize(model)
    assert operators(optimized) == Counter(expected.split())
    onnx.checker.check_model(optimized)
    ran = 0
    for size, flag in ((1, False), (3, True)):
        rng = np.random.default_rng(size)
        feeds = {v.name: drawn(v, size, rng) for v in model.graph.input}
        feeds |= {k: np.asarray(flag) for k in feeds if k == "c"}
        feeds |= {k: np.asarray(size) for k in feeds if k == "n"}
        before = run_plainly(model, feeds)
        if before is None:
            continue
        ran += 1
        after = run_plainly(optimized, feeds)
        assert after is not None
        for a, b in zip(before, after, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert ran
    assert operators(ow.optimize(optimized)) == operators(optimized)


def test_weights_that_are_kept_stay_in_bodies() -> None:
    text, _ = CASES["a scaled weight in a loop"]
    optimized = ow.optimize(parsed(text, 18), keep=["w"])
    assert "w" in {t.name for t in optimized.graph.initializer}
    assert operators(optimized) == Counter("Loop MatMul Mul Tanh".split())


NEVER = """<ir_version: 9, opset_import: ["" : 18, "local" : 1]>
g (float[N,3] x) => (float[K,3] y) { y = local.F (x) }
<domain: "local", opset_import: ["" : 18]> F (a) => (r) {
  count = Constant <value = int64 {2}> ()
  never = Constant <value = bool {0}> ()
  last, rows = Loop (count, never, a) <body = b (int64 i, bool go, float[N,3] s) =>
      (bool on, float[N,3] next, float[N,3] row) {
        on = Identity (go)  next = Add (s, s)  row = Identity (s) }>
  axis = Constant <value = int64[1] {0}> ()
  r = ReduceSum <keepdims = 0> (rows, axis) }"""


def test_a_scan_output_without_iterations_has_the_shape_that_its_body_states() -> None:
    # ONNX's text on Loop leaves the shape open; ONNX Runtime reads it from the body.
    model = onnx.parser.parse_model(NEVER)
    optimized = ow.optimize(model)
    feeds = {"x": np.ones((2, 3), np.float32)}
    before, after = run_plainly(model, feeds), run_plainly(optimized, feeds)
    assert before is not None
    assert after is not None
    assert before[0].shape == after[0].shape == (0, 3)


@pytest.mark.parametrize("change", [ow.optimize, ow.fold_constants])
def test_constant_results_of_bodies_stay_constants(
    change: Callable[[onnx.ModelProto], onnx.ModelProto],
) -> None:
    """An initializer outside would need an Identity inside; floats of several elements have one."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 16]>
        g (bool c, int64 n, float[N,4] x) => (float[N,4] y, float[2] z, int64[2] k)
        <bool always = {1}> {
          y = Loop (n, always, x) <body = body (int64 i, bool go, float[N,4] a) =>
              (bool on, float[N,4] b) { on = Constant<value = bool {1}>()  b = Add(a, a) }>
          z, k = If (c) <then_branch = then () => (float[2] p, int64[2] u) {
                p = Constant<value = float[2] {1, 2}>()  u = Constant<value = int64[2] {1, 2}>() },
              else_branch = other () => (float[2] q, int64[2] v) {
                p2 = Constant<value = float[2] {1, 2}>()  q = Neg(p2)
                v = Constant<value = int64[2] {3, 4}>() }> }""")
    changed = change(model)
    assert operators(changed, constants=True) == Counter(
        {"Loop": 1, "If": 1, "Constant": 3, "Add": 1, "Identity": 2}
    )
    assert first_difference(model, changed, exact=True) is None
    assert operators(change(changed), constants=True) == operators(changed, constants=True)


def test_a_result_of_a_body_that_is_kept_stays_an_initializer() -> None:
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 16]>
        g (bool c) => (int64[1] y) <int64[1] w = {1}> {
          y = If (c) <then_branch = then () => (int64[1] p) { p = Identity(w) },
              else_branch = other () => (int64[1] q) { q = Constant<value = int64[1] {2}>() }> }""")
    assert operators(ow.optimize(model)) == Counter(["If"])
    optimized = ow.optimize(model, keep=["w"])
    assert operators(optimized) == Counter(["If", "Identity"])
    assert [i.name for i in optimized.graph.initializer] == ["w"]
