from onnx import TensorProto, helper, parser

from onnxwright import show

graph = parser.parse_graph("g (float[2] x) => (float[2] y) { y = Add(x, w) }")
graph.initializer.append(TensorProto(name="w", data_type=1, dims=[2], raw_data=b"1234"))
show(helper.make_model(graph))
