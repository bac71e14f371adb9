from onnxwright import FLOAT, GraphBuilder

g = GraphBuilder()
x = g.input("x", FLOAT["N"])
y = g.op.Relu(x, outputs=["x"])
g.output(y, "y")
