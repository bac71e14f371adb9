import onnx
from onnx import parser

from onnxwright import to_script

graph = parser.parse_graph("g (float[2] x) => (float[2] y) { y = Add(x, w) }")
w = graph.initializer.add(name="w", data_type=onnx.TensorProto.FLOAT, dims=[2])
w.data_location = onnx.TensorProto.EXTERNAL
w.external_data.add(key="location", value="no_such_file.bin")
to_script(graph)
