"""Forward derivatives with the sizes of the program.

Torch computes them in C++, where the kernels of tangents of zeros, which are tensors without
memory, read sizes as integers, which fixes them to the example.  Those here keep sizes symbolic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes, infer_size

from onnxwright.exporter.capture.replacements.changes import Changes
from onnxwright.exporter.torch_internals import DispatchKey

aten = torch.ops.aten


def _dtype(
    x: Any,
    y: Any,
    kind: ELEMENTWISE_TYPE_PROMOTION_KIND = ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT,
) -> torch.dtype:
    """The element type of a result; `torch.result_type` would ask for sizes."""
    return elementwise_dtypes(x, y, type_promotion_kind=kind)[1]


def _zeros(x: Any, y: Any, dtype: torch.dtype) -> Any:
    """The tangent of zeros of what two operands broadcast to."""
    sizes = torch.broadcast_shapes(x.shape, y.shape)
    return torch._efficientzerotensor(sizes, dtype=dtype, device=x.device)


def _sum(x: Any, y: Any, alpha: Any = 1) -> Any:
    """`x + alpha * y`, one of them zeros."""
    dtype = _dtype(x, y)
    if x._is_zerotensor() and y._is_zerotensor():
        return _zeros(x, y, dtype)
    sizes = torch.broadcast_shapes(x.shape, y.shape)
    rest = (y if alpha == 1 else y * alpha) if x._is_zerotensor() else x
    return rest.to(dtype).expand(sizes)


def _difference(x: Any, y: Any, alpha: Any = 1) -> Any:
    return _sum(x, y, alpha=-alpha)


def _product(x: Any, y: Any) -> Any:
    return _zeros(x, y, _dtype(x, y))


def _quotient(x: Any, y: Any) -> Any:
    """`x / y`; division by zeros gives infinity or NaN."""
    dtype = _dtype(x, y, ELEMENTWISE_TYPE_PROMOTION_KIND.INT_TO_FLOAT)
    if not y._is_zerotensor():
        return _zeros(x, y, dtype)
    top = torch.zeros(x.shape, dtype=dtype) if x._is_zerotensor() else x
    return top / torch.zeros(y.shape, dtype=dtype)


def _viewed(x: Any, sizes: Any) -> Any:
    inferred = infer_size(sizes, x.numel())
    return torch._efficientzerotensor(inferred, dtype=x.dtype, device=x.device)


_KERNELS: dict[Any, Callable[..., Any]] = {
    aten.add.Tensor: _sum,
    aten.sub.Tensor: _difference,
    aten.mul.Tensor: _product,
    aten.div.Tensor: _quotient,
    aten.view.default: _viewed,
}


def zero_tangents_symbolic(changes: Changes, model: Any) -> None:
    """Arithmetic on tangents of zeros does not fix sizes."""
    changes.kernels(DispatchKey.ZeroTensor, _KERNELS)
