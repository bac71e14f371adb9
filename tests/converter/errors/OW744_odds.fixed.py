from onnx import parser

from onnxwright import to_script

to_script(parser.parse_graph("g (float[2] x) => (float[2] y) { z = Relu(x) y = Neg(z) }"))
