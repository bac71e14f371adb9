"""Functions steered by a mask."""

from __future__ import annotations

from typing import Any

from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.indexing import mask_of
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.scattering import into
from onnxwright.atenlib.support import scalar


@aten(
    "aten::masked_fill.Scalar",
    "aten::masked_fill.Tensor",
    rule=into("value"),
    complex="parts",
    tests=[OpTest("masked_fill")],
)
def masked_fill(op: Any, self: Any, mask: Any, value: Any) -> Any:
    """One number where a mask is true."""
    return op.Where(mask_of(op, mask), scalar(op, value, self.onnx_dtype), self)
