from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


from onnxscript import testing


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return op.Neg(op.Relu(x))


@script()
def g(a: FLOAT["N"]) -> FLOAT["N"]:
    t = op.Relu(a)
    return op.Neg(t)


testing.assert_isomorphic(f, g)
testing.assert_isomorphic_function(f, g)
testing.assert_isomorphic_graph(f, f.to_model_proto().graph)
