from onnxwright import FLOAT, GraphBuilder

g = GraphBuilder()
y = g.op.Relu(g.input("x", FLOAT["N"]))
g.output(y, "y")
model = g.to_model_proto()
