from onnxwright import FLOAT, GraphBuilder

name = b"gr\xf6\xdfe".decode("latin-1")
g = GraphBuilder()
x = g.input(name, FLOAT["N"])
