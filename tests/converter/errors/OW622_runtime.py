import numpy as np

from onnxwright import FLOAT, Opset, script

mine = Opset("my.domain", 1)


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return mine.Twice(x)


run = f.compile()
run(np.ones(3, np.float32))
