from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script()
def f(x, relu: bool = True, power: int = 2):
    if relu:
        y = op.Relu(x)
    else:
        y = op.Abs(x)
    return op.Pow(y, op.Constant(value_int=power))


@script()
def net(x: FLOAT["N"]) -> FLOAT["N"]:
    return f(x, relu=False, power=3)


x = np.array([-2, 1], np.float32)
np.testing.assert_allclose(run(net.to_model_proto(), x=x)[0], [8, 1])
np.testing.assert_allclose(f(x), [0, 1])
