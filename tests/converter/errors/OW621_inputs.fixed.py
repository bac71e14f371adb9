import numpy as np

from onnxwright.eager import CompiledModel
from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return x + 1.0


run = CompiledModel(f.to_model_proto())
run(np.ones(3, np.float32))
