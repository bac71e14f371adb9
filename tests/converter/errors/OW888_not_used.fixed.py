import onnx

import onnxwright as ow


@ow.rule(grows=True)
def relu(op, x):
    return op.Relu(x)


@relu.to
def _(op, x):
    return op.Where(op.Less(x, op.CastLike(0, x)), op.CastLike(0, x), x)


model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["" : 20]>
    g (float[N] x) => (float[N] y) { y = Relu(x) }""")
ow.rewrite(model, relu)
