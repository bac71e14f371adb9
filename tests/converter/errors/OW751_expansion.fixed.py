from onnx import parser

from onnxwright import show

text = '<ir_version: 10, opset_import: ["" : 18, "f" : 1]> g (float[2] x) => (float[2] y) { y = f.f0(x) }'
for n in range(10):
    text += (
        f'<domain: "f", opset_import: ["" : 18, "f" : 1]> f{n} (a) => (c)'
        f" {{ b = f.f{n + 1}(a) c = f.f{n + 1}(b) }}"
    )
text += '<domain: "f", opset_import: ["" : 18]> f10 (a) => (c) { c = Relu(a) }'
show(parser.parse_model(text))
