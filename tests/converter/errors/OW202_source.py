from onnxwright import FLOAT, script

text = """
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return x + 1.0
"""
code = compile(text, "<made>", "exec")
del text
exec(code)
script()(f).to_model_proto()
