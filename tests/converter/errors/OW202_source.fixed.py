from onnxwright import FLOAT, script

text = """
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return x + 1.0
"""
exec(compile(text, "<made>", "exec"))
script(source=text)(f).to_model_proto()
