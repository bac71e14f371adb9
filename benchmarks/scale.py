"""Large graphs: microseconds of processor time per node, for everything that goes through a model.

    python benchmarks/scale.py                        # 1,000, 10,000 and 100,000 nodes: minutes
    python benchmarks/scale.py --nodes 1000 4000 --json

The graph is the chain of `builder.py`; the script that is compiled says the same.  A figure that
stays the same from column to column is linear.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from builder import ours

import onnxwright as ow

HEAD = """\
from onnxwright import FLOAT, script
from onnxwright import opset21 as op


@script()
def f(x: FLOAT["N", 16], w: FLOAT[16, 16]) -> FLOAT["N", 16]:
"""


STEP = """\
    a = op.MatMul(x, w)
    b = op.Add(a, {}.0)
    h = op.Relu(b)
    x = op.Mul(h, x)
"""
FOLDER = tempfile.TemporaryDirectory()


def compiled(count: int, _: onnx.ModelProto) -> Callable[[], Any]:
    """Compiling the script, which is loaded before."""
    path = Path(FOLDER.name) / f"large_{count}.py"
    body = "".join(STEP.format(n) for n in range(count // 4))
    path.write_text(f"{HEAD}{body}    return x\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: Callable[[], Any] = module.f.to_model_proto
    return made


def copied(model: onnx.ModelProto, operator: str | None = None) -> onnx.ModelProto:
    """A copy, with another operator in the middle."""
    made = onnx.ModelProto.FromString(model.SerializeToString())
    if operator is not None:
        made.graph.node[len(made.graph.node) // 2].op_type = operator
    return made


def saved_and_loaded(model: onnx.ModelProto) -> None:
    """A model written to a file and read."""
    path = Path(FOLDER.name) / "large.onnx"
    onnx.save(model, path)
    ow.show(path)


STEPS: dict[str, Callable[[int, onnx.ModelProto], Callable[[], Any]]] = {
    "GraphBuilder": lambda count, _: lambda: ours(count),
    "to_model_proto": compiled,
    "to_script": lambda _, model: lambda: ow.to_script(model),
    "optimize": lambda _, model: lambda: ow.optimize(model),
    "convert_version": lambda _, model: lambda: ow.convert_version(model, 22),
    "diff": lambda _, model: lambda: str(ow.diff(model, copied(model, "Sub"))),
    "assert_isomorphic": lambda _, model: (
        lambda: ow.testing.assert_isomorphic(model, copied(model))
    ),
    "show, as text": lambda _, model: lambda: str(ow.show(model)),
    "show, as a page": lambda _, model: lambda: ow.show(model)._repr_html_(),
    "save and read": lambda _, model: lambda: saved_and_loaded(model),
}


def main() -> int:
    """Measure and print.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--only", action="append", choices=STEPS, help="may be given again")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    figures: dict[str, dict[int, float]] = {name: {} for name in given.only or STEPS}
    for count in given.nodes:
        model = ours(count)
        for name, row in figures.items():
            run = STEPS[name](count, model)
            gc.collect()
            start = time.process_time()
            run()
            row[count] = (time.process_time() - start) / count * 1e6
    if given.json:
        print(json.dumps(figures, indent=2))
        return 0
    print(f"{'us a node':20}" + "".join(f"{count:>10}" for count in given.nodes))
    for name, row in figures.items():
        print(f"{name:20}" + "".join(f"{value:10.1f}" for value in row.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
