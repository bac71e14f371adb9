from onnxwright import FLOAT, script


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    total = [x]

    def add(v):
        total[0] += v

    add(x)
    return total[0]


f.to_model_proto()
