from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def f(x: FLOAT[6]):
    parts = op.Split(x, num_outputs=2, _outputs="two")
    return parts[0]


f.to_model_proto()
