"""Functions that put the axes of a tensor in another order."""

from __future__ import annotations

from collections.abc import Sequence

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers.shape import permute as permuted
from onnxwright.atenlib.helpers.sizes import axes_of, axis_of
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.atenlib.rules import like


def exchanged(op: Op, x: Value, first: int, second: int) -> Value:
    """Two axes exchanged; a tensor without dimensions stays."""
    if x.rank < 2:
        return x
    order = list(range(x.rank))
    a, b = axis_of(first, x.rank), axis_of(second, x.rank)
    order[a], order[b] = b, a
    return permuted(op, x, order)


@aten("aten::permute", "aten::permute_copy", rule=like(), complex="parts",
      tests=[OpTest("permute"), OpTest("permute_copy")])  # fmt: skip
def permute(op: Op, self: Value, dims: Sequence[int]) -> Value:
    """The axes in the order `dims`."""
    return permuted(op, self, axes_of(dims, self.rank))


@aten(
    "aten::transpose.int",
    "aten::transpose_copy.int",
    "aten::swapdims",
    rule=like(),
    complex="parts",
    tests=[OpTest("transpose"), OpTest("transpose_copy")],
)
def transpose(op: Op, self: Value, dim0: int, dim1: int) -> Value:
    """Two axes exchanged."""
    return exchanged(op, self, dim0, dim1)


@aten("aten::swapaxes", rule=like(), complex="parts", untested="torch has it as transpose")
def swapaxes(op: Op, self: Value, axis0: int, axis1: int) -> Value:
    """Two axes exchanged."""
    return exchanged(op, self, axis0, axis1)


@aten(
    "aten::t",
    "aten::t_copy",
    "aten::numpy_T",
    "aten::numpy_T.a",
    rule=like(),
    complex="parts",
    tests=[OpTest("t"), OpTest("t_copy"), OpTest("T")],
)
def numpy_t(op: Op, self: Value) -> Value:
    """All axes reversed."""
    return permuted(op, self, list(reversed(range(self.rank))))


@aten("aten::mT", "aten::mT.a", rule=like(), complex="parts")
def m_t(op: Op, self: Value) -> Value:
    """The last two axes exchanged."""
    return exchanged(op, self, -2, -1)


@aten(
    "aten::mH",
    "aten::mH.a",
    "aten::adjoint",
    "aten::matrix_H",
    "aten::matrix_H.a",
    rule=like(),
    tests=[OpTest("mH"), OpTest("H")],
)
def adjoint(op: Op, self: Value) -> Value:
    """The last two axes exchanged, complex numbers conjugated."""
    return exchanged(op, self, -2, -1)


@adjoint.on_complex
def _adjoint_complex(op: Op, self: Complex) -> Complex:
    real, imag = (exchanged(op, part, -2, -1) for part in (self.real, self.imag))
    return Complex(real, op.Neg(imag))


@aten(
    "aten::movedim.int",
    "aten::movedim.intlist",
    "aten::moveaxis.int",
    "aten::moveaxis.intlist",
    rule=like(),
    complex="parts",
)
def movedim(
    op: Op,
    self: Value,
    source: int | Sequence[int],
    destination: int | Sequence[int],
) -> Value:
    """Axes moved to new places, the others in their order around them."""
    if self.rank == 0:
        return self
    sources = [source] if isinstance(source, int) else list(source)
    places = [destination] if isinstance(destination, int) else list(destination)
    moved = {
        axis_of(d, self.rank): axis_of(s, self.rank) for s, d in zip(sources, places, strict=True)
    }
    others = [a for a in range(self.rank) if a not in moved.values()]
    order = [moved[i] if i in moved else others.pop(0) for i in range(self.rank)]
    return permuted(op, self, order)
