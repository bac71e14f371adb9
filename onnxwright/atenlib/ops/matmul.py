"""Matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers.constants import cast
from onnxwright.atenlib.helpers.sizes import axis_of
from onnxwright.atenlib.op import TABLE, aten
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Number, Op, Value
from onnxwright.atenlib.rules import custom, elementwise, like
from onnxwright.types.dtypes import DType

# Products are rounded once in torch and after each step here.
_HALF = {
    "float16": Tol(3e-3, 5e-3),
    "bfloat16": Tol(3e-2, 3e-2),
    # Sums of products near 10, added up in another order.
    "float32": Tol(1.3e-6, 3e-5),
    "complex64": Tol(1e-5, 6e-5),
}

# torch rounds after each matrix of the batch, at sums near 60; we round once.
_LONG_SUM = {**_HALF, "float16": Tol(1e-2, 8e-2), "bfloat16": Tol(3e-2, 0.8)}


@aten(
    "aten::mm",
    "aten::bmm",
    rule=like("self"),
    tests=[OpTest(name, tol=_HALF) for name in ("mm", "bmm", "bmm:triton_optimized")],
)
def mm(op: Op, self: Value, mat2: Value) -> Value:
    """The product of two matrices, or of two batches of them."""
    return algebra.matmul(op, self, mat2)


@aten(
    "aten::mm.dtype",
    "aten::bmm.dtype",
    rule=custom(lambda a: a["out_dtype"]),
    untested="torch has it on CUDA only",
)
def mm_dtype(op: Op, self: Value, mat2: Value, out_dtype: DType) -> Value:
    """The product of matrices, computed and given in a wider type."""
    return algebra.matmul(op, cast(op, self, out_dtype), cast(op, mat2, out_dtype))


@aten(
    "aten::matmul",
    "aten::linalg_matmul",
    rule=like("self"),
    tests=[OpTest("matmul", tol=_HALF), OpTest("__rmatmul__", tol=_HALF)],
)
def matmul(op: Op, self: Value, other: Value) -> Value:
    """The product of matrices, vectors and batches of them, as numpy's matmul."""
    return algebra.matmul(op, self, other)


@aten("aten::mv", rule=like("self"), tests=[OpTest("mv", tol=_HALF)])
def mv(op: Op, self: Value, vec: Value) -> Value:
    """A matrix times a vector."""
    return algebra.matmul(op, self, vec)


@aten("aten::dot", rule=like("self"), tests=[OpTest("dot", tol=_HALF)])
def dot(op: Op, self: Value, tensor: Value) -> Value:
    """The sum of the products of two vectors."""
    return algebra.matmul(op, self, tensor)


@aten("aten::vdot", rule=like("self"), tests=[OpTest("vdot", tol=_HALF)])
def vdot(op: Op, self: Value, other: Value) -> Value:
    """As `dot`, with the conjugate of the first vector."""
    return algebra.matmul(op, algebra.conj(op, self), other)


@aten("aten::inner", rule=like("self"), tests=[OpTest("inner", tol=_HALF)])
def inner(op: Op, self: Value, other: Value) -> Value:
    """The sum of products over the last axes."""
    if self.rank == 0 or other.rank == 0:
        return algebra.mul(op, self, other)
    if other.rank == 1:
        return algebra.matmul(op, self, other)
    if other.rank == 2:
        return algebra.matmul(op, self, algebra.transpose(op, other))
    return _tensordot(op, self, other, [self.rank - 1], [other.rank - 1])


@aten("aten::outer", "aten::ger", rule=elementwise(("self", "vec2")))
def outer(op: Op, self: Value, vec2: Value) -> Value:
    """Every product of an element of one vector with one of another."""
    column = algebra.unsqueeze(op, self, [1])
    return _and(op, column, vec2) if _is_bool(self) else algebra.mul(op, column, vec2)


@aten("aten::linear", rule=like("input"), tests=[OpTest("nn.functional.linear", tol=_HALF)])
def linear(op: Op, input: Value, weight: Value, bias: Value | None = None) -> Value:
    """`input @ weight.T + bias`."""
    if _gemm_fits(input) and input.rank == 2 and weight.rank == 2 and bias is not None:
        return op.Gemm(input, weight, bias, transB=1)
    if weight.rank == 2:
        weight = algebra.transpose(op, weight)
    result = algebra.matmul(op, input, weight)
    return result if bias is None else algebra.add(op, result, algebra.widen_small(op, bias))


