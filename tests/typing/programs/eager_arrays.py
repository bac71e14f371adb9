"""Operators called at once; their results have what arrays have."""

import numpy as np

import onnxwright as ow
from onnxwright import opset18 as op


def main() -> None:
    x = ow.Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    y = op.Softmax(x, axis=-1)
    print(y.shape, (y * 2 + 1).sum(axis=0), x[0, 1:].value)
    with ow.evaluator("reference"):
        print(op.Neg(np.ones(2, np.float32)))


def mistakes(x: ow.FLOAT) -> object:
    return op.Transpose(x, perm="10")  # error


if __name__ == "__main__":
    main()
