import onnx

import onnxwright as ow


@ow.rule
def both(op, x):
    return op.Sin(x), op.Cos(x)


@both.to
def _(op, x):
    return op.Cos(x)


model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["" : 20]>
    g (float[N] x) => (float[N] y, float[N] z) { y = Sin(x)  z = Cos(x) }""")
ow.rewrite(model, both)
