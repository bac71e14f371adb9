from onnxwright import FLOAT, script

text = """
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return x + 1.0
"""
exec(text)
script(source=text)(f).to_model_proto()
