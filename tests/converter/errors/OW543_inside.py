from onnxwright import BOOL, FLOAT, GraphBuilder

g = GraphBuilder()
x, c = g.input("x", FLOAT["N"]), g.input("c", BOOL[()])
inside = []


def then():
    inside.append(g.op.Exp(x))
    return inside[0]


g.op.If(c, then_branch=then, else_branch=lambda: x)
g.output(g.op.Relu(inside[0]), "y")
