"""Shape rules before and after, as data; each answer agrees with ONNX's own inference."""

from __future__ import annotations

from onnxwright.operators import all_facts
from onnxwright.types.kinds import TensorType
from tests.harness.tables import each
from tests.operators.shape_cases import CASES, Case
from tests.operators.shape_rule_runner import (
    by_onnx,
    is_refused_by_onnxruntime,
    outcome,
    read_types,
)


@each("case", CASES)
def test_rules(case: Case) -> None:
    *call, expected = case
    assert outcome(*call) == expected  # type: ignore[arg-type]


_ANSWERED = [c for c in CASES if c.outputs not in ("declines", "contradicts")]
_CONTRADICTIONS = [c for c in CASES if c.outputs == "contradicts"]


@each("case", _CONTRADICTIONS)
def test_onnxruntime_refuses_what_contradicts(case: Case) -> None:
    *call, _ = case
    assert is_refused_by_onnxruntime(*call)  # type: ignore[arg-type]


@each("op", sorted({c.op for c in _CONTRADICTIONS}))
def test_onnxruntime_runs_the_same_operator(op: str) -> None:
    """The other test would pass for a call that the runtime refuses for another reason."""
    answered = [c[:-1] for c in _ANSWERED if c.op == op]
    assert not all(is_refused_by_onnxruntime(*call) for call in answered)


@each("case", _ANSWERED)
def test_onnx_says_the_same(case: Case) -> None:
    *call, expected = case
    theirs = by_onnx(*call)  # type: ignore[arg-type]
    assert theirs is not None, "the rule answers a call that ONNX refuses"
    for ours, other in zip(read_types(expected), theirs, strict=True):
        if not isinstance(other, TensorType):
            continue
        assert isinstance(ours, TensorType)
        assert ours.dtype is other.dtype
        if other.shape is None:
            continue
        assert ours.shape is not None
        assert len(ours.shape) == len(other.shape)
        for a, b in zip(ours.shape, other.shape, strict=True):
            # A number is a number; a name may be known better here, never worse.
            assert a == b or b is None or (isinstance(b, str) and a is not None), (ours, other)


@each("field", ["infer", "dims", "compare"])
def test_each_rule_has_a_case(field: str) -> None:
    answered = {c.op for c in _ANSWERED}
    if field == "dims":
        answered = {c.op for c in CASES if "~" in c.outputs}
    if field == "compare":
        answered = {c.op for c in CASES if "=" in c.outputs}
    without = {f.name for f in all_facts() if getattr(f, field) is not None} - answered
    assert not without
