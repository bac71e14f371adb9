from onnxwright import FLOAT, GraphBuilder

second = GraphBuilder()
x = second.input("x", FLOAT["N"])
second.output(second.op.Relu(x), "y")