@aten(
    "aten::addmm",
    "aten::_sparse_addmm",
    rule=like("mat1"),
    tests=[OpTest("addmm", tol=_HALF), OpTest("addmm:decomposed", tol=_HALF)],
)
def addmm(
    op: Op, self: Value, mat1: Value, mat2: Value, *, beta: Number = 1, alpha: Number = 1
) -> Any:
    """`beta * self + alpha * mat1 @ mat2`; with a beta of 0 `self` is not looked at."""
    single = _is_single(alpha) and _is_single(beta)
    exact = single or mat1.onnx_dtype is not DType.DOUBLE
    # ONNX Runtime's Gemm forgets beta where the inner size is 0.
    if _gemm_fits(mat1) and exact and mat1.shape[1] != 0:
        added = () if beta == 0 else (self,)
        return op.Gemm(mat1, mat2, *added, alpha=float(alpha), beta=float(beta))
    return _added(op, self, algebra.matmul(op, mat1, mat2), beta, alpha)


@aten(
    "aten::addmm.dtype",
    rule=custom(lambda a: a["out_dtype"]),
    untested="torch has it on CUDA only",
)
def addmm_dtype(
    op: Op,
    self: Value,
    mat1: Value,
    mat2: Value,
    out_dtype: DType,
    *,
    beta: Number = 1,
    alpha: Number = 1,
) -> Any:
    """As `addmm`, computed and given in a wider type."""
    self, mat1, mat2 = (cast(op, x, out_dtype) for x in (self, mat1, mat2))
    return addmm.body(op, self, mat1, mat2, beta=beta, alpha=alpha)


@aten("aten::_addmm_activation", rule=like("mat1"), untested="torch has no OpInfo for it")
def addmm_activation(
    op: Op,
    self: Value,
    mat1: Value,
    mat2: Value,
    *,
    beta: Number = 1,
    alpha: Number = 1,
    use_gelu: bool = False,
) -> Value:
    """As `addmm`, then relu, or gelu."""
    x = addmm.body(op, self, mat1, mat2, beta=beta, alpha=alpha)
    return TABLE["aten::gelu"](op, x) if use_gelu else op.Relu(x)


@aten("aten::addmv", rule=like("mat"), tests=[OpTest("addmv", tol=_HALF)])
def addmv(
    op: Op, self: Value, mat: Value, vec: Value, *, beta: Number = 1, alpha: Number = 1
) -> Any:
    """`beta * self + alpha * mat @ vec`."""
    return _added(op, self, algebra.matmul(op, mat, vec), beta, alpha)


@aten("aten::addbmm", rule=like("batch1"), tests=[OpTest("addbmm", tol=_LONG_SUM)])
def addbmm(
    op: Op, self: Value, batch1: Value, batch2: Value, *, beta: Number = 1, alpha: Number = 1
) -> Any:
    """`beta * self + alpha * (the sum of the products of the batches)`."""
    summed = algebra.reduce_sum(op, algebra.matmul(op, batch1, batch2), [0])
    return _added(op, self, summed, beta, alpha)


@aten("aten::baddbmm", rule=like("batch1"), tests=[OpTest("baddbmm", tol=_HALF)])
def baddbmm(
    op: Op, self: Value, batch1: Value, batch2: Value, *, beta: Number = 1, alpha: Number = 1
) -> Any:
    """`beta * self + alpha * batch1 @ batch2`."""
    return _added(op, self, algebra.matmul(op, batch1, batch2), beta, alpha)


@aten(
    "aten::baddbmm.dtype",
    rule=custom(lambda a: a["out_dtype"]),
    untested="torch has it on CUDA only",
)
def baddbmm_dtype(
    op: Op,
    self: Value,
    batch1: Value,
    batch2: Value,
    out_dtype: DType,
    *,
    beta: Number = 1,
    alpha: Number = 1,
) -> Any:
    """As `baddbmm`, computed and given in a wider type."""
    self, batch1, batch2 = (cast(op, x, out_dtype) for x in (self, batch1, batch2))
    return _added(op, self, algebra.matmul(op, batch1, batch2), beta, alpha)


