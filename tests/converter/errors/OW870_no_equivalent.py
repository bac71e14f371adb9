from onnx import parser

from onnxwright import convert_version

model = parser.parse_model(
    """<ir_version: 10, opset_import: ["" : 20]>
    g (float[1,1,4,4] x, float[1,2,2,2] grid, string[2] s) => (float[1,1,2,2] y, string[2] t) {
        y = GridSample (x, grid)
        t = StringConcat (s, s)
    }"""
)
convert_version(model, 15)
