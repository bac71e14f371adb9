"""A model of opset 9 in the newest opset that its runtime has, and a new one for an old runtime."""

import numpy as np
import onnx

import onnxwright as ow

old = onnx.parser.parse_model(
    """<ir_version: 4, opset_import: ["" : 9]>
    classifier (float[N,3,4] x) => (float[N,3,4] y) {
        small = Clip<min=-2.0, max=2.0> (x)
        y = Softmax<axis=1> (small)
    }"""
)
new = ow.convert_version(old, 21)
x = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 6
before, after = ow.run_model(old, [x]), ow.run_model(new, [x])
print("new:", [node.op_type for node in new.graph.node if node.op_type != "Constant"])
assert np.allclose(before, after)


@ow.script()
def block(x: ow.FLOAT["N", 8], w: ow.FLOAT[8]):
    return ow.opset23.Gelu(ow.opset23.RMSNormalization(x, w))


model = block.to_model_proto()
older = ow.convert_version(model, 13)
print("old:", sorted({node.op_type for node in older.graph.node} - {"Constant"}))
given = [np.linspace(-1, 1, 16, dtype=np.float32).reshape(2, 8), np.ones(8, np.float32)]
assert np.allclose(ow.run_model(model, given), ow.run_model(older, given), atol=1e-6)
