from onnxwright import FLOAT, script


@script()
def f(x: "numpy.ndarray | dict") -> FLOAT:
    return x + 1.0


f.to_model_proto()
