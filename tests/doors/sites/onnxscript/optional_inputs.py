from typing import Optional
from onnxscript import FLOAT, script
from onnxscript import opset18 as op


@script()
def clipped(x: FLOAT["N"], low: Optional[FLOAT] = None) -> FLOAT["N"]:
    return op.Clip(x, low)


@script()
def net(x: FLOAT["N"]) -> FLOAT["N"]:
    return clipped(x, op.Constant(value_float=0.0))


x = np.array([-1, 2], np.float32)
np.testing.assert_allclose(run(net.to_model_proto(), x=x)[0], [0, 2])
np.testing.assert_allclose(clipped(x, np.array(0, np.float32)), [0, 2])
np.testing.assert_allclose(clipped(x), x)
