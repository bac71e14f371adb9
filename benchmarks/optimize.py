"""Optimizing models beside other optimizers: nodes, bytes, seconds, latency, wrong outputs.

    python benchmarks/optimize.py MODEL.onnx [MODEL.onnx ...] --json figures.json
    python -m tests.optimizer.corpus FOLDER && python benchmarks/optimize.py FOLDER
    python benchmarks/optimize.py FOLDER OTHER --json figures.json --page page.md --seconds 1800

Each library that is installed has a process of its own, which is started anew after a crash; the
libraries take turns, model by model.  The results run in ONNX Runtime on the same inputs as the
original, without the runtime's own optimizations: those of `MODEL.npz` where it is there, else
random ones.  Latencies are medians of runs in turns, in default sessions and in sessions without
optimizations; after `LONGEST` seconds of a model there are no more than `FEWEST` runs of each.
Without models, stacks of attention layers of 1,000 to 8,000 nodes are built, which shows how time
grows.

With `--json` the figures of a model are written when it is measured, and a run that is begun again
goes on after them.  A name that two folders have is measured once, in the first of them.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).resolve().parent))

from optimize_page import page

SIZES = (2, 5)
FEWEST, LONGEST = 3, 20.0
"""Runs of each result at least, and the seconds of one model after which there are no more."""


def ours(model: onnx.ModelProto) -> onnx.ModelProto:
    """Our optimizer."""
    import onnxwright

    return onnxwright.optimize(model)


def ours_for_runtime(model: onnx.ModelProto) -> onnx.ModelProto:
    """Our optimizer, with the operators that ONNX Runtime has beside the standard."""
    import onnxwright

    return onnxwright.optimize(model, target="onnxruntime", assume=["default_session"])


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


def runtime_transformers(model: onnx.ModelProto) -> onnx.ModelProto:
    """The fusions of `onnxruntime.transformers` for BERT, after the runtime's basic level."""
    from onnxruntime.transformers import optimizer

    basic = _runtime("ORT_ENABLE_BASIC")(model)
    made = optimizer.optimize_model(basic, model_type="bert", opt_level=0)
    return made.model


LIBRARIES: dict[str, Callable[[onnx.ModelProto], onnx.ModelProto]] = {
    "onnxwright": ours,
    "onnxwright ort": ours_for_runtime,
    "onnxslim": onnxslim,
    "onnxsim": onnxsim,
    "onnxoptimizer": onnxoptimizer,
    "onnxscript": onnxscript,
    "ort basic": _runtime("ORT_ENABLE_BASIC"),
    "ort extended": _runtime("ORT_ENABLE_EXTENDED"),
    "ort transformers": runtime_transformers,
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


def _work(name: str, pipe: Any) -> None:
    """Optimize what comes through a pipe; a crash is one of this process."""
    import warnings

    warnings.simplefilter("ignore")
    sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - it stays open
    while True:
        model = onnx.ModelProto.FromString(pipe.recv_bytes())
        try:
            begun = time.perf_counter()
            made = LIBRARIES[name](model)
            pipe.send((time.perf_counter() - begun, made.SerializeToString(), None))
        except ModuleNotFoundError as error:
            pipe.send((0.0, None, f"missing: {error.name}"))
        except Exception as error:  # noqa: BLE001 - what another library raises is its figure
            pipe.send((0.0, None, f"{type(error).__name__}: {str(error)[:100]}"))


class Worker:
    """A process in which one library optimizes model after model."""

    def __init__(self, name: str, limit: float) -> None:
        self.name, self.limit = name, limit
        self.process: Any = None
        self.pipe: Any = None

    def start(self) -> None:
        """Start the process, and let it import what it imports."""
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_work, args=(self.name, other), daemon=True)
        self.process.start()
        other.close()
        self._ask(stack(1))

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
        self.process = None

    def optimized(self, model: onnx.ModelProto) -> tuple[float, bytes | None, Any]:
        """Seconds, the new model, and what went wrong."""
        if self.process is None:
            self.start()
        return self._ask(model)

    def _ask(self, model: onnx.ModelProto) -> tuple[float, bytes | None, Any]:
        try:
            self.pipe.send_bytes(model.SerializeToString())
            if not self.pipe.poll(self.limit):
                self.stop()
                return self.limit, None, f"more than {self.limit:.0f} s"
            found: tuple[float, bytes | None, Any] = self.pipe.recv()
        except (EOFError, OSError):
            self.stop()
            return 0.0, None, "crash"
        return found


