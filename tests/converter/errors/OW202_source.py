from onnxwright import FLOAT, script

lines = ['def f(x: FLOAT["N"]) -> FLOAT["N"]:', "    return x - 1.0"]
exec("\n".join(lines))
script()(f).to_model_proto()
