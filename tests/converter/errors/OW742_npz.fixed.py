from onnx import parser

from onnxwright import to_script

model = parser.parse_model(
    """<ir_version: 10, opset_import: ["" : 18]>
    g (float[N] x) => (float[N] y) { y = Relu(x) }"""
)
to_script(model, weights="inline")
