from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"], mode: str) -> FLOAT["N"]:
    if mode == "up":
        return x + 1.0
    raise ValueError(f"no mode {mode}")


f.to_model_proto(attributes={"mode": "down"})
