from onnxwright import FLOAT, GraphBuilder

g = GraphBuilder()
x = g.input("x", FLOAT["N"])
if g.op.ReduceSum(x, keepdims=0) > 0:
    x = g.op.Relu(x)
g.output(x, "y")
