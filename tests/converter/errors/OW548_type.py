from onnxwright import GraphBuilder

g = GraphBuilder()
x = g.input("x", "tensor of floats")
