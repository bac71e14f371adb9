"""Reductions under the names of torch's primitive operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from onnxwright.atenlib.helpers.constants import cast
from onnxwright.atenlib.helpers.reduce import extreme, reduce, reduced_axes
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.variance import mean_and_var
from onnxwright.atenlib.protocols import Arguments, Op, Value
from onnxwright.atenlib.rules import custom
from onnxwright.types.dtypes import DType

_WHY = "torch's references call it; the operators they refer to have OpInfos"


def _type(arguments: Arguments) -> DType:
    dtype: DType = arguments["output_dtype"] or arguments["inp"].onnx_dtype
    return dtype


def _axes(dims: Any, rank: int) -> list[int]:
    """The axes; an empty list reduces nothing, unlike None."""
    return [] if dims is not None and not dims else reduced_axes(dims, rank)


def _register(name: str, doc: str, *, complex: Literal["parts"] | None = None) -> None:
    """Register a reduction."""

    def body(
        op: Op, inp: Value, dims: Sequence[int] | None, *, output_dtype: DType | None = None
    ) -> Value:
        axes = _axes(dims, inp.rank)
        if name in ("amax", "amin"):
            return extreme(op, inp, axes, False, largest=name == "amax")
        x = inp if output_dtype is None else cast(op, inp, output_dtype)
        return reduce(op, f"Reduce{name.title()}", x, axes)

    aten(f"prims::{name}", rule=custom(_type), complex=complex, untested=_WHY, doc=doc)(body)


_register("sum", "The sum over axes.", complex="parts")
_register("prod", "The product over axes.")
_register("amax", "The largest element over axes; NaN where there is one.")
_register("amin", "The smallest element over axes; NaN where there is one.")


@aten("prims::var", rule=custom(_type), untested=_WHY)
def prims_var(
    op: Op,
    inp: Value,
    dims: Sequence[int] | None,
    correction: float | None = 1,
    *,
    output_dtype: DType | None = None,
) -> Any:
    """The variance over axes."""
    return mean_and_var(op, inp, dims, correction, False)[1]
