"""Activation functions, and Softmax and its relatives."""

from __future__ import annotations

from onnxwright.operators.broadcasting import broadcast_inputs, first_input
from onnxwright.operators.flops import per_input, per_output
from onnxwright.operators.record import ALWAYS, Change, OperatorFacts

FACTS = (
    OperatorFacts("Celu", elementwise=True, infer=first_input, flops=per_output(4)),
    OperatorFacts("Elu", elementwise=True, infer=first_input, flops=per_output(4)),
    OperatorFacts("Gelu", elementwise=True, infer=first_input, flops=per_output(8)),
    OperatorFacts(
        "HardSigmoid", elementwise=True, cheap=True, infer=first_input, flops=per_output(4)
    ),
    OperatorFacts("HardSwish", elementwise=True, infer=first_input, flops=per_output(4)),
    OperatorFacts(
        "Hardmax",
        flops=per_input(5),
        changes={13: Change("compares along one axis; before, over all axes from `axis` on")},
    ),
    OperatorFacts(
        "LeakyRelu", elementwise=True, cheap=True, infer=first_input, flops=per_output(2)
    ),
    OperatorFacts(
        "LogSoftmax",
        flops=per_input(5),
        changes={13: Change("normalizes along one axis; before, over all axes from `axis` on")},
    ),
    OperatorFacts("Mish", elementwise=True, infer=first_input, flops=per_output(8)),
    OperatorFacts(
        "PRelu",
        elementwise=True,
        cheap=True,
        infer=broadcast_inputs,
        flops=per_output(1),
        changes={
            7: Change(
                "the slope is broadcast from the last axis; before, a vector had one per channel"
            )
        },
    ),
    OperatorFacts("Relu", elementwise=True, cheap=True, infer=first_input, flops=per_output(1)),
    OperatorFacts("Selu", elementwise=True, infer=first_input, flops=per_output(4)),
    OperatorFacts("Shrink", elementwise=True, cheap=True, infer=first_input, flops=per_output(1)),
    OperatorFacts(
        "Sigmoid", elementwise=True, folding=ALWAYS, infer=first_input, flops=per_output(4)
    ),
    OperatorFacts(
        "Softmax",
        flops=per_input(5),
        changes={13: Change("normalizes along one axis; before, over all axes from `axis` on")},
    ),
    OperatorFacts("Softplus", elementwise=True, infer=first_input, flops=per_output(4)),
    OperatorFacts("Softsign", elementwise=True, cheap=True, infer=first_input, flops=per_output(4)),
    OperatorFacts("SwiGLU"),
    OperatorFacts("Swish", elementwise=True, infer=first_input, flops=per_output(4)),
    OperatorFacts("Tanh", elementwise=True, folding=ALWAYS, infer=first_input, flops=per_output(4)),
    OperatorFacts(
        "ThresholdedRelu", elementwise=True, cheap=True, infer=first_input, flops=per_output(1)
    ),
)

__all__ = ["FACTS"]
