"""A rule of one's own in the optimizer."""

from typing import Any

import onnxwright as ow
from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@ow.rule(level="exact")
def double_negation(op: Any, x: Any) -> Any:
    return op.Neg(op.Neg(x))


@double_negation.to
def _(op: Any, x: Any) -> Any:
    return x


@script()
def negated(x: FLOAT) -> FLOAT:
    return op.Relu(op.Neg(op.Neg(x)))


def main() -> None:
    model = negated.to_model_proto(input_types=[FLOAT[2]], output_types=[FLOAT[2]])
    print([n.op_type for n in ow.rewrite(model, [double_negation]).graph.node])


def mistakes() -> object:
    return ow.rule(level="exact", sinces=13)  # error


if __name__ == "__main__":
    main()
