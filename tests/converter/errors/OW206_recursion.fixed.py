from onnxwright import FLOAT, script


@script()
def power(x: FLOAT["N"], n: int) -> FLOAT["N"]:
    y = x * 0.0 + 1.0
    for _ in range(n):
        y = y * x
    return y


power.to_model_proto(attributes={"n": 3})
