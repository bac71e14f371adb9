from onnxwright import FLOAT, script


@script()
def power(x: FLOAT["N"], n: int) -> FLOAT["N"]:
    if n == 0:
        return x * 0.0 + 1.0
    return x * power(x, n=n - 1)


power.to_model_proto(attributes={"n": 3})
