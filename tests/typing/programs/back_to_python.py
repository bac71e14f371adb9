"""A model as Python again, and two models compared."""

import onnxwright as ow
from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def scaled(x: FLOAT, factor: float = 2.0) -> FLOAT:
    return op.Relu(x) * factor


def main() -> None:
    model = scaled.to_model_proto(input_types=[FLOAT[2]], output_types=[FLOAT[2]])
    text = ow.to_script(model, operators=True, inline_constants="all" == "all")
    print(text.count("op.Relu"), bool(ow.diff(model, model)))
    ow.testing.assert_isomorphic(model, model, doc_strings=False, metadata=False)


def mistakes(model: object) -> None:
    ow.to_script(model, operator=False)  # error
    ow.testing.assert_isomorphic(model, model, names=False)  # error


if __name__ == "__main__":
    main()
