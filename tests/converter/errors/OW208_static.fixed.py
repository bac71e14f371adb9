from onnxwright import FLOAT, script

sizes = {"small": 2, "large": 8}


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    return x * sizes["large"]


f.to_model_proto()
