"""Comparisons, logic, operations on bits, and Where."""

from __future__ import annotations

from onnxwright.operators.broadcasting import broadcast_inputs, first_input
from onnxwright.operators.flops import per_output
from onnxwright.operators.record import ALWAYS, OperatorFacts

FACTS = (
    OperatorFacts(
        "And",
        commutative=True,
        elementwise=True,
        cheap=True,
        symbol="&",
        infer=broadcast_inputs,
        flops=per_output(1),
    ),
    OperatorFacts(
        "BitShift", elementwise=True, cheap=True, infer=broadcast_inputs, flops=per_output(1)
    ),
    OperatorFacts(
        "BitwiseAnd",
        commutative=True,
        elementwise=True,
        cheap=True,
        symbol="&",
        infer=broadcast_inputs,
        flops=per_output(1),
    ),
    OperatorFacts(
        "BitwiseNot", elementwise=True, cheap=True, infer=first_input, flops=per_output(1)
    ),
    OperatorFacts(
        "BitwiseOr",
        commutative=True,
        elementwise=True,
        cheap=True,
        symbol="|",
        infer=broadcast_inputs,
        flops=per_output(1),
    ),
    OperatorFacts(
        "BitwiseXor",
        commutative=True,
        elementwise=True,
        cheap=True,
        symbol="^",
        infer=broadcast_inputs,
        flops=per_output(1),
    ),
    OperatorFacts(
        "Equal",
        commutative=True,
        elementwise=True,
        cheap=True,
        symbol="==",
        folding=ALWAYS,
        infer=broadcast_inputs,
        flops=per_output(1),
    ),
    OperatorFacts(
        "Greater",
        elementwise=True,
        cheap=True,
        symbol=">",
        folding=ALWAYS,
        infer=broadcast_inputs,
        flops=per_output(1),
    ),
    OperatorFacts(
        "GreaterOrEqual",
        elementwise=True,
        cheap=True,
        symbol=">=",
        folding=ALWAYS,
        infer=broadcast_inputs,
        flops=per_output(1),
    ),
    OperatorFacts("IsInf", elementwise=True, cheap=True, infer=first_input, flops=per_output(1)),
    OperatorFacts("IsNaN", elementwise=True, cheap=True, infer=first_input, flops=per_output(1)),
    OperatorFacts(
        "Less",
        elementwise=True,
        cheap=True,
        symbol="<",
        folding=ALWAYS,
        infer=broadcast_inputs,
        flops=per_output(1),
    ),
    OperatorFacts(
        "LessOrEqual",
        elementwise=True,
        cheap=True,
        symbol="<=",
        folding=ALWAYS,
        infer=broadcast_inputs,
        flops=per_output(1),
    ),
    OperatorFacts(
        "Not", elementwise=True, cheap=True, folding=ALWAYS, infer=first_input, flops=per_output(1)
    ),
    OperatorFacts(
        "Or",
        commutative=True,
        elementwise=True,
        cheap=True,
        symbol="|",
        infer=broadcast_inputs,
        flops=per_output(1),
    ),
    OperatorFacts(
        "Where",
        elementwise=True,
        cheap=True,
        folding=ALWAYS,
        infer=broadcast_inputs,
        flops=per_output(1),
    ),
    OperatorFacts(
        "Xor",
        commutative=True,
        elementwise=True,
        cheap=True,
        symbol="^",
        infer=broadcast_inputs,
        flops=per_output(1),
    ),
)

__all__ = ["FACTS"]
