"""Sparse tensors in a capture: products with dynamic sizes, and constants in compressed layouts.

Torch has no shape rule for products of a sparse and a dense matrix; with fixed sizes it runs the
operator on zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import is_
from typing import Any

import torch
from torch._subclasses.fake_impls import op_implementations_checks
from torch.fx.experimental import proxy_tensor

from onnxwright.exporter.capture.replacements.changes import Changes
from onnxwright.exporter.torch_internals import DispatchKey
from onnxwright.exporter.torch_types import has_no_numbers, is_sparse

aten = torch.ops.aten


def _product(mode: Any, function: Any, x: Any, y: Any) -> Any:
    """The sizes of `x @ y`, of which exactly one is sparse."""
    del mode, function
    if is_sparse(x) == is_sparse(y):
        return NotImplemented  # two sparse ones give a sparse one
    dense = y if is_sparse(x) else x
    torch._check(x.shape[-1] == y.shape[-2])
    return dense.new_empty((*x.shape[:-1], y.shape[-1]))


def _sum(mode: Any, function: Any, bias: Any, x: Any, y: Any, **factors: Any) -> Any:
    """The sizes of `beta * bias + alpha * x @ y`."""
    del factors
    return NotImplemented if is_sparse(bias) else _product(mode, function, x, y)


_RULES: dict[Any, Callable[..., Any]] = {
    aten.mm.default: _product,
    aten.bmm.default: _product,
    aten.addmm.default: _sum,
    aten._sparse_addmm.default: _sum,
}


def _matrix_product(x: Any, y: Any) -> Any:
    """`torch.sparse.mm`, which reads sizes as integers in C++."""
    return aten._sparse_sparse_matmul(x, y) if is_sparse(x) and is_sparse(y) else aten.mm(x, y)


def sparse_products_sized(changes: Changes, model: Any) -> None:
    """Products of a sparse and a dense matrix keep sizes symbolic."""
    added = [(partial(is_, operator), rule) for operator, rule in _RULES.items()]
    changes.appended(op_implementations_checks, added)
    composite = {aten._sparse_mm.default: _matrix_product}
    changes.kernels(DispatchKey.CompositeImplicitAutograd, composite)


def sparse_constants(changes: Changes, model: Any) -> None:
    """A constant in a compressed layout has no strides, as one in coordinates has none."""
    own = proxy_tensor.extract_val

    def value_of(value: Any, *args: Any, **kwargs: Any) -> Any:
        is_constant = is_sparse(value) and not has_no_numbers(value)
        return None if is_constant else own(value, *args, **kwargs)

    changes.attribute(proxy_tensor, "extract_val", value_of)
