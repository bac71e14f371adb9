from onnxwright import FLOAT, GraphBuilder

g = GraphBuilder()
g.input("x", FLOAT["N"])
g.node("Relu", ["x"], outputs=["hidden"])
g.output(g.node("Exp", ["hiden"]), "y")
