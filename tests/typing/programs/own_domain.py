"""An operator of one's own, with its implementation."""

import numpy as np

import onnxwright as ow
from onnxwright import FLOAT, Opset, script
from onnxwright import opset18 as op

mine = Opset("my.domain", 2)


@script(mine)
def shifted(x: FLOAT, by: float = 1.0) -> FLOAT:
    return x + by


@script()
def both(x: FLOAT) -> FLOAT:
    return op.Relu(shifted(x, by=2.0))


def main() -> None:
    print(both(np.array([-3.0, 1.0], np.float32)), shifted.domain, mine["Other"].name)
    print(ow.Opset("", 18).version)


def mistakes(x: FLOAT) -> FLOAT:
    return shifted(x, by="2.0")  # error


if __name__ == "__main__":
    main()
