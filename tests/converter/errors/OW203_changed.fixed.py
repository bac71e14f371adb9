import linecache

from onnxwright import FLOAT, script

text = 'def f(x: FLOAT["N"]) -> FLOAT["N"]:\n    return x - 1.0\n'
exec(compile(text, "changed.py", "exec"))
linecache.cache["changed.py"] = (len(text), None, text.splitlines(True), "changed.py")
script()(f).to_model_proto()
