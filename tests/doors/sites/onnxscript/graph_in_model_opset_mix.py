from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


from onnxscript import opset17


@script(default_opset=opset17)
def inner(x):
    return opset17.ReduceMean(x, axes=[0], keepdims=0)


np.testing.assert_allclose(inner(np.array([1, 3], np.float32)), 2)
