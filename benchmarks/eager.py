"""Eager calls beside raw ONNX Runtime, onnx.reference and onnxscript, as ratios, in one run.

    python benchmarks/eager.py            # needs the extra `bench` for onnxscript's column
    python benchmarks/eager.py --repeat 50 --json

`raw` is `InferenceSession.run` of the same one-node models, sessions made beforehand; every other
figure is a multiple of it.  The runners of one row take many short turns; each figure is the lower
quartile of its turns: a turn in which the machine was busy with something else says nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, reference

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from onnxwright import FLOAT, OrtEvaluator, evaluator, script
from onnxwright import opset18 as op

SILENT = 4
RAW, REFERENCE, ONNXSCRIPT, OURS = "raw", "onnx.reference", "onnxscript", "onnxwright"
RUNNERS = (RAW, OURS, ONNXSCRIPT, REFERENCE)
Run = Callable[[], Any]

rng = np.random.default_rng(0)
small = rng.random(4, dtype=np.float32)
square = rng.random((256, 256), dtype=np.float32)
row = rng.random((8, 64), dtype=np.float32)


def node_model(op_type: str, inputs: int, **attributes: Any) -> onnx.ModelProto:
    """A model of one node on FLOAT tensors."""
    names = [f"x{n}" for n in range(inputs)]
    graph = helper.make_graph(
        [helper.make_node(op_type, names, ["y"], **attributes)],
        "g",
        [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in names],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def session(model: onnx.ModelProto) -> ort.InferenceSession:
    """A session as anybody would make it."""
    options = ort.SessionOptions()
    options.log_severity_level = SILENT
    return ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


class Raw:
    """One-node sessions, made once, called like operators."""

    def __init__(self, *, use_reference: bool = False) -> None:
        self.sessions: dict[tuple[str, int], Any] = {}
        self.use_reference = use_reference

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            key = (name, len(args))
            found = self.sessions.get(key)
            if found is None:
                model = node_model(name, len(args))
                made = reference.ReferenceEvaluator(model) if self.use_reference else session(model)
                found = self.sessions[key] = (made, [f"x{n}" for n in range(len(args))])
            made, names = found
            return made.run(None, dict(zip(names, args, strict=True)))[0]

        return call


half, cubic, root, one = (np.float32(v) for v in (0.5, 0.044715, 0.7978845608, 1.0))
HALF, CUBIC, ROOT, ONE = (np.asarray(v) for v in (half, cubic, root, one))


def gelu_calls(o: Any, x: Any, half: Any, cubic: Any, root: Any, one: Any) -> Any:
    """A gelu by its tanh formula, three times: 30 operators."""
    for _ in range(3):
        cube = o.Mul(o.Mul(x, x), x)
        inner = o.Mul(root, o.Add(x, o.Mul(cubic, cube)))
        gate = o.Add(one, o.Tanh(inner))
        x = o.Neg(o.Neg(o.Mul(o.Mul(half, x), gate)))
    return x


@script
def gelu(x: FLOAT[...]) -> FLOAT[...]:
    """The same with Python's operators."""
    for _ in range(3):
        cube = x * x * x
        inner = 0.7978845608 * (x + 0.044715 * cube)
        gate = 1.0 + op.Tanh(inner)
        x = op.Neg(op.Neg(0.5 * x * gate))
    return x


def loop_calls(o: Any, x: Any, a: Any, b: Any) -> Any:
    """100 iterations of two operators."""
    for _ in range(100):
        x = o.Add(o.Mul(x, a), b)
    return x


@script
def loop(x: FLOAT[...], a: FLOAT[...], b: FLOAT[...]) -> FLOAT[...]:
    """The same with Python's operators."""
    for _ in range(100):
        x = x * a + b
    return x


