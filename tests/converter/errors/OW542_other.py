from onnxwright import FLOAT, GraphBuilder

first, second = GraphBuilder(), GraphBuilder()
x = first.input("x", FLOAT["N"])
second.output(second.op.Relu(x), "y")
