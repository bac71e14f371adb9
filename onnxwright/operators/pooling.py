"""Pooling: windows, whole images and regions."""

from __future__ import annotations

from onnxwright.operators.flops import per_input
from onnxwright.operators.record import Change, OperatorFacts

FACTS = (
    OperatorFacts(
        "AveragePool",
        changes={
            11: Change("size of the output with SAME padding", only_with=("auto_pad",)),
            19: Change("size of the output with SAME padding", only_with=("auto_pad",)),
            22: Change(
                "windows that start in the padding after the data are ignored",
                only_with=("ceil_mode",),
            ),
        },
    ),
    OperatorFacts("GlobalAveragePool", flops=per_input(1)),
    OperatorFacts("GlobalLpPool", flops=per_input(2)),
    OperatorFacts("GlobalMaxPool", flops=per_input(1)),
    OperatorFacts("LpPool"),
    OperatorFacts(
        "MaxPool",
        changes={
            12: Change("size of the output with SAME padding", only_with=("auto_pad",)),
            22: Change(
                "windows that start in the padding after the data are ignored",
                only_with=("ceil_mode",),
            ),
        },
    ),
    OperatorFacts("MaxRoiPool"),
    OperatorFacts("MaxUnpool"),
    OperatorFacts(
        "RoiAlign",
        changes={
            16: Change(
                "coordinate_transformation_mode is half_pixel by default; before, output_half_pixel"
            )
        },
    ),
)

__all__ = ["FACTS"]
