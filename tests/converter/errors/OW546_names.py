from onnxwright import FLOAT, GraphBuilder

g = GraphBuilder()
x = g.input("x", FLOAT["N"])
total, rows = g.op.Loop(
    3, None, x, body=lambda i, go, a: (go, a * 2.0, a), outputs=["total", "rows", "more"]
)
