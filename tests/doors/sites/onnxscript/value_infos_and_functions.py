from typing import List, Optional, Sequence, Tuple
import onnxscript
from onnxscript import BOOL, DOUBLE, FLOAT, INT64, INT32, graph, script
from onnxscript import opset18 as op


lib = onnxscript.values.Opset("lib", 1)


@script(lib, default_opset=op)
def Sq(x):
    return x * x


@script(default_opset=op)
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    y = Sq(x)
    return y + 1.0


m = f.to_model_proto(value_infos={"y": FLOAT["N"]})
assert [v.name for v in m.graph.value_info] == ["y"]
m = f.to_model_proto(functions=[Sq])
assert [p.name for p in m.functions] == ["Sq"]
