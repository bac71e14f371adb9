"""Functions steered by a mask."""

from __future__ import annotations

from onnxwright.atenlib.helpers.constants import scalar
from onnxwright.atenlib.helpers.scatter import into
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.indexing import mask_of
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Number, Op, Value

# torch.masked has functions in Python, which fill what a mask leaves out and go on from there.
_FUNCTIONS = (
    "sum", "prod", "cumsum", "cumprod", "amax", "amin", "argmax", "argmin", "mean", "median",
    "norm", "std", "softmax", "softmin", "normalize", "logaddexp",
)  # fmt: skip
_HALF = {"float16": Tol(3e-3, 1e-3), "bfloat16": Tol(3e-2, 1e-2)}
_MASKED = (
    *(OpTest(f"masked.{name}") for name in _FUNCTIONS),
    # A small rest of large numbers has few digits, in torch as in ours; a variance is several
    # operators, each of which rounds.
    *(OpTest(f"masked.{name}", tol=_HALF) for name in ("log_softmax", "logsumexp", "var")),
)


@aten(
    "aten::masked_fill.Scalar",
    "aten::masked_fill.Tensor",
    rule=into("value"),
    complex="parts",
    tests=[OpTest("masked_fill"), *_MASKED],
)
def masked_fill(op: Op, self: Value, mask: Value, value: Number | Value) -> Value:
    """One number where a mask is true."""
    return op.Where(mask_of(op, mask), scalar(op, value, self.onnx_dtype), self)
