import numpy as np
import onnx
import onnxruntime as ort

import os, tempfile
import onnxscript
from onnxscript import export_onnx_lib, script
from onnxscript import opset18 as op

lib = onnxscript.values.Opset("lib", 1)


@script(lib, default_opset=op)
def Square(x):
    return x * x


@script(lib, default_opset=op)
def Cube(x):
    return Square(x) * x


with tempfile.TemporaryDirectory() as d:
    path = os.path.join(d, "lib.onnx")
    export_onnx_lib([Square, Cube], path)
    model = onnx.load(path)
assert [f.name for f in model.functions] == ["Square", "Cube"]
