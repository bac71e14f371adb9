"""A model cut in two and connected again, its batch made dynamic and its weights replaced."""

import numpy as np
import onnx

import onnxwright as ow

model = onnx.parser.parse_model(
    """<ir_version: 10, opset_import: ["" : 18]>
    net (float[1,4] x) => (float[1,2] y) <float[4,2] w = {1,2,3,4,5,6,7,8}> {
        hidden = Relu (x)
        logits = MatMul (hidden, w)
        y = Softmax (logits)
    }"""
)
body = ow.extract(model, ["x"], ["logits"])
head = ow.extract(model, ["logits"], ["y"])
whole = ow.compose(body, head)
x = np.array([[1, -2, 3, 4]], np.float32)
assert np.array_equal(ow.run_model(model, [x]), ow.run_model(whole, [x]))

dynamic = ow.set_shapes(whole, {"x": ["batch", 4]})
dynamic = ow.rename(dynamic, inputs={"x": "features"}, outputs={"y": "scores"})
dynamic = ow.set_initializer(dynamic, {"w": np.zeros((4, 2), np.float32)})
print(onnx.printer.to_text(dynamic.graph).splitlines()[0].strip())
print(ow.run_model(dynamic, [np.repeat(x, 2, axis=0)]))
