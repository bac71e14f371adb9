"""Operators that rearrange, repeat or select elements by position: Reshape, Slice, Concat."""

from __future__ import annotations

from onnxwright.operators.broadcasting import first_input
from onnxwright.operators.flops import free
from onnxwright.operators.record import ALWAYS, Change, OperatorFacts

FACTS = (
    OperatorFacts("CenterCropPad"),
    OperatorFacts("Compress", moves_data=True, cheap=True, flops=free),
    OperatorFacts("Concat", moves_data=True, cheap=True, folding=ALWAYS, flops=free),
    OperatorFacts("DepthToSpace", moves_data=True, cheap=True, flops=free),
    OperatorFacts("Expand", moves_data=True, cheap=True, folding=ALWAYS, flops=free),
    OperatorFacts("Flatten", moves_data=True, cheap=True, folding=ALWAYS, flops=free),
    OperatorFacts(
        "Identity", moves_data=True, cheap=True, folding=ALWAYS, infer=first_input, flops=free
    ),
    OperatorFacts("Pad", cheap=True, flops=free),
    OperatorFacts("Reshape", moves_data=True, cheap=True, folding=ALWAYS, flops=free),
    OperatorFacts("ReverseSequence", moves_data=True, cheap=True, flops=free),
    OperatorFacts("Slice", moves_data=True, cheap=True, folding=ALWAYS, flops=free),
    OperatorFacts("SpaceToDepth", moves_data=True, cheap=True, flops=free),
    OperatorFacts(
        "Split",
        moves_data=True,
        cheap=True,
        folding=ALWAYS,
        flops=free,
        changes={18: Change("needs num_outputs where the input `split` is absent")},
    ),
    OperatorFacts("Squeeze", moves_data=True, cheap=True, folding=ALWAYS, flops=free),
    OperatorFacts("Tile", moves_data=True, cheap=True, folding=ALWAYS, flops=free),
    OperatorFacts("Transpose", moves_data=True, cheap=True, folding=ALWAYS, flops=free),
    OperatorFacts("Trilu", cheap=True, flops=free),
    OperatorFacts("Unsqueeze", moves_data=True, cheap=True, folding=ALWAYS, flops=free),
)

__all__ = ["FACTS"]
