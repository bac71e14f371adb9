from onnxwright import FLOAT, GraphBuilder

name = b"gr\xf6\xdfe".decode("utf-8", "surrogateescape")
g = GraphBuilder()
x = g.input(name, FLOAT["N"])
