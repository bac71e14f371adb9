"""Optimizing models beside other optimizers: nodes, bytes, seconds, latency, wrong outputs.

    python benchmarks/optimize.py MODEL.onnx [MODEL.onnx ...] --json figures.json

Each library that is installed optimizes each model in a process of its own, the libraries taking
turns.  The results run in ONNX Runtime on the same random inputs as the original, without the
runtime's own optimizations; the latency is that of a default session.  Without models, stacks of
attention layers of 1,000 to 8,000 nodes are built, which shows how time grows.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx

SIZES = (2, 5)


def ours(model: onnx.ModelProto) -> onnx.ModelProto:
    """Our optimizer."""
    import onnxwright

    return onnxwright.optimize(model)


def onnxslim(model: onnx.ModelProto) -> onnx.ModelProto:
    """`onnxslim.slim`."""
    import onnxslim as library

    return library.slim(model)


def onnxsim(model: onnx.ModelProto) -> onnx.ModelProto:
    """`onnxsim.simplify`."""
    import onnxsim as library

    return library.simplify(model)[0]


def onnxoptimizer(model: onnx.ModelProto) -> onnx.ModelProto:
    """All fusions and eliminations of onnxoptimizer, until nothing changes."""
    import onnxoptimizer as library

    return library.optimize(model, library.get_fuse_and_elimination_passes(), fixed_point=True)


def onnxscript(model: onnx.ModelProto) -> onnx.ModelProto:
    """The optimizer of onnxscript, then its rewriter."""
    import onnxscript.optimizer
    import onnxscript.rewriter

    return onnxscript.rewriter.rewrite(onnxscript.optimizer.optimize(model))


def _runtime(level: str) -> Callable[[onnx.ModelProto], onnx.ModelProto]:
    def run(model: onnx.ModelProto) -> onnx.ModelProto:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        options.log_severity_level = 4
        with tempfile.TemporaryDirectory() as folder:
            options.optimized_model_filepath = str(Path(folder) / "out.onnx")
            onnxruntime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
            return onnx.load(options.optimized_model_filepath)

    return run


LIBRARIES: dict[str, Callable[[onnx.ModelProto], onnx.ModelProto]] = {
    "onnxwright": ours,
    "onnxslim": onnxslim,
    "onnxsim": onnxsim,
    "onnxoptimizer": onnxoptimizer,
    "onnxscript": onnxscript,
    "ort basic": _runtime("ORT_ENABLE_BASIC"),
    "ort extended": _runtime("ORT_ENABLE_EXTENDED"),
}


def stack(layers: int) -> onnx.ModelProto:
    """A stack of attention and Gelu layers, written out node by node."""
    lines, x = [], "x"
    for n in range(layers):
        lines += [
            f"s{n} = Shape({x})",
            f"b{n} = Gather({'s' + str(n)}, zero)  u{n} = Unsqueeze(b{n}, axis)",
            f"t{n} = Concat<axis = 0>(u{n}, tail)  r{n} = Reshape({x}, t{n})",
            f"q{n} = Transpose<perm = [0, 2, 1, 3]>(r{n})",
            f"k{n} = Transpose<perm = [0, 2, 3, 1]>(r{n})",
            f"p{n} = MatMul(q{n}, k{n})  f{n} = Softmax(p{n})  o{n} = MatMul(f{n}, q{n})",
            f"v{n} = Transpose<perm = [0, 2, 1, 3]>(o{n})",
            f"h{n} = Concat<axis = 0>(u{n}, flat)  m{n} = Reshape(v{n}, h{n})",
            f"a{n} = Add(m{n}, {x})  c{n} = Div(a{n}, root)  e{n} = Erf(c{n})",
            f"g{n} = Add(e{n}, one)",
            f"i{n} = Mul(a{n}, g{n})  j{n} = Mul(i{n}, half)  w{n} = Identity(j{n})",
        ]
        x = f"w{n}"
    lines.append(f"y = Identity({x})")
    body = "\n".join(lines)
    return onnx.parser.parse_model(
        f"""<ir_version: 10, opset_import: ["" : 20]>
        stack (float[batch, 4, 16] x) => (float[batch, 4, 16] y)
        <int64 zero = {{0}}, int64[1] axis = {{0}}, int64[3] tail = {{4, 4, 4}},
         int64[2] flat = {{4, 16}}, float root = {{1.41421356}}, float one = {{1.0}},
         float half = {{0.5}}> {{ {body} }}"""
    )


def _work(name: str, data: bytes, answers: Any) -> None:
    """Optimize in a process of its own; a crash is one of that process."""
    import warnings

    warnings.simplefilter("ignore")
    model = onnx.ModelProto.FromString(data)
    begun = time.perf_counter()
    try:
        made = LIBRARIES[name](model)
        answers.put((time.perf_counter() - begun, made.SerializeToString(), None))
    except ModuleNotFoundError as error:
        answers.put((0.0, None, f"missing: {error.name}"))
    except Exception as error:  # noqa: BLE001 - what another library raises is its figure
        answers.put((0.0, None, f"{type(error).__name__}: {str(error)[:100]}"))


def optimized(name: str, model: onnx.ModelProto, limit: float) -> tuple[float, bytes | None, Any]:
    """Seconds, the new model, and what went wrong."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=_work, args=(name, model.SerializeToString(), answers))
    process.start()
    try:
        found: tuple[float, bytes | None, Any] = answers.get(timeout=limit)
    except Exception:  # noqa: BLE001 - an empty queue: the process died or takes too long
        found = (limit, None, "no answer")
    process.join(5)
    if process.is_alive():
        process.terminate()
    return found


