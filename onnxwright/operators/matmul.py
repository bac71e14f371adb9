"""Matrix products: MatMul, Gemm, Einsum and their quantized forms."""

from __future__ import annotations

import math

from onnxwright.operators.attribute_faults import equation_fault, equation_ranks
from onnxwright.operators.broadcasting import broadcast, broadcast_to
from onnxwright.operators.flops import Sized, UnknownSizeError
from onnxwright.operators.op_call import ContradictionError, OpCall, UnknownError, listed, same
from onnxwright.operators.record import ALWAYS, OperatorFacts, Unasked
from onnxwright.types.shapes import Dim, Shape


def _matmul_shape(call: OpCall) -> Shape:
    return _product(call.shape(0), call.shape(1))


def _quantized_matmul_shape(call: OpCall) -> Shape:
    """Source: ONNX QLinearMatMul: each matrix is followed by its scale and zero point."""
    return _product(call.shape(0), call.shape(3))


def _product(a: Shape, b: Shape) -> Shape:
    if not a or not b:
        raise ContradictionError("tensors that have axes", "a scalar")
    left = (1, *a) if len(a) == 1 else a
    right = (*b, 1) if len(b) == 1 else b
    same(left[-1], right[-2], "{} rows in the second matrix, one for each column of the first")
    shape = broadcast(left[:-2], right[:-2]) if len(left) > 2 or len(right) > 2 else ()
    rows = () if len(a) == 1 else (left[-2],)
    columns = () if len(b) == 1 else (right[-1],)
    return (*shape, *rows, *columns)


def _gemm_shape(call: OpCall) -> Shape:
    a, b = call.shape(0), call.shape(1)
    if len(a) != 2 or len(b) != 2:
        raise ContradictionError("two matrices", f"{listed(a)} and {listed(b)}")
    if call.attr("transA"):
        a = a[::-1]
    if call.attr("transB"):
        b = b[::-1]
    same(a[1], b[0], "{} rows in `B`, one for each column of `A`")
    if call.has(2) and call.since >= 7:
        broadcast_to(call.shape(2), (a[0], b[1]), "C")
    return (a[0], b[1])


def _einsum_shape(call: OpCall) -> Shape:
    equation = call.attr("equation")
    if equation is None:
        raise UnknownError
    text = (equation.decode() if isinstance(equation, bytes) else equation).replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(call.types):
        raise ContradictionError(f"{len(terms)} inputs for {text!r}", len(call.types))
    sizes: dict[str, Dim] = {}
    for place, term in enumerate(terms):
        shape = call.shape(place)
        if "." in term:
            raise UnknownError
        if len(term) != len(shape):
            raise ContradictionError(f"{len(term)} axes for {term!r}", listed(shape))
        for letter, size in zip(term, shape):
            letter_size = sizes.get(letter, 1)
            expected = f"axes {letter!r} of one size"
            sizes[letter] = (
                size
                if letter_size == 1
                else letter_size
                if size == 1
                else same(letter_size, size, expected + " ({})")
            )
    if not arrow:
        right = "".join(sorted(x for x in sizes if left.count(x) == 1))
    if any(letter not in sizes for letter in right):
        raise ContradictionError(f"letters of the inputs after the arrow of {text!r}", repr(right))
    return tuple(sizes[letter] for letter in right)


def _matmul_flops(n: Sized) -> int:
    """2 * (elements of the result) * (length of the dot products)."""
    return 2 * math.prod(n.output()) * n.input(0)[-1]


def _gemm_flops(n: Sized) -> int:
    """2MNK, MN for adding C, and MN for each of alpha and beta that is not one."""
    inner = n.input(0)[0 if n.attribute("transA", 0) else 1]
    added = n.has(2)
    more = added + (n.attribute("alpha", 1.0) != 1) + (added and n.attribute("beta", 1.0) != 1)
    return math.prod(n.output()) * int(2 * inner + more)


def _einsum_flops(n: Sized) -> int:
    """The product of the sizes of every letter, for each multiplication and for the sum."""
    equation = n.attribute("equation", b"").decode().replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    sizes: dict[str, int] = {}
    for index, term in enumerate(terms):
        shape = n.input(index)
        before, dots, after = term.partition("...")
        free = len(shape) - len(before) - len(after)
        if free < 0 or (free and not dots):
            raise UnknownSizeError
        # Dimensions of an ellipsis are counted from the right; 0 is the last.
        names = [*before, *(str(free - 1 - k) for k in range(free)), *after]
        for letter, size in zip(names, shape, strict=True):
            sizes[letter] = max(sizes.get(letter, 1), size)
    if not arrow:
        right = "".join(x for x in sizes if left.count(x) == 1)
    summed = any(letter not in right for letter in sizes if letter.isalpha())
    return (len(terms) - 1 + summed) * math.prod(sizes.values())


FACTS = (
    OperatorFacts("Det"),
    OperatorFacts(
        "Einsum",
        heavy=True,
        attribute_fault=equation_fault,
        least_ranks=equation_ranks,
        reads_unasked=Unasked(elements=True),
        infer=_einsum_shape,
        flops=_einsum_flops,
    ),
    OperatorFacts(
        "Gemm", modular=True, heavy=True, infer=_gemm_shape, folding=ALWAYS, flops=_gemm_flops
    ),
    OperatorFacts(
        "MatMul",
        modular=True,
        heavy=True,
        symbol="@",
        infer=_matmul_shape,
        folding=ALWAYS,
        flops=_matmul_flops,
    ),
    OperatorFacts("MatMulInteger", heavy=True, infer=_matmul_shape, flops=_matmul_flops),
    OperatorFacts("QLinearMatMul", heavy=True, infer=_quantized_matmul_shape, flops=_matmul_flops),
)
