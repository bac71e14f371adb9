"""Complex tensors in graphs: a pair of real values inside, a trailing axis of two at the edges.

ONNX Runtime has no complex arithmetic.  A body meets a complex tensor as a `Complex`; `pack` and
`unpack` go to and from one real tensor `[..., 2]`, as torch.view_as_real has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onnxwright.atenlib.helpers.constants import cast, full_like, scalar
from onnxwright.atenlib.protocols import Number, Op, Value
from onnxwright.types.dtypes import DType
from onnxwright.types.promotion import complex_of
from onnxwright.types.shapes import Shape


@dataclass(frozen=True, eq=False, slots=True)
class Complex:
    """A complex tensor.

    Fields:
        real, imag: its parts, two values of one type and shape.
    """

    real: Value
    imag: Value

    @property
    def onnx_dtype(self) -> DType:
        """COMPLEX64 or COMPLEX128, by the type of the parts."""
        return complex_of(self.real.onnx_dtype)

    @property
    def shape(self) -> Shape:
        """The dimensions, as those of the real part."""
        return self.real.shape

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return self.real.rank


def pack(op: Op, x: Complex) -> Any:
    """A real tensor with a last axis of two: real and imaginary parts.

    Args:
        x: a complex tensor of any shape.

    Returns:
        A value of shape `[*x.shape, 2]`.
    """
    return op.Concat(op.Unsqueeze(x.real, [-1]), op.Unsqueeze(x.imag, [-1]), axis=-1)


def unpack(op: Op, x: Any) -> Complex:
    """The complex tensor of a real one whose last axis holds real and imaginary parts.

    Args:
        x: a value of shape `[..., 2]`.

    Returns:
        The complex tensor, of the shape without the last axis.
    """
    return Complex(op.Gather(x, 0, axis=-1), op.Gather(x, 1, axis=-1))


def real_part(x: Value) -> Value:
    """What a body asks for type and shape: a value, or the real part of a `Complex`."""
    return x.real if isinstance(x, Complex) else x


def as_complex(op: Op, x: Value | Number, part: DType) -> Complex:
    """A value or number as a complex tensor with parts of a type.

    Args:
        x: a `Complex`, a real value, or a Python number.

    Returns:
        The complex tensor; the imaginary part of a real value is zero.
    """
    if isinstance(x, Complex):
        return Complex(cast(op, x.real, part), cast(op, x.imag, part))
    if isinstance(x, (bool, int, float, complex)):
        number = complex(x)
        return Complex(scalar(op, number.real, part), scalar(op, number.imag, part))
    real = cast(op, x, part)
    return Complex(real, full_like(op, real, 0.0, part))
