from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


import os, tempfile


@script()
def f(x: FLOAT["N", 100]) -> FLOAT["N", 100]:
    return op.Add(x, op.Constant(value=onnx.numpy_helper.from_array(np.ones((100,), np.float32))))


with tempfile.TemporaryDirectory() as d:
    onnx.save(f.to_model_proto(), os.path.join(d, "m.onnx"))
    m = onnx.load(os.path.join(d, "m.onnx"))
    onnx.checker.check_model(m)
np.testing.assert_allclose(run(m, x=np.zeros((1, 100), np.float32))[0], 1)
