"""A mix."""
import onnx_ir as ir
from onnxscript import optimizer, version_converter as vc
from onnxwright import (
    FLOAT,  # a type
    opset18 as op,
    script,
)


@script()
def f(x: FLOAT["N"]):
    return op.Relu(x)


model = optimizer.optimize(f.to_model_proto())
model = vc.convert_version(ir.from_proto(model), 20)
# 2: `onnxscript.optimizer` is not in onnxwright: `onnxwright.optimize(model)` returns the optimized model
# 2: `onnxscript.version_converter` is not in onnxwright: `onnxwright.convert_version(model, version)` returns the converted model
# 17: `onnxscript.optimizer.optimize` is not in onnxwright: `onnxwright.optimize(model)` returns the optimized model
# 18: `onnxscript.version_converter.convert_version` is not in onnxwright: `onnxwright.convert_version(model, version)` returns the converted model
