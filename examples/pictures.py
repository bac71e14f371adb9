"""Pictures and pages of functions: branches, loops, calls, and the values of a run."""

import tempfile
from pathlib import Path

import numpy as np

import onnxwright as ow
from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op


@script()
def gelu(x):
    return 0.5 * x * (op.Erf(x * 0.7071) + 1.0)


@script()
def block(x: FLOAT["N", 64], up: FLOAT[64, 256], down: FLOAT[256, 64]) -> FLOAT["N", 64]:
    hidden = gelu(x @ up)
    return x + hidden @ down


@script()
def newton(x: FLOAT["N"], steps: INT64[()]) -> FLOAT["N"]:
    root = x
    for _ in range(steps):
        step = 0.5 * (root - x / root)
        if op.ReduceMax(op.Abs(step), keepdims=0) < 1e-6:
            break
        root = root - step
    return root


@script()
def cumulative(x: FLOAT["T", "N"]) -> FLOAT["T", "N"]:
    def body(total, row):
        total = total + row
        return total, op.Identity(total)

    _, sums = op.Scan(op.ReduceSum(x, [0], keepdims=0) * 0.0, x, body=body, num_scan_inputs=1)
    return sums


@script()
def entropy(p: FLOAT["N", 4]) -> FLOAT["N"]:
    logs = op.Log(p)
    return -op.ReduceSum(p * logs, [1], keepdims=0)


if __name__ == "__main__":
    probabilities = np.array([[0.25, 0.25, 0.5, 0.0]], np.float32)
    run = ow.debug(entropy, [probabilities])
    folder = Path(tempfile.mkdtemp())
    for function in (block, newton, cumulative):
        ow.show(function).save(folder / f"{function.name}.html")
    # The page marks what is NaN: 0 * log(0).
    ow.show(entropy, values=run).save(folder / "entropy.html")
    print(sorted(path.name for path in folder.iterdir()))
    assert np.isnan(run.outputs["output"]).all()
