from typing import Optional, Sequence
from onnxscript import FLOAT, script
from onnxscript import opset18 as op


@script(default_opset=op)
def sum_of(x: FLOAT["N"], y: FLOAT["N"]) -> FLOAT["N"]:
    return op.Add(x, y)


def repeated(x, times: int):
    for _ in range(times):
        x = sum_of(x, x)
    return x


x = np.ones(2, np.float32)
np.testing.assert_allclose(repeated(x, 3), 8 * x)
