"""Random models with bodies, functions and sequences: equal outputs and valid at each level."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onnxwright as ow
from onnxwright.testing import first_difference
from onnxwright.testing.proving import run_plainly
from tests.optimizer.corpus.check import operators
from tests.optimizer.random_models import Maker, feeds

RUNS = [feeds(3, 0), feeds(1, 1), feeds(2, 5)]


def check(random: Random) -> None:
    """One model, optimized in several ways."""
    model = Maker(random).model()
    onnx.checker.check_model(model, full_check=False)
    if all(run_plainly(model, f) is None for f in RUNS):
        return
    before = model.SerializeToString()
    for options in ({"level": "exact"}, {"level": "rounding"}, {"inline": True}):
        optimized = ow.optimize(model, **options)
        assert model.SerializeToString() == before
        assert list(optimized.graph.input) == list(model.graph.input)
        assert list(optimized.graph.output) == list(model.graph.output)
        onnx.checker.check_model(optimized)
        exact = options.get("level") == "exact"
        difference = first_difference(model, optimized, exact=exact, feeds=RUNS)
        assert difference is None, f"{options}: {difference}\n{onnx.printer.to_text(model)}"
        again = ow.optimize(optimized, **options)
        assert operators(again).total() <= operators(optimized).total()
    newer = ow.convert_version(model, 23)
    assert first_difference(model, newer, feeds=RUNS) is None
    older = ow.convert_version(newer, 18)
    assert first_difference(model, older, feeds=RUNS) is None


NAMES = """<ir_version: 9, opset_import: ["" : 18]>
g (float[N] x, bool c) => (float[N] y) {
  a = If (c) <then_branch = t () => (float[N] u) <float[1] v = {2.0}> { u = Add (x, v) },
              else_branch = e () => (float[N] w) { v = Abs (x)  w = Neg (v) }>
  y = If (c) <then_branch = t () => (float[N] u) <float[1] v = {3.0}> { u = Mul (a, v) },
              else_branch = e () => (float[N] v) { v = Tanh (a) }> }"""


def test_initializers_of_bodies_may_have_the_names_of_values_of_others() -> None:
    model = onnx.parser.parse_model(NAMES)
    optimized = ow.optimize(model)
    onnx.checker.check_model(optimized)
    runs = [{"x": RUNS[0]["x"][:, 0], "c": np.array(c)} for c in (True, False)]
    assert first_difference(model, optimized, feeds=runs) is None


def test_most_models_run() -> None:
    models = [Maker(Random(seed)).model() for seed in range(12)]
    assert sum(run_plainly(m, RUNS[0]) is not None for m in models) > 8


@pytest.mark.parametrize("seed", [*range(2, 8), 118, 155, 10099])
def test_seeded_model(seed: int) -> None:
    check(Random(seed))


def searched(examples: int) -> Callable[[], None]:
    @settings(max_examples=examples, deadline=None, derandomize=True, database=None)
    @given(st.randoms(use_true_random=False))
    def search(random: Random) -> None:
        check(random)

    return search


@pytest.mark.slow
def test_searched_models() -> None:
    searched(1500)()
