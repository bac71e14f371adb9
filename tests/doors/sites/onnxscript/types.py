# warns: OW710
import onnxscript
from onnxscript import BFLOAT16, BOOL, DOUBLE, FLOAT, FLOAT16, INT32, INT64, STRING, script
from onnxscript import opset18 as op
from onnxscript.onnx_types import TensorType


assert FLOAT.dtype == 1 and INT64.dtype == 7 and BOOL.dtype == 9
assert issubclass(FLOAT, TensorType)
assert FLOAT["N", 3].shape == ("N", 3)
assert FLOAT[...].to_type_proto().tensor_type.elem_type == 1
assert FLOAT.to_type_proto().tensor_type.elem_type == 1


@script()
def f(x: FLOAT[None, 3], n: INT32) -> DOUBLE[None, 3]:
    h = op.Cast(x, to=FLOAT16.dtype)
    return op.Cast(h, to=DOUBLE.dtype) * op.Cast(n, to=11)


x = np.ones((2, 3), np.float32)
(y,) = run(f.to_model_proto(), x=x, n=np.array(2, np.int32))
assert y.dtype == np.float64 and (y == 2).all()
