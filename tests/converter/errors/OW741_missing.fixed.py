from onnx import parser

from onnxwright import to_script

graph = parser.parse_graph("g (float[N] x) => (float[N] y) { y = Relu(x) }")
to_script(graph)
