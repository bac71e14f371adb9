"""Pooling: windows, whole images and regions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from onnxwright.operators.attribute_faults import window_fault
from onnxwright.operators.flops import Sized, per_input
from onnxwright.operators.op_call import ContradictionError, OpCall, UnknownError, listed
from onnxwright.operators.record import Change, OperatorFacts
from onnxwright.operators.windows import Windows
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.shapes import Shape


def _pool_types(call: OpCall) -> list[OnnxType | None]:
    kind, x = call.tensor(0), call.shape(0)
    kernel = call.attr("kernel_shape")
    if len(x) < 3:
        raise ContradictionError("at least 3 axes (batch, channels, spatial axes)", listed(x))
    if kernel is None:
        raise UnknownError
    if len(kernel) != len(x) - 2:
        raise ContradictionError(f"{len(x) - 2} numbers in `kernel_shape`", list(kernel))
    windows = Windows(call, kernel)
    shape = (*x[:2], *(windows.length(n, d) for n, d in enumerate(x[2:])))
    types: list[OnnxType | None] = [TensorType(kind.dtype, shape), TensorType(DType.INT64, shape)]
    return types[: call.count]


def _global_pool_shape(call: OpCall) -> Shape:
    x = call.shape(0)
    if len(x) < 2:
        raise ContradictionError("at least 2 axes (batch, channels)", listed(x))
    return (*x[:2], *(1,) * (len(x) - 2))


def _pool_flops(n: Sized) -> int:
    """(elements of the result) * (kernel)."""
    kernel: Sequence[int] = n.attribute("kernel_shape", ())
    return math.prod(n.output()) * math.prod(kernel)


FACTS = (
    OperatorFacts(
        "AveragePool",
        attribute_fault=window_fault,
        infer=_pool_types,
        flops=_pool_flops,
    ),
    OperatorFacts("GlobalAveragePool", infer=_global_pool_shape, flops=per_input(1)),
    OperatorFacts("GlobalLpPool", flops=per_input(2)),
    OperatorFacts("GlobalMaxPool", infer=_global_pool_shape, flops=per_input(1)),
    OperatorFacts("LpPool", attribute_fault=window_fault, infer=_pool_types, flops=_pool_flops),
    OperatorFacts(
        "MaxPool",
        attribute_fault=window_fault,
        exact_on_integers=True,
        droppable_outputs=True,
        infer=_pool_types,
        flops=_pool_flops,
    ),
    OperatorFacts("MaxRoiPool", least_ranks=(4, 2)),
    OperatorFacts("MaxUnpool"),
    OperatorFacts(
        "RoiAlign",
        least_ranks=(4, 2, 1),
        changes={
            16: Change(
                "coordinate_transformation_mode is half_pixel by default; before, output_half_pixel"
            )
        },
    ),
)
