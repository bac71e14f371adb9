from onnxwright import FLOAT, GraphBuilder

g = GraphBuilder()
x = g.input("x", FLOAT["N"])
g.output(g.op.Relu(x), "y")
model = g.to_model_proto()
g.output(g.op.Exp(x), "z")
