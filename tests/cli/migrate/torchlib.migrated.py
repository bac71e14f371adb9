import onnxscript.function_libs.torch_lib.ops.nn as tl_nn
from onnxscript.function_libs.torch_lib.registration import torch_op
from onnxscript.function_libs.torch_lib.tensor_typing import TFloat
from onnxscript import GraphBuilder
from onnxwright import opset18 as op, TracedOnnxFunction
import importlib

optimizer = importlib.import_module("onnxscript.optimizer")


@torch_op("aten::relu", trace_only=True)
def aten_relu(x: TFloat) -> TFloat:
    return tl_nn.aten_relu(x)
# 1: `onnxscript.function_libs.torch_lib.ops.nn` is not in onnxwright: `onnxwright.atenlib.find(name)` has PyTorch's operators
# 2: `onnxscript.function_libs.torch_lib.registration.torch_op` is not in onnxwright: use the decorator `@onnxwright.aten(name, rule=...)`
# 3: `onnxscript.function_libs.torch_lib.tensor_typing.TFloat` is not in onnxwright: PyTorch's operators are in `onnxwright.atenlib`
# 4: `onnxscript.GraphBuilder` is not in onnxwright: `onnxwright.GraphBuilder()` builds models by calls, with other methods: see its guide
# 7: `onnxscript.optimizer` is named in a string, which is left as it is
# 10: `onnxscript.function_libs.torch_lib.registration.torch_op` is not in onnxwright: use the decorator `@onnxwright.aten(name, rule=...)`
# 12: `onnxscript.function_libs.torch_lib.ops.nn.aten_relu` is not in onnxwright: `onnxwright.atenlib.find(name)` has PyTorch's operators
