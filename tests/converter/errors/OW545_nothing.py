from onnxwright import FLOAT, GraphBuilder

g = GraphBuilder()
y = g.op.Relu(g.input("x", FLOAT["N"]))
model = g.to_model_proto()
