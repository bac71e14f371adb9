from onnxwright import script


@script()
class Layer:
    weight = 1.0
