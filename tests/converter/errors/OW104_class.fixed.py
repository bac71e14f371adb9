from onnxwright import FLOAT, script


class Layer:
    weight = 1.0

    @script()
    def forward(x: FLOAT["N"]) -> FLOAT["N"]:
        return x * 2.0


Layer.forward.to_model_proto()
