"""A loop and a branch by values, run line by line and as a model."""

from typing import Annotated

import numpy as np

import onnxwright as ow
from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op


@script()
def halve_until_small(x: Annotated[FLOAT, "N"], most: INT64) -> Annotated[FLOAT, "N"]:
    y = op.Identity(x)
    for _ in range(most):
        if op.ReduceMax(op.Abs(y), keepdims=0) > 1.0:
            y = y / 2.0
    return y


def main() -> None:
    x = np.array([8.0, -3.0], np.float32)
    print(halve_until_small(x, 10))
    (y,) = ow.run_model(halve_until_small.to_model_proto(), {"x": x, "most": np.int64(2)})
    print(y.shape, float(y.max()))


def mistakes(x: FLOAT) -> INT64:
    return op.ReduceMaximum(x)  # error


if __name__ == "__main__":
    main()
