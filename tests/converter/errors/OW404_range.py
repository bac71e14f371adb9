from onnxwright import UINT8, script


@script()
def f(x: UINT8["N"]) -> UINT8["N"]:
    return x + 300


f.to_model_proto()
