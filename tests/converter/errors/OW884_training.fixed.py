from onnx import parser

import onnxwright as ow

model = parser.parse_model(
    """<ir_version: 8, opset_import: ["" : 12]>
    g (float[N] x) => (float[N] y) <float[1] w = {2}> { y = Mul (x, w) }"""
)
ow.convert_version(model, 18)
