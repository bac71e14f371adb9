"""Scripts with attribute parameters, called with arrays."""

from typing import Annotated

import numpy as np

from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def soften(
    x: Annotated[FLOAT, "N", 4], axis: int = -1, temperature: float = 1.0
) -> Annotated[FLOAT, "N", 4]:
    return op.Softmax(x / temperature, axis=axis)


def main() -> None:
    x = np.ones((2, 4), np.float32)
    print(soften(x, axis=0), soften(x, temperature=2.0), soften(x, 1, 0.5).sum())


def mistakes(x: FLOAT) -> None:
    soften(x, axis="rows")  # error
    soften(np.ones(3), axes=1)  # error


if __name__ == "__main__":
    main()
