from onnxwright import FLOAT, GraphBuilder

g = GraphBuilder(opset=21)
x = g.input("x", FLOAT["N"])
g.output(g.op.LeakyRelu(x, alpha=g.attribute("alpha", "FLOAT", 0.1)), "y")
model = g.to_model_proto()
