"""Weights quantized, and a model in half precision."""

import numpy as np

import onnxwright as ow
from onnxwright import FLOAT


def main() -> None:
    g = ow.GraphBuilder(opset=21)
    x = g.input("x", FLOAT["N", 32])
    w = g.initializer(np.random.default_rng(0).normal(size=(32, 64)).astype(np.float32), "w")
    g.output(g.op.MatMul(x, w), "y")
    model = g.to_model_proto()
    small = ow.quantize_weights(model, bits=8)
    half = ow.to_half(model)
    print(small.ByteSize() < model.ByteSize(), half.graph.initializer[0].data_type)


def mistakes(model: object) -> object:
    return ow.quantize_weights(model, bit=8)  # error


if __name__ == "__main__":
    main()
