from onnxwright import GraphBuilder

g = GraphBuilder()
x = g.input("x", "float32", ("N", 3))
