"""Building a graph node by node beside onnx.helper, spox and onnxscript's builder, in one run.

    python benchmarks/builder.py                      # what is not installed is left out
    python benchmarks/builder.py --nodes 1000 100000 --json

A chain of MatMul, Add, Relu and Mul, built and serialised.  Figures are microseconds of processor
time per node, and how often the time per node of the smallest graph that of the largest is: 1 means
linear.  The garbage collector runs as it does for anybody.  `onnx.helper` writes the nodes down and
knows nothing of types; spox asks ONNX's inference for each node; onnxscript's builder too.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from onnxwright import FLOAT, GraphBuilder

WEIGHT = np.ones((16, 16), np.float32)
OPSET = 21
Build = Callable[[int], onnx.ModelProto]


def ours(count: int) -> onnx.ModelProto:
    """`GraphBuilder`."""
    g = GraphBuilder(opset=OPSET)
    op = g.op
    x = g.input("x", FLOAT["N", 16])
    for n in range(count // 4):
        h = op.Relu(op.Add(op.MatMul(x, WEIGHT), float(n)))
        x = op.Mul(h, x)
    g.output(x, "y")
    return g.to_model_proto(check=False)


def onnx_helper(count: int) -> onnx.ModelProto:
    """`onnx.helper.make_node`, which types nothing."""
    nodes, held, last = [], [numpy_helper.from_array(WEIGHT, "w")], "x"
    for n in range(count // 4):
        held.append(numpy_helper.from_array(np.float32(n), f"c{n}"))
        nodes += [
            helper.make_node("MatMul", [last, "w"], [f"a{n}"]),
            helper.make_node("Add", [f"a{n}", f"c{n}"], [f"b{n}"]),
            helper.make_node("Relu", [f"b{n}"], [f"r{n}"]),
            helper.make_node("Mul", [f"r{n}", last], [f"x{n}"]),
        ]
        last = f"x{n}"
    kind = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, ["N", 16])],
        [helper.make_tensor_value_info(last, kind, ["N", 16])],
        held,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])


def spox(count: int) -> onnx.ModelProto:
    """spox: typed variables, ONNX's inference for each node."""
    import spox
    import spox.opset.ai.onnx.v21 as op

    x = start = spox.argument(spox.Tensor(np.float32, ("N", 16)))
    weight = op.constant(value=WEIGHT)
    for n in range(count // 4):
        h = op.relu(op.add(op.matmul(x, weight), op.constant(value=np.float32(n))))
        x = op.mul(h, x)
    return spox.build({"x": start}, {"y": x})


def onnxscript(count: int) -> onnx.ModelProto:
    """Onnxscript's graph builder."""
    import onnx_ir as ir
    from onnxscript._internal import builder

    x = start = ir.Value(name="x", shape=ir.Shape(["N", 16]), type=ir.TensorType(ir.DataType.FLOAT))
    graph = ir.Graph([x], [], nodes=[], opset_imports={"": OPSET}, name="g")
    made = builder.GraphBuilder(graph)
    op = made.op
    weight = made.initializer(ir.tensor(WEIGHT), name="w")
    for n in range(count // 4):
        h = op.Relu(op.Add(op.MatMul(x, weight), float(n)))
        x = op.Mul(h, x)
    graph.outputs.append(x)
    assert start in graph.inputs
    return ir.to_proto(ir.Model(graph, ir_version=10))


BUILDERS: dict[str, tuple[str, Build]] = {
    "onnxwright": ("onnxwright", ours),
    "onnx.helper": ("onnx", onnx_helper),
    "spox": ("spox", spox),
    "onnxscript": ("onnxscript", onnxscript),
}


def measure(build: Build, count: int, repeat: int) -> float:
    """Microseconds of processor time per node, build and serialise; the median of some turns."""
    times = []
    for _ in range(repeat):
        gc.collect()
        start = time.process_time()
        build(count).SerializeToString()
        times.append(time.process_time() - start)
    return statistics.median(times) / count * 1e6


def main() -> int:
    """Measure what is installed.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", action="append", help="measure this one (may be given again)")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds; more is left out")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    figures: dict[str, dict[str, float]] = {}
    for name, (module, build) in BUILDERS.items():
        if (given.only and name not in given.only) or importlib.util.find_spec(module) is None:
            continue
        try:
            build(40)
        except Exception as error:  # noqa: BLE001 - another library, of another version
            print(f"{name} is left out: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        row: dict[str, float] = {}
        last = 0.0
        for count in sorted(given.nodes):
            if last * count / 1e6 * given.repeat > given.limit:
                print(f"{name}: {count} nodes are left out, too slow", file=sys.stderr)
                break
            last = row[f"{count} nodes, us each"] = measure(build, count, given.repeat)
        values = list(row.values())
        row["growth"] = values[-1] / values[0]
        figures[name] = row
    if given.json:
        print(json.dumps(figures, indent=2))
        return 0
    base = figures.get("onnx.helper", {})
    for name, row in figures.items():
        print(name)
        for what, value in row.items():
            ratio = f"  ({value / base[what]:.1f} x onnx.helper)" if what in base else ""
            print(f"  {what:24}{value:10.1f}{ratio if 'nodes' in what else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
