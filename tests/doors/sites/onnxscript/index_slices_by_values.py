# warns: OW710 OW710
from onnxscript import FLOAT, INT64, script
from onnxscript import opset16 as op


@script(default_opset=op)
def window(A: FLOAT["N"], start: INT64, stop: INT64) -> FLOAT["K"]:
    r = A[start:stop]
    s = r[::2]
    return s


a = np.arange(10, dtype=np.float32)
np.testing.assert_array_equal(run(window.to_model_proto(), A=a, start=np.array(2), stop=np.array(8))[0], a[2:8:2])
