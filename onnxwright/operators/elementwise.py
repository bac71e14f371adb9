"""Arithmetic and mathematical functions of each element; Min, Max, Mean and Sum of tensors."""

from __future__ import annotations

from onnxwright.operators.broadcasting import broadcast_inputs, first_input
from onnxwright.operators.flops import per_further_input, per_output
from onnxwright.operators.record import ALWAYS, OperatorFacts

FACTS = (
    OperatorFacts(
        "Abs", elementwise=True, cheap=True, folding=ALWAYS, infer=first_input, flops=per_output(1)
    ),
    OperatorFacts("Acos", elementwise=True, infer=first_input, flops=per_output(1)),
    OperatorFacts("Acosh", elementwise=True, infer=first_input, flops=per_output(1)),
    OperatorFacts(
        "Add",
        commutative=True,
        elementwise=True,
        cheap=True,
        symbol="+",
        folding=ALWAYS,
        infer=broadcast_inputs,
        flops=per_output(1),
    ),
    OperatorFacts("Asin", elementwise=True, infer=first_input, flops=per_output(1)),
    OperatorFacts("Asinh", elementwise=True, infer=first_input, flops=per_output(1)),
    OperatorFacts("Atan", elementwise=True, infer=first_input, flops=per_output(1)),
    OperatorFacts("Atanh", elementwise=True, infer=first_input, flops=per_output(1)),
    OperatorFacts("Ceil", elementwise=True, cheap=True, infer=first_input, flops=per_output(1)),
    OperatorFacts("Clip", elementwise=True, cheap=True, infer=first_input, flops=per_output(1)),
    OperatorFacts("Cos", elementwise=True, folding=ALWAYS, infer=first_input, flops=per_output(1)),
    OperatorFacts("Cosh", elementwise=True, infer=first_input, flops=per_output(1)),
    OperatorFacts(
        "Div",
        elementwise=True,
        cheap=True,
        folding=ALWAYS,
        infer=broadcast_inputs,
        flops=per_output(1),
    ),
    OperatorFacts("Erf", elementwise=True, infer=first_input, flops=per_output(1)),
    OperatorFacts("Exp", elementwise=True, folding=ALWAYS, infer=first_input, flops=per_output(1)),
    OperatorFacts("Floor", elementwise=True, cheap=True, infer=first_input, flops=per_output(1)),
    OperatorFacts("Log", elementwise=True, folding=ALWAYS, infer=first_input, flops=per_output(1)),
    OperatorFacts(
        "Max",
        commutative=True,
        elementwise=True,
        cheap=True,
        infer=broadcast_inputs,
        flops=per_further_input,
    ),
    OperatorFacts(
        "Mean",
        commutative=True,
        elementwise=True,
        cheap=True,
        infer=broadcast_inputs,
        flops=per_further_input,
    ),
    OperatorFacts(
        "Min",
        commutative=True,
        elementwise=True,
        cheap=True,
        infer=broadcast_inputs,
        flops=per_further_input,
    ),
    OperatorFacts("Mod", elementwise=True, infer=broadcast_inputs, flops=per_output(1)),
    OperatorFacts(
        "Mul",
        commutative=True,
        elementwise=True,
        cheap=True,
        symbol="*",
        folding=ALWAYS,
        infer=broadcast_inputs,
        flops=per_output(1),
    ),
    OperatorFacts(
        "Neg", elementwise=True, cheap=True, folding=ALWAYS, infer=first_input, flops=per_output(1)
    ),
    OperatorFacts(
        "Pow", elementwise=True, folding=ALWAYS, infer=broadcast_inputs, flops=per_output(1)
    ),
    OperatorFacts(
        "Reciprocal",
        elementwise=True,
        cheap=True,
        folding=ALWAYS,
        infer=first_input,
        flops=per_output(1),
    ),
    OperatorFacts("Round", elementwise=True, cheap=True, infer=first_input, flops=per_output(1)),
    OperatorFacts("Sign", elementwise=True, cheap=True, infer=first_input, flops=per_output(1)),
    OperatorFacts("Sin", elementwise=True, folding=ALWAYS, infer=first_input, flops=per_output(1)),
    OperatorFacts("Sinh", elementwise=True, infer=first_input, flops=per_output(1)),
    OperatorFacts(
        "Sqrt", elementwise=True, cheap=True, folding=ALWAYS, infer=first_input, flops=per_output(1)
    ),
    OperatorFacts(
        "Sub",
        elementwise=True,
        cheap=True,
        symbol="-",
        folding=ALWAYS,
        infer=broadcast_inputs,
        flops=per_output(1),
    ),
    OperatorFacts(
        "Sum",
        commutative=True,
        elementwise=True,
        cheap=True,
        infer=broadcast_inputs,
        flops=per_further_input,
    ),
    OperatorFacts("Tan", elementwise=True, infer=first_input, flops=per_output(1)),
)

__all__ = ["FACTS"]
