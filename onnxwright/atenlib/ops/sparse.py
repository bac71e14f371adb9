"""Operators of sparse tensors: ONNX has no sparse layouts, a value stands for all its elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers.constants import cast, full
from onnxwright.atenlib.helpers.reduce import reduce, reduced_axes
from onnxwright.atenlib.helpers.scatter import scatter_nd
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import custom, like
from onnxwright.types.dtypes import DType

_UNTESTED = "OpInfos have no sparse samples; tests/exporter/test_sparse.py runs modules with it"


@aten("aten::to_dense", rule=custom(), untested=_UNTESTED)
def to_dense(
    op: Op, self: Value, dtype: DType | None = None, *, masked_grad: bool | None = None
) -> Value:
    """The same elements, perhaps in another type."""
    del masked_grad
    return _dense(op, self, dtype)


@aten("aten::_to_dense", rule=custom(), untested=_UNTESTED)
def to_dense_of_layout(
    op: Op, self: Value, dtype: DType | None = None, masked_grad: bool | None = None
) -> Value:
    """The same elements, perhaps in another type."""
    del masked_grad
    return _dense(op, self, dtype)


def _dense(op: Op, value: Value, dtype: DType | None) -> Value:
    return value if dtype is None else cast(op, value, dtype)


@aten("aten::sparse_coo_tensor.indices_size", rule=custom(), untested=_UNTESTED)
def sparse_coo_tensor(
    op: Op,
    indices: Value,
    values: Value,
    size: Sequence[Size],
    *,
    dtype: DType | None = None,
    layout: Any = None,
    is_coalesced: bool | None = None,
) -> Any:
    """Zeros, to which the values at each index are added."""
    del layout, is_coalesced
    added = _dense(op, values, dtype)
    return scatter_nd(op, full(op, size, 0, added.onnx_dtype), op.Transpose(indices), added, "add")


@aten(
    "aten::to_sparse",
    "aten::_to_sparse",
    rule=like("self"),
    untested=_UNTESTED,
)
def to_sparse(
    op: Op,
    self: Value,
    *,
    layout: Any = None,
    blocksize: Sequence[Size] | None = None,
    dense_dim: int | None = None,
) -> Value:
    """The same elements."""
    del op, layout, blocksize, dense_dim
    return self


@aten(
    "aten::to_sparse.sparse_dim",
    "aten::_to_sparse.sparse_dim",
    rule=like("self"),
    untested=_UNTESTED,
)
def to_sparse_dims(op: Op, self: Value, sparse_dim: int) -> Value:
    """The same elements."""
    del op, sparse_dim
    return self


@aten(
    "aten::to_sparse_csr",
    "aten::to_sparse_csc",
    "aten::_to_sparse_csr",
    "aten::_to_sparse_csc",
    rule=like("self"),
    untested=_UNTESTED,
)
def to_sparse_compressed(op: Op, self: Value, dense_dim: int | None = None) -> Value:
    """The same elements."""
    del op, dense_dim
    return self


@aten(
    "aten::to_sparse_bsr",
    "aten::to_sparse_bsc",
    "aten::_to_sparse_bsr",
    "aten::_to_sparse_bsc",
    rule=like("self"),
    untested=_UNTESTED,
)
def to_sparse_blocks(
    op: Op, self: Value, blocksize: Sequence[Size], dense_dim: int | None = None
) -> Value:
    """The same elements."""
    del op, blocksize, dense_dim
    return self


@aten("aten::coalesce", "aten::_coalesce", rule=like("self"), untested=_UNTESTED)
def coalesce(op: Op, self: Value) -> Value:
    """The same elements: entries of one index are added up already."""
    del op
    return self


@aten("aten::_sparse_mm", rule=like("sparse"), untested=_UNTESTED)
def sparse_mm(op: Op, sparse: Value, dense: Value) -> Value:
    """The product of two matrices."""
    return algebra.matmul(op, sparse, dense)


@aten("aten::_sparse_sum.dim", rule=like("self"), untested=_UNTESTED)
def sparse_sum_dim(op: Op, self: Value, dim: Sequence[int]) -> Value:
    """The sum over axes."""
    return reduce(op, "ReduceSum", self, reduced_axes(dim, self.rank), False)
