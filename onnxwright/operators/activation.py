"""Activation functions, and Softmax and its relatives."""

from __future__ import annotations

from functools import partial

from onnxwright.operators.broadcasting import broadcast_inputs, first_input
from onnxwright.operators.flops import per_input, per_output
from onnxwright.operators.op_call import OpCall, axis_in
from onnxwright.operators.record import ALWAYS, Change, OperatorFacts
from onnxwright.types.shapes import Shape


def _along_axis(call: OpCall) -> Shape:
    shape = call.shape(0)
    axis_in(call.attr("axis"), len(shape))
    return shape


_unary = partial(OperatorFacts, elementwise=True, infer=first_input, flops=per_output(1))
_broadcasting = partial(
    OperatorFacts, elementwise=True, infer=broadcast_inputs, flops=per_output(1)
)

FACTS = (
    _unary("Celu", flops=per_output(4)),
    _unary("Elu", flops=per_output(4)),
    _unary("Gelu", flops=per_output(8)),
    _unary("HardSigmoid", cheap=True, flops=per_output(4)),
    _unary("HardSwish", flops=per_output(4)),
    OperatorFacts(
        "Hardmax",
        infer=_along_axis,
        flops=per_input(5),
        changes={13: Change("compares along one axis; before, over all axes from `axis` on")},
    ),
    _unary("LeakyRelu", correctly_rounded=True, cheap=True, flops=per_output(2)),
    OperatorFacts(
        "LogSoftmax",
        infer=_along_axis,
        flops=per_input(5),
        changes={13: Change("normalizes along one axis; before, over all axes from `axis` on")},
    ),
    _unary("Mish", flops=per_output(8)),
    _broadcasting(
        "PRelu",
        correctly_rounded=True,
        exact_on_integers=True,
        cheap=True,
        changes={
            7: Change(
                "the slope is broadcast from the last axis; before, a vector had one per channel"
            )
        },
    ),
    _unary("Relu", correctly_rounded=True, exact_on_integers=True, cheap=True),
    _unary("Selu", flops=per_output(4)),
    _unary("Shrink", cheap=True),
    _unary("Sigmoid", folding=ALWAYS, flops=per_output(4)),
    OperatorFacts(
        "Softmax",
        infer=_along_axis,
        flops=per_input(5),
        changes={13: Change("normalizes along one axis; before, over all axes from `axis` on")},
    ),
    _unary("Softplus", flops=per_output(4)),
    _unary("Softsign", cheap=True, flops=per_output(4)),
    OperatorFacts("SwiGLU"),
    _unary("Swish", flops=per_output(4)),
    _unary("Tanh", folding=ALWAYS, flops=per_output(4)),
    _unary("ThresholdedRelu", cheap=True),
)
