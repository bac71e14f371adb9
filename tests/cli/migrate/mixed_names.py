"""A mix."""
from onnxscript import (
    FLOAT,  # a type
    ir,
    opset18 as op,
    optimizer,  # passes
    script,
    version_converter as vc,
)


@script()
def f(x: FLOAT["N"]):
    return op.Relu(x)


model = optimizer.optimize(f.to_model_proto())
model = vc.convert_version(ir.from_proto(model), 20)
