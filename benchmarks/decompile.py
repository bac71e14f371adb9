"""Reading models back as Python beside onnxscript's `proto2python`, in one run.

    python benchmarks/decompile.py                     # onnxscript is left out where it is missing
    python benchmarks/decompile.py --layers 10 100 --json

Stacks of attention layers with weights.  Figures are milliseconds of processor time per node, the
libraries taking turns.  `to_script` compiles its text again to prove that it gives the same model;
`proto2python` writes the text and proves nothing.
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

import onnx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import onnxwright
from benchmarks.optimize import stack


def ours(model: onnx.ModelProto) -> str:
    """`onnxwright.to_script`."""
    return str(onnxwright.to_script(model))


def onnxscript(model: onnx.ModelProto) -> str:
    """`onnxscript.proto2python`."""
    import onnxscript as library

    return str(library.proto2python(model))


LIBRARIES: dict[str, Callable[[onnx.ModelProto], str]] = {
    "onnxwright": ours,
    "onnxscript": onnxscript,
}


def measure(model: onnx.ModelProto, repeat: int) -> dict[str, float]:
    """Milliseconds per node: the median of some turns."""
    names = [name for name in LIBRARIES if importlib.util.find_spec(name) is not None]
    times: dict[str, list[float]] = {name: [] for name in names}
    for name in names:
        LIBRARIES[name](model)
    for _ in range(repeat):
        for name in names:
            begun = time.process_time()
            LIBRARIES[name](model)
            times[name].append(time.process_time() - begun)
    count = len(model.graph.node)
    return {name: 1000 * statistics.median(seen) / count for name, seen in times.items()}


def main() -> int:
    """Measure and print.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    figures = {}
    for layers in given.layers:
        model = stack(layers)
        figures[f"{len(model.graph.node)} nodes"] = measure(model, given.repeat)
    if given.json:
        print(json.dumps(figures, indent=1))
        return 0
    for name, row in figures.items():
        print(name, "  ".join(f"{library} {value:.3f} ms" for library, value in row.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
