"""A run looked at value by value, and a picture."""

import numpy as np

import onnxwright as ow
from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def logarithm(x: FLOAT) -> FLOAT:
    return op.Log(op.Abs(x) + 1.0)


def main() -> None:
    model = logarithm.to_model_proto(input_types=[FLOAT[2]], output_types=[FLOAT[2]])
    run = ow.debug(model, {"x": np.array([0.0, -2.0], np.float32)})
    print([record.op for record in run], run.outputs[model.graph.output[0].name].shape)
    print("<svg" in ow.show(model).html())
    compiled = ow.CompiledModel(model)
    print(compiled(np.ones(2, np.float32)).mean())


def mistakes(model: object) -> object:
    return ow.debug(model, {}, keeps="all")  # error


if __name__ == "__main__":
    main()
