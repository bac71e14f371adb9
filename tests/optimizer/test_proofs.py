"""What a proof catches, and what it says of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import onnxwright as ow
from onnxwright.testing import prove

com = ow.Opset("com.microsoft", 1)


def rule_of(pattern: Callable[..., Any], replacement: Callable[..., Any], **options: Any) -> Any:
    rule = ow.rule(**options)(pattern)
    rule.to(replacement)
    return rule


def twice(op, x, perm: ow.Attr):
    return op.Transpose(op.Transpose(x, perm=perm), perm=perm)


def two(op, x, p: ow.Attr, q: ow.Attr):
    return op.Transpose(op.Transpose(x, perm=p), perm=q)


def composed(op, x, p, q):
    return None if not p or not q else op.Transpose(x, perm=[q[i] for i in p])


def composed_rightly(op, x, p, q):
    return None if not p or not q else op.Transpose(x, perm=[p[i] for i in q])


def softmax(op, x, axis: ow.Attr):
    return op.Softmax(op.Neg(x), axis=axis)


def reduced(op, x, axes: ow.Const, keepdims: ow.Attr):
    return op.ReduceSum(op.Neg(x), axes, keepdims=keepdims)


def leaky(op, x, attrs: ow.Attrs):
    return op.LeakyRelu(op.Neg(x), **attrs)


def positive(op, x, attrs: ow.Attrs):
    return op.LeakyRelu(op.Abs(x), **attrs)


def joined(op, x, y, axis: ow.Attr):
    return op.Concat(x, y, axis=axis)


def square(op, x):
    return op.Mul(op.Sqrt(x), op.Sqrt(x))


WRONG = {
    "an inverse that is not one": (twice, lambda op, x, perm: x),
    "permutations in the wrong order": (two, composed),
    "another axis": (softmax, lambda op, x, axis: op.Softmax(op.Neg(x), axis=-1)),
    "axes kept": (reduced, lambda op, x, axes, keepdims: op.Neg(op.ReduceSum(x, axes))),
    "attributes lost": (leaky, lambda op, x, attrs: op.LeakyRelu(op.Neg(x))),
    "operands exchanged": (joined, lambda op, x, y, axis: op.Concat(y, x, axis=axis)),
    "other bits": (square, lambda op, x: x if ow.facts(x).made_by == "Abs" else None),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_wrong_rule_is_disproved(name: str, seed: int) -> None:
    with pytest.raises(AssertionError, match="changes the result"):
        prove(rule_of(*WRONG[name]), seed=seed)


@pytest.mark.parametrize(
    "rule",
    [
        rule_of(two, composed_rightly),
        rule_of(square, WRONG["other bits"][1], level="rounding"),
        rule_of(positive, lambda op, x, attrs: op.Abs(x)),
    ],
    ids=["permutations", "rounding", "attributes"],
)
def test_a_right_rule_is_proven(rule: Any) -> None:
    assert prove(rule).fired


def test_facts_of_what_makes_an_input_are_drawn() -> None:
    assert (
        "Abs" in prove(rule_of(*WRONG["other bits"], level="rounding")).varied["operators before"]
    )


def test_a_proof_says_what_it_varied() -> None:
    proof = prove(rule_of(two, composed_rightly))
    assert len(proof.varied["attribute `p`"]) > 3
    assert len(proof.varied["opsets"]) > 3
    assert "attribute `p`" not in proof.fixed
    assert "  attribute `q`: " in str(proof)
    kept = rule_of(
        softmax,
        lambda op, x, axis: op.Softmax(op.Neg(x), axis=axis),
        cases=lambda rng: {"x": np.ones((2, 3), np.float32), "axis": -1},
    )
    proof = prove(kept)
    assert proof.fixed["attribute `axis`"] == "-1"
    assert "  attribute `axis`: -1 (not varied)" in str(proof)


def test_a_rule_that_is_never_used_proves_nothing() -> None:
    declines = rule_of(square, lambda op, x: None)
    with pytest.raises(AssertionError, match="nothing is proven: its pattern matched in"):
        prove(declines, tries=8)
    absent = rule_of(lambda op, x, y: op.MatMul(x, y) + [1, 2, 3, 4, 5, 6, 7], lambda op, x, y: x)
    with pytest.raises(AssertionError, match="nothing is proven: its pattern never matched"):
        prove(absent, tries=4)
