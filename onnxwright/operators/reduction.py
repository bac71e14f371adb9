"""Reductions along axes, cumulative sums and products, and what sorts or searches along an axis."""

from __future__ import annotations

from onnxwright.operators.broadcasting import first_input
from onnxwright.operators.flops import per_input
from onnxwright.operators.record import ALWAYS, OperatorFacts

FACTS = (
    OperatorFacts("ArgMax", flops=per_input(1)),
    OperatorFacts("ArgMin", flops=per_input(1)),
    OperatorFacts("CumProd", flops=per_input(1)),
    OperatorFacts("CumSum", infer=first_input, flops=per_input(1)),
    OperatorFacts("ReduceL1", flops=per_input(2)),
    OperatorFacts("ReduceL2", folding=ALWAYS, flops=per_input(2)),
    OperatorFacts("ReduceLogSum", flops=per_input(2)),
    OperatorFacts("ReduceLogSumExp", flops=per_input(2)),
    OperatorFacts("ReduceMax", folding=ALWAYS, flops=per_input(1)),
    OperatorFacts("ReduceMean", folding=ALWAYS, flops=per_input(1)),
    OperatorFacts("ReduceMin", folding=ALWAYS, flops=per_input(1)),
    OperatorFacts("ReduceProd", flops=per_input(1)),
    OperatorFacts("ReduceSum", folding=ALWAYS, flops=per_input(1)),
    OperatorFacts("ReduceSumSquare", flops=per_input(2)),
    OperatorFacts("TopK"),
    OperatorFacts("Unique"),
)

__all__ = ["FACTS"]
