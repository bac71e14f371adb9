from onnxwright import FLOAT, GraphBuilder

f = GraphBuilder(opset=21)
x = f.input("x", FLOAT["N"])
f.output(f.op.LeakyRelu(x, alpha=f.attribute("alpha", "FLOAT", 0.1)), "y")

g = GraphBuilder(opset=21)
x = g.input("x", FLOAT["N"])
g.output(g.call(f.to_ir_function("my.domain", "leaky"), x, alpha=0.2), "y")
model = g.to_model_proto()
