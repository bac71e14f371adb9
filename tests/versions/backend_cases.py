"""The node tests of the installed onnx, converted to other opset versions and run there."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper, version_converter

from onnxwright import convert_version
from onnxwright.errors import ConversionError
from tests.harness.node_cases import node_cases

# The newest opset that the installed ONNX Runtime takes; newer models run in no runtime here.
NEWEST_RUN = 26
TARGETS = (7, 8, 9, 10, 11, 12, 13, 15, 17, 18, 19, 21, 23, NEWEST_RUN)
# Cases whose results are drawn, or that ONNX Runtime computes otherwise than onnx in any version.
RANDOM = ("bernoulli", "training_dropout", "random")
OTHERWISE = {
    "test_roialign_aligned_false": "ONNX Runtime's RoiAlign is less exact than the expected data",
    "test_roialign_aligned_true": "ONNX Runtime's RoiAlign is less exact than the expected data",
    "test_affine_grid_3d_expanded": "a branch that is not taken splits unevenly",
    "test_affine_grid_3d_align_corners_expanded": "a branch that is not taken splits unevenly",
    "test_quantizelinear_blocked_symmetric": "ONNX Runtime rounds INT16 otherwise, unconverted too",
}


@dataclass
class Case:
    """A model, its inputs and what onnx expects of it."""

    name: str
    model: onnx.ModelProto
    inputs: list[Any]
    expected: list[Any]
    version: int


@dataclass
class Result:
    """How many conversions ended how, and what went wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def load() -> list[Case]:
    """All cases on standard operators; small integer inputs are initializers, as in real models."""
    cases = []
    for case in node_cases():
        if not case.data_sets:
            continue
        imports = {o.domain: o.version for o in case.model.opset_import}
        version = imports.get("", imports.get("ai.onnx"))
        if version is not None and version >= 7:
            cases.append(_bound(case, version))
    return cases


def _bound(case: Any, version: int) -> Case:
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    inputs, expected = case.data_sets[0]
    kept = []
    for n, (info, value) in enumerate(zip(list(model.graph.input), inputs)):
        array = isinstance(value, np.ndarray) and info.type.HasField("tensor_type")
        if n and array and value.size <= 16 and (
            value.ndim == 0 or (value.dtype.kind == "i" and value.ndim <= 1)
        ):  # fmt: skip
            model.graph.initializer.append(numpy_helper.from_array(value, info.name))
            model.graph.input.remove(info)
        else:
            kept.append(value)
    model.ir_version = max(model.ir_version, 4)
    return Case(case.name, model, kept, list(expected), version)


def run(model: onnx.ModelProto, inputs: list[Any]) -> list[Any]:
    """The outputs of a model in ONNX Runtime, its own optimizations off."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    fed = {i.name: value for i, value in zip(session.get_inputs(), inputs)}
    return list(session.run(None, fed))


def same(a: Any, b: Any) -> bool:
    """Whether two results are equal up to rounding."""
    if isinstance(a, list) or isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if a is None or b is None:
        return a is b
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "fcV":
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        close = 2e-3 if a.dtype.itemsize < 4 else 1e-4
        return np.allclose(
            a.astype(wide), b.astype(wide), rtol=close, atol=close / 10, equal_nan=True
        )
    return bool(np.array_equal(a, b))


def check(case: Case, targets: tuple[int, ...] = TARGETS, *, peer: bool = False) -> Result:
    """Convert a case to several versions, check and run each."""
    result = Result()
    try:
        base: list[Any] | None = run(case.model, case.inputs)
    except Exception:  # noqa: BLE001 - whatever the runtime does not take
        base = None
    for target in targets:
        label = "same" if target == case.version else "up" if target > case.version else "down"
        try:
            converted = _peer(case.model, target) if peer else convert_version(case.model, target)
        except ConversionError as error:
            result.counts[f"{label} refused"] += 1
            result.reasons.update(
                f"{d.operation}: {d.reason}" for d in error.diagnostics if d.code == "OW870"
            )
            continue
        except Exception:
            if not peer:
                raise
            result.counts[f"{label} refused"] += 1
            continue
        text = _problem(case, converted, base)
        result.counts[f"{label} {text.split(':')[0]}"] += 1
        if text not in ("equal", "not run"):
            result.wrong.append(f"{case.name} {case.version} to {target}: {text}")
    return result


def _peer(model: onnx.ModelProto, target: int) -> onnx.ModelProto:
    return version_converter.convert_version(model, target)


def _problem(case: Case, converted: onnx.ModelProto, base: list[Any] | None) -> str:
    try:
        onnx.checker.check_model(converted)
    except onnx.checker.ValidationError as error:
        return f"invalid: {str(error).splitlines()[0]}"
    if any(word in case.name for word in RANDOM) or case.name in OTHERWISE:
        return "not run"
    try:
        outputs = run(converted, case.inputs)
    except Exception as error:  # noqa: BLE001 - whatever the runtime says
        text = str(error)
        if base is None or "NOT_IMPLEMENTED" in text:
            return "not run"  # no kernel for this version or type
        return f"refused by the runtime: {text[:200]}"
    if (base is not None and same(base, outputs)) or same(case.expected, outputs):
        return "equal"
    return "different"


def table(results: dict[str, Result]) -> str:
    """Counts by outcome, for each way of converting."""
    keys = sorted({key for result in results.values() for key in result.counts})
    lines = [f"{'':24}" + "".join(f"{name:>16}" for name in results)]
    for key in keys:
        lines.append(f"{key:24}" + "".join(f"{r.counts[key]:16}" for r in results.values()))
    return "\n".join(lines)


def main() -> None:
    """Print how many conversions are right, beside onnx's own converter.

    An argument of n takes every nth case.
    """
    cases = load()[:: int(sys.argv[1]) if len(sys.argv) > 1 else 1]
    results = {"onnxwright": Result(), "onnx": Result()}
    for case in cases:
        for name, result in results.items():
            outcome = check(case, peer=name == "onnx")
            result.counts += outcome.counts
            result.reasons += outcome.reasons
            result.wrong += outcome.wrong
    print(table(results))
    for reason, count in results["onnxwright"].reasons.most_common():
        print(f"{count:6} {reason}")


if __name__ == "__main__":
    main()
