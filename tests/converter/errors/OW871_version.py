from onnx import parser

from onnxwright import convert_version

model = parser.parse_model(
    """<ir_version: 10, opset_import: ["" : 20]>
    g (float[2] x) => (float[2] y) { y = Gelu (x) }"""
)
convert_version(model, 3)