@aten(
    "aten::addr",
    rule=elementwise(("self", "vec1", "vec2")),
    tests=[OpTest("addr", tol=_HALF)],
)
def addr(
    op: Op, self: Value, vec1: Value, vec2: Value, *, beta: Number = 1, alpha: Number = 1
) -> Any:
    """`beta * self + alpha * outer(vec1, vec2)`; for booleans and / or."""
    column = algebra.unsqueeze(op, vec1, [1])
    if _is_bool(self):
        product = op.And(_and(op, column, vec2), bool(alpha))
        return product if not beta else op.Or(self, product)
    return _added(op, self, algebra.mul(op, column, vec2), beta, alpha)


@aten("aten::_int_mm", rule=custom(lambda _: DType.INT32), untested="torch has no OpInfo for it")
def int_mm(op: Op, self: Value, mat2: Value) -> Value:
    """The product of two INT8 matrices in INT32."""
    return op.MatMulInteger(self, mat2)


def _added(op: Op, self: Value, product: Any, beta: Number, alpha: Number) -> Any:
    """`beta * self + alpha * product`."""
    product = algebra.scale(op, algebra.widen_small(op, product), alpha)
    if beta == 0:
        # The shape of the product is that of the result: torch lets only `self` be broadcast.
        return product
    return algebra.add(op, algebra.scale(op, algebra.widen_small(op, self), beta), product)


def _and(op: Op, a: Value, b: Value) -> Value:
    return op.And(a, b)


def _is_bool(x: Value) -> bool:
    return bool(x.onnx_dtype.is_bool)


def _gemm_fits(x: Value) -> bool:
    return not isinstance(x, Complex) and x.onnx_dtype.is_float


def _is_single(x: complex) -> bool:
    """Whether a number is exact in FLOAT, the type of Gemm's attributes."""
    return isinstance(x, (bool, int, float)) and float(np.float32(x)) == x


def _tensordot(op: Op, a: Value, b: Value, dims_a: list[int], dims_b: list[int]) -> Value:
    letters = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    of_a = [next(letters) for _ in range(a.rank)]
    of_b = [next(letters) for _ in range(b.rank)]
    for i, j in zip(dims_a, dims_b, strict=True):
        of_b[j] = of_a[i]
    kept = [c for n, c in enumerate(of_a) if n not in dims_a]
    kept += [c for n, c in enumerate(of_b) if n not in dims_b]
    return algebra.einsum(op, f"{''.join(of_a)},{''.join(of_b)}->{''.join(kept)}", a, b)


@aten("aten::tensordot", rule=like("self"), tests=[OpTest("tensordot", tol=_HALF)])
def tensordot(
    op: Op, self: Value, other: Value, dims_self: list[int], dims_other: list[int]
) -> Value:
    """The sum of products over pairs of axes; where one of a pair has size one, it is repeated."""
    first = [axis_of(d, self.rank) for d in dims_self]
    second = [axis_of(d, other.rank) for d in dims_other]
    # The elements of a repeated axis have one partner: the other side is summed before.
    alone_self = [i for i, j in zip(first, second, strict=True) if _one_sided(self, i, other, j)]
    alone_other = [j for i, j in zip(first, second, strict=True) if _one_sided(other, j, self, i)]
    if alone_self:
        self = algebra.reduce_sum(op, algebra.widen_small(op, self), alone_self, keepdims=True)
    if alone_other:
        other = algebra.reduce_sum(op, algebra.widen_small(op, other), alone_other, keepdims=True)
    return _tensordot(op, self, other, first, second)


def _one_sided(x: Value, i: int, y: Value, j: int) -> bool:
    return bool(x.shape[i] != 1 and y.shape[j] == 1)


for _function in (
    mm, mm_dtype, matmul, mv, dot, vdot, inner, outer, linear, addmm, addmv, addbmm, baddbmm,
    addr, tensordot,
):  # fmt: skip
    # The bodies are written over real and complex arithmetic alike.
    _function.on_complex(_function.body)
