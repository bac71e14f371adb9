from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


def make(scale, opset):
    @script(default_opset=opset)
    def scaled(x: FLOAT["N"]) -> FLOAT["N"]:
        return opset.Mul(x, scale)

    return scaled


two = make(2.0, op)
three = make(3.0, op)
x = np.ones(2, np.float32)
np.testing.assert_allclose(run(two.to_model_proto(), x=x)[0], 2 * x)
np.testing.assert_allclose(run(three.to_model_proto(), x=x)[0], 3 * x)


class Ops:
    @staticmethod
    @script(default_opset=op)
    def neg(x: FLOAT["N"]) -> FLOAT["N"]:
        return op.Neg(x)


np.testing.assert_allclose(Ops.neg(x), -x)
