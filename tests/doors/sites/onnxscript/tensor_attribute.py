from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script()
def f(shape, value: onnx.TensorProto):
    return op.ConstantOfShape(shape, value=value)


@script()
def g(x: FLOAT["N"]) -> FLOAT["M"]:
    s = op.Shape(x)
    return op.ConstantOfShape(s, value=onnx.helper.make_tensor("v", 1, [1], [3.0]))


np.testing.assert_allclose(run(g.to_model_proto(), x=np.ones(2, np.float32))[0], [3, 3])
