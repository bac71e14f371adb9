from onnxwright import FLOAT, GraphBuilder

g = GraphBuilder()
x = g.input("x", FLOAT["N"])
positive = g.op.ReduceSum(x, keepdims=0) > 0
g.output(g.op.If(positive, then_branch=lambda: g.op.Relu(x), else_branch=lambda: x), "y")
