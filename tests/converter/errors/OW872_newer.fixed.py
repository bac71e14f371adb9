from onnx import parser

from onnxwright import convert_version

model = parser.parse_model(
    """<ir_version: 4, opset_import: ["" : 9]>
    g (float[2] x) => (float[2] y) { y = Relu (x) }"""
)
convert_version(model, 13)