def rows() -> dict[str, tuple[int, dict[str, Run]]]:
    """What is measured: name -> (calls in one turn, runner -> call)."""
    raw, slow = Raw(), Raw(use_reference=True)
    add, matmul = session(node_model("Add", 2)), session(node_model("MatMul", 2))
    ref_add = reference.ReferenceEvaluator(node_model("Add", 2))
    ref_matmul = reference.ReferenceEvaluator(node_model("MatMul", 2))
    a, b = np.float32(0.99) * np.ones(4, np.float32), np.ones(4, np.float32)
    found: dict[str, tuple[int, dict[str, Run]]] = {
        "Add, 4 floats": (
            100,
            {
                RAW: lambda: add.run(None, {"x0": small, "x1": small}),
                OURS: lambda: op.Add(small, small),
                REFERENCE: lambda: ref_add.run(None, {"x0": small, "x1": small}),
            },
        ),
        "MatMul, 256 x 256": (
            10,
            {
                RAW: lambda: matmul.run(None, {"x0": square, "x1": square}),
                OURS: lambda: op.MatMul(square, square),
                REFERENCE: lambda: ref_matmul.run(None, {"x0": square, "x1": square}),
            },
        ),
        "gelu script, 30 ops": (
            3,
            {
                RAW: lambda: gelu_calls(raw, row, HALF, CUBIC, ROOT, ONE),
                OURS: lambda: gelu(row),
                REFERENCE: lambda: gelu_calls(slow, row, HALF, CUBIC, ROOT, ONE),
            },
        ),
        "loop, 100 iterations": (
            1,
            {
                RAW: lambda: loop_calls(raw, small, a, b),
                OURS: lambda: loop(small, a, b),
                REFERENCE: lambda: loop_calls(slow, small, a, b),
            },
        ),
    }
    if importlib.util.find_spec("onnxscript") is not None:
        add_onnxscript(found, a, b)
    return found


def add_onnxscript(found: dict[str, tuple[int, dict[str, Run]]], a: Any, b: Any) -> None:
    """Onnxscript's column."""
    from onnxscript import opset18

    found["Add, 4 floats"][1][ONNXSCRIPT] = lambda: opset18.Add(small, small)
    found["MatMul, 256 x 256"][1][ONNXSCRIPT] = lambda: opset18.MatMul(square, square)
    found["gelu script, 30 ops"][1][ONNXSCRIPT] = lambda: gelu_calls(
        opset18, row, HALF, CUBIC, ROOT, ONE
    )
    found["loop, 100 iterations"][1][ONNXSCRIPT] = lambda: loop_calls(opset18, small, a, b)


def first_calls(repeat: int) -> dict[str, float]:
    """Seconds of a call whose types were never seen; raw is one session creation and its run."""
    model = node_model("Add", 2).SerializeToString()
    options = ort.SessionOptions()
    options.log_severity_level = SILENT
    op.Add(small, small)

    def one_session() -> None:
        made = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        made.run(None, {"x0": small, "x1": small})

    fresh: list[OrtEvaluator] = []

    def one_call() -> None:
        # A new evaluator has seen nothing.
        fresh.append(OrtEvaluator())
        with evaluator(fresh[-1]):
            op.Add(small, small)

    times: dict[str, list[float]] = {RAW: [], OURS: []}
    for _ in range(2 * repeat):
        for name, call in ((RAW, one_session), (OURS, one_call)):
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: quartile(seen) for name, seen in times.items()}


def quartile(seen: list[float]) -> float:
    """The lower quartile."""
    return statistics.quantiles(seen, n=4, method="inclusive")[0] if len(seen) > 1 else seen[0]


def measure(calls: int, runs: dict[str, Run], repeat: int) -> dict[str, float]:
    """Seconds of one call for each runner."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    for turn in range(repeat):
        for name, run in runs.items():
            # The slow ones say enough in a tenth of the turns.
            if name in (REFERENCE, ONNXSCRIPT) and turn % 10:
                continue
            count = 1 if name == ONNXSCRIPT else calls
            start = time.perf_counter()
            for _ in range(count):
                run()
            times[name].append((time.perf_counter() - start) / count)
    return {name: quartile(seen) for name, seen in times.items()}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=200, help="turns of each runner")
    parser.add_argument("--json", action="store_true", help="print seconds as JSON")
    options = parser.parse_args()
    figures = {name: measure(calls, runs, options.repeat) for name, (calls, runs) in rows().items()}
    figures["first call of a new signature"] = first_calls(options.repeat)
    if options.json:
        print(json.dumps(figures, indent=1))
        return 0
    print(f"{'':32}{'raw, us':>10}" + "".join(f"{name:>16}" for name in RUNNERS[1:]))
    for name, seen in figures.items():
        raw = seen[RAW]
        cells = [f"{seen[r] / raw:15.2f}x" if r in seen else f"{'-':>16}" for r in RUNNERS[1:]]
        print(f"{name:32}{raw * 1e6:10.1f}" + "".join(cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