def latencies(
    models: dict[str, bytes], feeds: Any, runs: int, plain: bool
) -> tuple[dict[str, float], int]:
    """Milliseconds of a run of each model, with one thread, the models taking turns.

    The second result is how many runs of each there were.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    if plain:
        level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.graph_optimization_level = level
    sessions = {
        name: onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        for name, data in models.items()
    }
    times: dict[str, list[float]] = {name: [] for name in sessions}
    end = time.perf_counter() + LONGEST
    for count in range(runs + 1):
        if count > FEWEST and time.perf_counter() > end:
            break
        for name, session in sessions.items():
            begun = time.perf_counter()
            session.run(None, feeds)
            times[name].append(time.perf_counter() - begun)
    medians = {name: 1000 * statistics.median(found[1:]) for name, found in times.items()}
    return medians, len(next(iter(times.values()))) - 1


def nodes_of(model: onnx.ModelProto) -> int:
    """Nodes of the graph, of bodies and of functions, constants aside: they are data."""
    count, waiting = 0, [model.graph.node, *(f.node for f in model.functions)]
    while waiting:
        for node in waiting.pop():
            count += node.op_type != "Constant"
            for attr in node.attribute:
                waiting += [g.node for g in attr.graphs]
                if attr.HasField("g"):
                    waiting.append(attr.g.node)
    return count


def inputs_of(path: Path) -> list[dict[str, Any]] | None:
    """The inputs beside a model, size by size."""
    file = path.with_suffix(".npz")
    if not file.exists():
        return None
    found: dict[str, dict[str, Any]] = {}
    with np.load(file) as arrays:
        for key in arrays.files:
            size, name = key.split("/", 1)
            found.setdefault(size, {})[name] = arrays[key]
    return list(found.values())


def measure(
    label: str,
    model: onnx.ModelProto,
    feeds: list[dict[str, Any]] | None,
    workers: list[Worker],
    runs: int,
) -> dict[str, dict[str, Any]]:
    """The figures of one model, library by library."""
    from onnxwright.verification.verifying import drawn, first_difference

    data = model.SerializeToString()
    rows: dict[str, dict[str, Any]] = {
        "original": {"nodes": nodes_of(model), "bytes": len(data), "wrong": None}
    }
    given = feeds or [drawn(model, n, np.random.default_rng(0)) for n in SIZES]
    run = {"original": data}
    for worker in workers:
        seconds, made, trouble = worker.optimized(model)
        if made is None:
            rows[worker.name] = {"trouble": trouble}
            continue
        proto = onnx.ModelProto.FromString(made)
        row: dict[str, Any] = {"nodes": nodes_of(proto), "bytes": len(made), "seconds": seconds}
        rows[worker.name] = row
        try:
            row["wrong"] = first_difference(model, proto, feeds=given)
        except Exception as error:  # noqa: BLE001 - a model that does not run is a figure, too
            row["wrong"] = f"does not run: {str(error)[:80]}"
        if row["wrong"] is None:
            run[worker.name] = made
    for key, plain in (("ms", False), ("plain ms", True)):
        try:
            found, count = latencies(run, given[0], runs, plain)
            for name, ms in found.items():
                rows[name][key] = ms
            rows["original"]["runs"] = min(count, rows["original"].get("runs", count))
        except Exception as error:  # noqa: BLE001 - a default session may refuse the original, too
            rows["original"][f"no {key}"] = str(error)[:80]
    for name, row in rows.items():
        shown = {k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}
        print(f"{label:32} {name:14} {shown}", flush=True)
    return rows


def summary(found: dict[str, dict[str, dict[str, Any]]], names: list[str]) -> str:
    """One line for each library: what it keeps of the nodes, and how often it is the best."""
    lines = [
        f"{'':14}  models  failed  wrong  nodes  bytes  fewest  s, sum     ms  plain",
    ]
    for name in ("original", *names):
        rows = {k: r[name] for k, r in found.items() if name in r}
        right = {k: r for k, r in rows.items() if "nodes" in r and r["wrong"] is None}
        if not right:
            continue
        first = [
            r["nodes"] <= min(o["nodes"] for o in found[k].values()
                              if "nodes" in o and o["wrong"] is None)
            for k, r in right.items()
        ]  # fmt: skip

        def kept(key: str, right: dict[str, Any] = right) -> float:
            ratios = [
                r[key] / max(found[k]["original"][key], 1e-9)
                for k, r in right.items()
                if key in r and key in found[k]["original"]
            ]
            return statistics.geometric_mean(ratios) if ratios else float("nan")

        lines.append(
            f"{name:14}{len(rows):8}{sum('trouble' in r for r in rows.values()):8}"
            f"{sum(r.get('wrong') is not None for r in rows.values()):7}{kept('nodes'):7.2f}"
            f"{kept('bytes'):7.2f}{sum(first) / len(rows):8.0%}"
            f"{sum(r.get('seconds', 0.0) for r in rows.values()):8.1f}{kept('ms'):7.2f}"
            f"{kept('plain ms'):7.2f}"
        )
    return "\n".join(lines)


def whole_file(path: Path, text: str) -> None:
    """Write a file that is whole at every moment."""
    beside = path.with_suffix(".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description="Optimizers beside each other.")
    parser.add_argument("models", nargs="*", type=Path, help="models, or folders of models")
    parser.add_argument("--only", nargs="*", choices=list(LIBRARIES), default=list(LIBRARIES))
    parser.add_argument("--layers", nargs="*", type=int, default=[50, 100, 200, 400])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one model")
    parser.add_argument("--json", type=Path, help="write the figures, model by model; models that "
                        "it has already are not measured again")  # fmt: skip
    parser.add_argument("--seconds", type=float, default=math.inf,
                        help="seconds after which no other model is begun")  # fmt: skip
    parser.add_argument("--page", type=Path, help="write a page of the documentation")
    given = parser.parse_args(arguments)
    workers = [Worker(name, given.limit) for name in given.only]
    found: dict[str, Any] = {}
    files = [
        file
        for path in given.models
        for file in (sorted(path.glob("*.onnx")) if path.is_dir() else [path])
    ]
    if given.json and given.json.exists():
        found = json.loads(given.json.read_text(encoding="utf-8"))
        print(f"{given.json}: the figures of {len(found)} models are kept as they are")
    models: dict[str, Path | int] = {path.stem: path for path in reversed(files)}
    if not models and not found:
        models = {f"stack of {layers}": layers for layers in given.layers}
    end = time.perf_counter() + given.seconds
    for name, source in reversed(models.items()):
        if name in found:
            continue
        if time.perf_counter() > end:
            break
        if isinstance(source, Path):
            found[name] = measure(name, onnx.load(source), inputs_of(source), workers, given.runs)
            found[name]["original"]["folder"] = source.parent.name
        else:
            found[name] = measure(name, stack(source), None, workers, given.runs)
        if given.json:
            whole_file(given.json, json.dumps(found, indent=1))
    for worker in workers:
        worker.stop()
    there = Counter(path.parent.name for path in models.values() if isinstance(path, Path))
    print(summary(found, given.only))
    if given.page:
        text = page(found, given.only, there, (given.runs, FEWEST, LONGEST))
        given.page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
