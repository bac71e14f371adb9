"""A model built by calls, with typed operators."""

import numpy as np
import onnx

import onnxwright as ow
from onnxwright import FLOAT


def linear(g: ow.GraphBuilder, name: str, width: int) -> None:
    w = g.initializer(np.ones((4, width), np.float32), f"{name}.weight")
    g.output(g.op.MatMul(g.value("h"), w), name)


def build() -> onnx.ModelProto:
    g = ow.GraphBuilder(opset=21, name="two_heads")
    x = g.input("x", FLOAT["N", 4])
    h = g.op.Gelu(x * 2, approximate="tanh", outputs=["h"])
    values, indices = g.op.TopK(h, [2], axis=-1)
    g.output(g.op.Cast(indices, to=FLOAT) + values, "top")
    linear(g, "left", 2)
    linear(g, "right", 3)
    return g.to_model_proto()


def main() -> None:
    print([o.name for o in build().graph.output])


def mistakes() -> None:
    g = ow.GraphBuilder(opset=18)
    g.op.Relu(1.0, 2.0)  # error
    g.op.Gelu(1.0)  # error
    ow.GraphBuilder(opset=21).op.Gelu(1.0, approximate=1)  # error


if __name__ == "__main__":
    main()
