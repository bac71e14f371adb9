from onnx import parser

from onnxwright import convert_version

model = parser.parse_model(
    """<ir_version: 10, opset_import: ["" : 20]>
    g (float[1,1,4,4] x, float[1,2,2,2] grid) => (float[1,1,2,2] y) {
        y = GridSample (x, grid)
    }"""
)
convert_version(model, 16)
