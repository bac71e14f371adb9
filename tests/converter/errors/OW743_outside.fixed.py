import onnx
from onnx import parser

from onnxwright import to_script

graph = parser.parse_graph("g (float[2] x) => (float[2] y) { y = Add(x, w) }")
w = graph.initializer.add(name="w", data_type=onnx.TensorProto.FLOAT, dims=[2])
w.float_data.extend([1.0, 2.0])
to_script(graph)
