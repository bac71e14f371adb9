from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script()
def f(x: FLOAT["N"]) -> Tuple[FLOAT["N"], INT64[1]]:
    return op.Relu(x), op.Shape(x)


y, s = run(f.to_model_proto(), x=np.ones(3, np.float32))
assert list(s) == [3]
