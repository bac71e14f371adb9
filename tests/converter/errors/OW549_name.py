from onnxwright import FLOAT, GraphBuilder

g = GraphBuilder()
x = g.input("", FLOAT["N"])
