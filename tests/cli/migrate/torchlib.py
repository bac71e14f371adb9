import onnxscript.function_libs.torch_lib.ops.nn as tl_nn
from onnxscript.function_libs.torch_lib.registration import torch_op
from onnxscript.function_libs.torch_lib.tensor_typing import TFloat
from onnxscript import opset18 as op, GraphBuilder, TracedOnnxFunction
import importlib

optimizer = importlib.import_module("onnxscript.optimizer")


@torch_op("aten::relu", trace_only=True)
def aten_relu(x: TFloat) -> TFloat:
    return tl_nn.aten_relu(x)
