"""Writes `onnxwright/operators/kernels_onnxruntime.py`: types for which ONNX Runtime has no kernel.

Run it from the repository's root when the runtime that is aimed at changes:

    python -m tools.kernels            # write the file
    python -m tools.kernels --check    # only say whether it is current
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
from onnx import helper

from onnxwright.eager.ort.kernels import kernel_types
from onnxwright.eager.ort.sessions import newest_opset
from onnxwright.operators import facts
from onnxwright.opset import Opset, registry
from onnxwright.opset.registry import OpSignature
from onnxwright.types.dtypes import DType

TARGET = Path(__file__).resolve().parents[1] / "onnxwright" / "operators" / "kernels_onnxruntime.py"
# Schemas that were replaced before this opset are left out.
OLDEST = 13
# FLOAT16 is not among them: the runtime puts casts to FLOAT in by itself.
TYPES = (
    "FLOAT", "BFLOAT16", "DOUBLE", "BOOL", "INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32",
    "INT64", "UINT64",
)  # fmt: skip
# The runtime makes these into other operators, or runs them without a kernel.
_WITHOUT_KERNEL = {"Constant", "ConstantOfShape", "Cast", "CastLike"}

# Shapes of the inputs of operators that do not take any.
_SHAPES: dict[str, tuple[list[int], ...]] = {
    "GroupNormalization": ([1, 2, 4], [2], [2]),
    "NegativeLogLikelihoodLoss": ([2, 3], [2], [3]),
    "SoftmaxCrossEntropyLoss": ([2, 3], [2], [3]),
}

Row = dict[str, tuple[str, ...]]


def missing() -> dict[str, dict[int, Row]]:
    """Operator -> version of its schema -> type variable -> types that no kernel takes."""
    newest = newest_opset()
    found: dict[str, dict[int, Row]] = {}
    for name in sorted({n for v in range(OLDEST, newest + 1) for n in Opset("", v)}):
        if name in _WITHOUT_KERNEL or facts(name).has_bodies:
            continue
        rows: dict[int, Row] = {}
        for signature in reversed(_schemas(name, newest)):
            row = _row(signature)
            if rows:
                # The newer row stands for this schema too if they agree on what this one allows.
                newer = min(rows)
                if row == _restricted(rows[newer], signature):
                    row = rows.pop(newer)
            rows[signature.since_version] = row
        if any(rows.values()):
            found[name] = dict(sorted(rows.items()))
    return found


def _schemas(name: str, newest: int) -> list[OpSignature]:
    found = (registry.signature("", name, v) for v in range(OLDEST, newest + 1))
    return list({s.since_version: s for s in found if s is not None}.values())


def _row(signature: OpSignature) -> Row:
    kernels = kernel_types("", signature.name, signature.since_version)
    row: Row = {}
    for param in signature.inputs:
        variable = param.type_str
        allowed = [t for t in TYPES if DType[t].onnx_name in param.types]
        if kernels is None and signature.has_function:
            lacking = [t for t in allowed if not _runs(signature, variable, DType[t])]
        elif kernels is None:
            lacking = allowed
        else:
            have = kernels.get(variable)
            lacking = [t for t in allowed if have is not None and DType[t].onnx_name not in have]
        if lacking:
            row[variable] = tuple(lacking)
    return row


def _restricted(row: Row, signature: OpSignature) -> Row:
    """A row without the types that a schema does not allow."""
    made: Row = {}
    for param in signature.inputs:
        types = row.get(param.type_str, ())
        kept = tuple(t for t in types if DType[t].onnx_name in param.types)
        if kept:
            made[param.type_str] = kept
    return made


def _runs(signature: OpSignature, variable: str, dtype: DType) -> bool:
    """Whether a session loads the operator, which the runtime makes into others, with a type."""
    preferred = [DType.FLOAT.onnx_name, DType.INT64.onnx_name]
    inputs = []
    for n, param in enumerate(signature.inputs):
        if param.is_optional and param.type_str != variable:
            continue
        choices = [t for t in preferred if t in param.types] or sorted(param.types)
        kind = dtype if param.type_str == variable else DType.from_onnx_name(choices[0])
        shapes = _SHAPES.get(signature.name, ())
        shape = shapes[n] if n < len(shapes) else [1, 4, 4, 4]
        inputs.append(helper.make_tensor_value_info(f"x{n}", int(kind), shape))
    names = {v.name for v in inputs}
    given = [f"x{n}" if f"x{n}" in names else "" for n in range(len(signature.inputs))]
    attributes: dict[str, Any] = {
        a.name: _example(a.name) for a in signature.attributes.values() if a.required
    }
    node = helper.make_node(signature.name, given, ["y"], **attributes)
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")])
    opset = helper.make_opsetid("", signature.since_version)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception:  # noqa: BLE001 - whatever the runtime says
        return False
    return True


def _example(name: str) -> Any:
    """A value of a required attribute."""
    return {"num_groups": 2, "axes": [0]}.get(name, 1)


def text() -> str:
    """The module as Python."""
    lines = [
        '"""The types for which ONNX Runtime\'s CPU has no kernel, written by `tools.kernels`."""',
        "",
        "from __future__ import annotations",
        "",
        f'RUNTIME = "{onnxruntime.__version__}"',
        f"OPSETS = ({OLDEST}, {newest_opset()})",
        "",
        "# Operator -> first version of its schema -> type variable -> types that are not run.",
        "MISSING: dict[str, dict[int, dict[str, str]]] = {",
    ]
    for name, rows in sorted(missing().items()):
        words = {v: {n: " ".join(types) for n, types in row.items()} for v, row in rows.items()}
        lines.append(f"    {name!r}: {words!r},")
    made = "\n".join([*lines, "}", ""])
    run = [sys.executable, "-m", "ruff", "format", "-", "--stdin-filename", str(TARGET)]
    return subprocess.run(run, input=made, capture_output=True, text=True, check=True).stdout


def main() -> int:
    """Write or check the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether it is current")
    arguments = parser.parse_args()
    wanted = text()
    if arguments.check:
        same = TARGET.read_text(encoding="utf-8") == wanted
        print("current" if same else "out of date: run `python -m tools.kernels`")
        return 0 if same else 1
    TARGET.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
