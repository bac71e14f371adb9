from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


@script()
def f(x: FLOAT["N", 3]) -> FLOAT["N", 3]:
    one = op.Constant(value_floats=[1.0, 1.0, 1.0])
    y, mean, var = op.BatchNormalization(x, one, one, one, one, training_mode=1)
    return y + mean


assert len(f.to_model_proto().graph.node[-2].output) == 3
