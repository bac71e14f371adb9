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
from onnxwright.eager.control_flow import interpreter, protos
from onnxwright.eager.values import SequenceValue, raw_value
from onnxwright.errors import OnnxwrightError
from onnxwright.opset import Opset
from tests.harness.node_cases import node_cases

PASS, NO_KERNEL, FAIL = "pass", "no kernel", "fail"
# ONNX Runtime itself refuses the case's own model, or gives exactly our answer for it.
RUNTIME = "runtime"

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
    return list(node_cases())


def attribute(proto: onnx.AttributeProto) -> Any:
    value = helper.get_attribute_value(proto)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list) and value and isinstance(value[0], bytes):
        return [v.decode() for v in value]
    if (
        hasattr(value, "__len__")
        and not isinstance(value, str)
        and not hasattr(value, "DESCRIPTOR")
    ):
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


def closure(graph: onnx.GraphProto, values: dict[str, Any], versions: dict[str, int]) -> Any:
    """A subgraph as a Python callable; each of its nodes is an eager call."""

    def run_op(op: Any, inputs: Any, attributes: Any, outputs: int) -> list[Any]:
        results = op(*inputs, **attributes, _outputs=outputs)
        return [raw_value(r) for r in (results if outputs > 1 else (results,))]

    scope = {name: raw_value(v) for name, v in values.items()}
    return interpreter.Interpreter(run_op, versions).callable(graph, interpreter.Scope(scope))


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
        for name, body in attributes.items():
            if isinstance(body, onnx.GraphProto) and protos.free_names(body):
                # A body that uses values around it is a closure, in Python as in ONNX.
                attributes[name] = closure(body, values, versions)
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
            return f"{actual!r} is not a sequence of {len(expected)}"
        differences = [
            same(getattr(a, "value", a), e, rtol=rtol, atol=atol, shape_only=shape_only)
            for a, e in zip(actual, expected, strict=True)
        ]
        return next(filter(None, differences), "")
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


def raw(case: Any, inputs: list[Any]) -> list[Any] | None:
    """What ONNX Runtime makes of the case's own model; None where it refuses."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(
            case.model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        feed = {i.name: given(x) for i, x in zip(session.get_inputs(), inputs, strict=False)}
        return list(session.run(None, feed))
    except Exception:  # noqa: BLE001 - any refusal
        return None


def is_random(case: Any) -> bool:
    """Whether the outputs are drawn at random."""
    for node in case.model.graph.node:
        if node.op_type in RANDOM or (node.op_type == "Dropout" and "training" in case.name):
            return True
    return False


def tolerance(case: Any, expected: Any) -> float:
    """The absolute tolerance: the case's, or a few units in the last place of the largest value."""
    value = given(expected)
    if not isinstance(value, np.ndarray) or value.size == 0:
        return float(case.atol)
    if value.dtype not in (np.float16, np.float32, np.float64):
        return float(case.atol)
    finite = np.abs(value[np.isfinite(value)])
    largest = float(finite.max()) if finite.size else 0.0
    return max(float(case.atol), 16 * float(np.finfo(value.dtype).eps) * largest)


def run_case(case: Any) -> Outcome:
    """Run one case."""
    ops = tuple(dict.fromkeys(n.op_type for n in case.model.graph.node))
    shape_only = is_random(case)
    for inputs, expected in case.data_sets:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                actual = run_model(case.model, list(inputs))
        except OnnxwrightError as error:
            reason = str(error).split("\n")[0]
            if isinstance(error.diagnostic, NoKernel):
                if in_reach(case.model) and raw(case, list(inputs)) is not None:
                    return Outcome(case.name, ops, FAIL, f"the runtime runs it: {reason}")
                return Outcome(case.name, ops, NO_KERNEL, reason)
            same_as_runtime = raw(case, list(inputs)) is None and in_reach(case.model)
            return Outcome(case.name, ops, RUNTIME if same_as_runtime else FAIL, reason)
        for a, e in zip(actual, expected, strict=False):
            atol = tolerance(case, e)
            why = same(a, e, rtol=case.rtol, atol=atol, shape_only=shape_only)
            if why:
                theirs = raw(case, list(inputs))
                same_as_runtime = theirs is not None and all(
                    not same(x, y, rtol=1e-6, atol=atol, shape_only=False)
                    for x, y in zip(actual, theirs, strict=True)
                )
                return Outcome(case.name, ops, RUNTIME if same_as_runtime else FAIL, why)
    return Outcome(case.name, ops, PASS)


def in_reach(model: onnx.ModelProto) -> bool:
    """Whether ONNX Runtime loads this opset version, so that its refusal means something."""
    from onnxwright.eager.ort.sessions import newest_opset

    return all(o.version <= newest_opset() for o in model.opset_import if o.domain == "")


def table(outcomes: list[Outcome]) -> str:
    """Pass, no kernel and fail by op."""
    by_op: dict[str, Counter[str]] = defaultdict(Counter)
    for o in outcomes:
        by_op[o.ops[0] if len(o.ops) == 1 else "(several)"][o.verdict] += 1
    lines = [f"{'op':32}{PASS:>8}{NO_KERNEL:>12}{RUNTIME:>10}{FAIL:>8}"]
    total: Counter[str] = Counter()
    for op in sorted(by_op):
        counts = by_op[op]
        total += counts
        lines.append(
            f"{op:32}{counts[PASS]:8}{counts[NO_KERNEL]:12}{counts[RUNTIME]:10}{counts[FAIL]:8}"
        )
    lines.append(
        f"{'all':32}{total[PASS]:8}{total[NO_KERNEL]:12}{total[RUNTIME]:10}{total[FAIL]:8}"
    )
    return "\n".join(lines)
