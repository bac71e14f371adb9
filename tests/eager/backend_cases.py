"""The generated backend node tests of the installed onnx, run through eager dispatch."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from onnxwright.diagnostics.catalogue.eager import NoKernel
from onnxwright.eager.values import SequenceValue
from onnxwright.errors import OnnxwrightError
from onnxwright.opset import Opset

PASS, NO_KERNEL, FAIL = "pass", "no kernel", "fail"

# What has no one right answer: only types and shapes are compared.
RANDOM = frozenset({"Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform",
                    "RandomUniformLike", "Multinomial"})  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """How one case went."""

    case: str
    ops: tuple[str, ...]
    verdict: str
    reason: str = ""


def load() -> list[Any]:
    """All cases, by name."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        cases = load_model_tests(kind="node")
    return sorted((c for c in cases if c.model is not None), key=lambda c: c.name)


def attribute(proto: onnx.AttributeProto) -> Any:
    value = helper.get_attribute_value(proto)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list) and value and isinstance(value[0], bytes):
        return [v.decode() for v in value]
    if hasattr(value, "__len__") and not isinstance(value, str) and not hasattr(value, "DESCRIPTOR"):
        return list(value)
    return value


def given(value: Any) -> Any:
    """A value of the test data as eager calls take it."""
    if isinstance(value, onnx.TensorProto):
        return given(numpy_helper.to_array(value))
    if isinstance(value, list):
        return SequenceValue([given(v) for v in value])
    if isinstance(value, np.generic):
        return np.asarray(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "SU":
        return value.astype(object)
    return value


def run_model(model: onnx.ModelProto, inputs: list[Any]) -> list[Any]:
    """Call the op of each node as a Python function."""
    versions = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in model.opset_import}
    values: dict[str, Any] = {"": None}
    for tensor in model.graph.initializer:
        values[tensor.name] = given(tensor)
    # NOTE: the data may leave out inputs; absent optional ones come as None.
    for info, value in zip(model.graph.input, inputs, strict=False):
        values[info.name] = given(value)
    for node in model.graph.node:
        op = Opset(node.domain, versions["" if node.domain == "ai.onnx" else node.domain])[
            node.op_type
        ]
        attributes = {a.name: attribute(a) for a in node.attribute}
        last = max((n for n, name in enumerate(node.output) if name), default=0)
        args = [values[name] for name in node.input]
        results = op(*args, **attributes, _outputs=last + 1)
        if last == 0:
            results = (results,)
        for name, value in zip(node.output, results, strict=False):
            if name:
                values[name] = value
    return [values[o.name] for o in model.graph.output]


def same(actual: Any, expected: Any, *, rtol: float, atol: float, shape_only: bool) -> str:
    """Why two values differ; empty if they do not."""
    expected = given(expected)
    if expected is None or actual is None:
        return "" if expected is None and actual is None else f"{actual!r} is not {expected!r}"
    actual = getattr(actual, "value", actual)
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return f"{actual!r} is no sequence of {len(expected)}"
        found = [
            same(getattr(a, "value", a), e, rtol=rtol, atol=atol, shape_only=shape_only)
            for a, e in zip(actual, expected, strict=True)
        ]
        return next(filter(None, found), "")
    if actual.dtype != expected.dtype:
        return f"dtype {actual.dtype}, expected {expected.dtype}"
    if actual.shape != expected.shape:
        return f"shape {actual.shape}, expected {expected.shape}"
    if shape_only:
        return ""
    if actual.dtype == object:
        return "" if np.array_equal(actual, expected) else f"{actual} is not {expected}"
    if actual.dtype.name not in np.sctypeDict:
        actual, expected = actual.astype(np.float32), expected.astype(np.float32)
    try:
        np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True)
    except AssertionError as error:
        return " ".join(str(error).split())[:300]
    return ""


def run_case(case: Any) -> Outcome:
    """Run one case."""
    ops = tuple(dict.fromkeys(n.op_type for n in case.model.graph.node))
    shape_only = bool(RANDOM & set(ops))
    for inputs, expected in case.data_sets:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                actual = run_model(case.model, list(inputs))
        except OnnxwrightError as error:
            verdict = NO_KERNEL if isinstance(error.diagnostic, NoKernel) else FAIL
            return Outcome(case.name, ops, verdict, str(error).split("\n")[0])
        for a, e in zip(actual, expected, strict=False):
            why = same(a, e, rtol=case.rtol, atol=case.atol, shape_only=shape_only)
            if why:
                return Outcome(case.name, ops, FAIL, why)
    return Outcome(case.name, ops, PASS)


def table(outcomes: list[Outcome]) -> str:
    """Pass, no kernel and fail by op."""
    by_op: dict[str, Counter[str]] = defaultdict(Counter)
    for o in outcomes:
        by_op[o.ops[0] if len(o.ops) == 1 else "(several)"][o.verdict] += 1
    lines = [f"{'op':32}{PASS:>8}{NO_KERNEL:>12}{FAIL:>8}"]
    total: Counter[str] = Counter()
    for op in sorted(by_op):
        counts = by_op[op]
        total += counts
        lines.append(f"{op:32}{counts[PASS]:8}{counts[NO_KERNEL]:12}{counts[FAIL]:8}")
    lines.append(f"{'all':32}{total[PASS]:8}{total[NO_KERNEL]:12}{total[FAIL]:8}")
    return "\n".join(lines)
