import numpy as np

from onnxwright import FLOAT, Opset, script

mine = Opset("my.domain", 1)


@script(mine)
def Twice(x: FLOAT["N"]) -> FLOAT["N"]:
    return x * 2.0


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return Twice(x)


run = f.compile()
run(np.ones(3, np.float32))