def latency(data: bytes, feeds: dict[str, Any], runs: int) -> float:
    """Milliseconds of a run in a default session with one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    session.run(None, feeds)
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        session.run(None, feeds)
        times.append(time.perf_counter() - begun)
    return 1000 * statistics.median(times)


def nodes_of(model: onnx.ModelProto) -> int:
    """Nodes of the graph, constants aside: they are data."""
    return sum(n.op_type != "Constant" for n in model.graph.node)


def measure(
    label: str, model: onnx.ModelProto, names: list[str], given: Any
) -> dict[str, dict[str, Any]]:
    """The figures of one model, library by library."""
    from onnxwright.testing.verifying import drawn, first_difference

    rows: dict[str, dict[str, Any]] = {
        "original": {"nodes": nodes_of(model), "bytes": model.ByteSize()}
    }
    feeds = drawn(model, SIZES[0], np.random.default_rng(0))
    rows["original"]["ms"] = latency(model.SerializeToString(), feeds, given.runs)
    for name in names:
        seconds, data, trouble = optimized(name, model, given.limit)
        if data is None:
            rows[name] = {"trouble": trouble}
            continue
        made = onnx.ModelProto.FromString(data)
        row: dict[str, Any] = {"nodes": nodes_of(made), "bytes": len(data), "seconds": seconds}
        try:
            row["wrong"] = first_difference(model, made, sizes=SIZES)
            row["ms"] = latency(data, feeds, given.runs)
        except Exception as error:  # noqa: BLE001 - a model that does not run is a figure, too
            row["wrong"] = f"does not run: {str(error)[:80]}"
        rows[name] = row
    for name, row in rows.items():
        shown = {k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}
        print(f"{label:24} {name:14} {shown}", flush=True)
    return rows


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description="Optimizers beside each other.")
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--only", nargs="*", choices=list(LIBRARIES), default=list(LIBRARIES))
    parser.add_argument("--layers", nargs="*", type=int, default=[50, 100, 200, 400])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one model")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    found: dict[str, Any] = {}
    if given.models:
        for path in given.models:
            found[path.stem] = measure(path.stem, onnx.load(path), given.only, given)
    else:
        for layers in given.layers:
            label = f"stack of {layers}"
            found[label] = measure(label, stack(layers), given.only, given)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
