import numpy as np

from onnxwright import FLOAT, script


@script()
def f(x: FLOAT) -> FLOAT:
    for row in x:
        x = row
    return x


f(np.float32(1.0))
