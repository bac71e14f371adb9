from onnxwright import script

text = """
def f(x):
    return x + 1.0
"""
exec(text)
script()(f).to_model_proto()
