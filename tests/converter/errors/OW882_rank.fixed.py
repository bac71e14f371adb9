from onnx import parser

import onnxwright as ow

model = parser.parse_model(
    """<ir_version: 10, opset_import: ["" : 18]>
    g (float[1,4] x, float[1,4] z) => (float[2,2] y) {
        a = Add (x, z)
        s = Constant <value = int64[2] {2, 2}> ()
        y = Reshape (a, s)
    }"""
)
ow.set_shapes(model, {"x": [1, 4]})
