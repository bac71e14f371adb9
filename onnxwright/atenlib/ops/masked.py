"""Functions steered by a mask."""

from __future__ import annotations

from typing import Any

from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.indexing import mask_of
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.scattering import into
from onnxwright.atenlib.support import scalar

# torch.masked has functions in Python, which fill what a mask leaves out and go on from there.
_FUNCTIONS = (
    "sum", "prod", "cumsum", "cumprod", "amax", "amin", "argmax", "argmin", "mean", "median",
    "norm", "var", "std", "softmax", "softmin", "normalize", "logaddexp", "logsumexp",
)  # fmt: skip
_MASKED = (
    *(OpTest(f"masked.{name}") for name in _FUNCTIONS),
    OpTest(
        "masked.log_softmax",
        # The logarithm of a number near 1: what is left has few digits in torch as in ours.
        tol={"float16": Tol(3e-3, 1e-3), "bfloat16": Tol(3e-2, 1e-2)},
    ),
)


@aten(
    "aten::masked_fill.Scalar",
    "aten::masked_fill.Tensor",
    rule=into("value"),
    complex="parts",
    tests=[OpTest("masked_fill"), *_MASKED],
)
def masked_fill(op: Any, self: Any, mask: Any, value: Any) -> Any:
    """One number where a mask is true."""
    return op.Where(mask_of(op, mask), scalar(op, value, self.onnx_dtype), self)
