from onnx import parser

import onnxwright as ow

model = parser.parse_model(
    """<ir_version: 8, opset_import: ["" : 12]>
    g (float[N] x) => (float[N] y) <float[1] w = {2}> { y = Mul (x, w) }"""
)
step = model.training_info.add()
step.algorithm.CopyFrom(
    parser.parse_graph("step (float[1] d) => (float[1] new) { new = Sub (w, d) }")
)
ow.convert_version(model, 18)
