from onnxwright import BOOL, FLOAT, GraphBuilder

g = GraphBuilder()
x, c = g.input("x", FLOAT["N"]), g.input("c", BOOL[()])


def then():
    return g.op.Exp(x)


y = g.op.If(c, then_branch=then, else_branch=lambda: x)
g.output(g.op.Relu(y), "y")
