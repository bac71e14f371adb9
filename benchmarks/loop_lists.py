"""Lists that loops of PyTorch programs append to, beside a Loop written by hand.

    python benchmarks/loop_lists.py
    python benchmarks/loop_lists.py --steps 250 1000 4000

A recurrence of [2, 256] appends its state in each step.  The exported model is timed in ONNX
Runtime beside a Loop written by hand with a scan output, and one that carries a tensor that
ScatterND writes to.  The aim is 1.2 times the first at most.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import onnx
import onnxruntime
import torch

import onnxwright as ow

SCANNED = """<ir_version: 10, opset_import: ["": 21]>
main (float[T, 2, 256] x) => (float[T, 2, 256] rows) {
  shape = Shape <start: int = 0, end: int = 1> (x)
  trips = Squeeze (shape)
  first = Constant <value: tensor = int64 {0}> ()
  zero = Gather <axis: int = 0> (x, first)
  start = Sub (zero, zero)
  last, rows = Loop (trips, "", start) <body = step (int64 t, bool going, float[2, 256] h)
    => (bool on, float[2, 256] new, float[2, 256] row) {
      on = Identity (going)
      at = Gather <axis: int = 0> (x, t)
      sum = Add (h, at)
      new = Tanh (sum)
      row = Identity (new)
  }>
}"""
SCATTERED = """<ir_version: 10, opset_import: ["": 21]>
main (float[T, 2, 256] x) => (float[T, 2, 256] rows) {
  shape = Shape <start: int = 0, end: int = 1> (x)
  trips = Squeeze (shape)
  first = Constant <value: tensor = int64 {0}> ()
  zero = Gather <axis: int = 0> (x, first)
  start = Sub (zero, zero)
  free = Sub (x, x)
  last, rows = Loop (trips, "", start, free) <body = step
    (int64 t, bool going, float[2, 256] h, float[T, 2, 256] so_far)
    => (bool on, float[2, 256] new, float[T, 2, 256] written) {
      on = Identity (going)
      at = Gather <axis: int = 0> (x, t)
      sum = Add (h, at)
      new = Tanh (sum)
      axes = Constant <value: tensor = int64[2] {0, 1}> ()
      place = Unsqueeze (t, axes)
      axis = Constant <value: tensor = int64[1] {0}> ()
      row = Unsqueeze (new, axis)
      written = ScatterND (so_far, place, row)
  }>
}"""


class Recurrence(torch.nn.Module):
    """A loop over a dynamic size that only appends."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The states of all steps."""
        h, out = torch.zeros(2, 256), []
        for t in range(x.shape[0]):
            h = torch.tanh(h + x[t])
            out.append(h)
        return torch.stack(out)


class Settling(torch.nn.Module):
    """A loop with a condition of run time that only appends."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The states of all steps."""
        h, out, t = torch.zeros(2, 256), [], 0
        while t < x[:, 0, 0].abs().ceil().sum():
            h = torch.tanh(h + x[0])
            out.append(h)
            t += 1
        return torch.stack(out)


def exported(module: torch.nn.Module) -> Callable[[Any], Any]:
    """The model of a module in ONNX Runtime."""
    shapes = ({0: torch.export.Dim.DYNAMIC},)
    example = (torch.rand(4, 2, 256),)
    program = ow.export(module, example, dynamic_shapes=shapes, capture="source")
    return session(program.model_proto)


def session(model: onnx.ModelProto) -> Callable[[Any], Any]:
    """A model in ONNX Runtime, with one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    made = onnxruntime.InferenceSession(model.SerializeToString(), options)
    name = made.get_inputs()[0].name
    return lambda x: made.run(None, {name: x})[0]


def fastest(run: Callable[[Any], Any], x: Any, repeat: int) -> float:
    """The least time of a run, in milliseconds."""
    run(x)
    best = float("inf")
    for _ in range(repeat):
        begun = time.perf_counter()
        run(x)
        best = min(best, time.perf_counter() - begun)
    return best * 1000


def main() -> int:
    """Print a line for each number of steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, nargs="*", default=[250, 1000, 4000])
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    by_hand, scattered = (session(onnx.parser.parse_model(text)) for text in (SCANNED, SCATTERED))
    loop, condition = exported(Recurrence()), exported(Settling())
    print(f"{'steps':>6}{'by hand':>11}{'exported':>11}{'ratio':>8}{'while':>11}{'ScatterND':>12}")
    slow = False
    for steps in given.steps:
        x = np.random.default_rng(0).random((steps, 2, 256), np.float32)
        np.testing.assert_allclose(loop(x), by_hand(x), rtol=1e-5)
        assert len(condition(x)) == steps
        ways = (by_hand, loop, condition)
        one, two, three = (fastest(run, x, given.repeat) for run in ways)
        last = fastest(scattered, x, 1)
        slow |= two > 1.2 * one
        times = f"{one:9.2f}ms{two:9.2f}ms{two / one:8.2f}{three:9.2f}ms{last:10.1f}ms"
        print(f"{steps:6}{times}", flush=True)
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
