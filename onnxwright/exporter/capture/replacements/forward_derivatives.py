"""Forward derivatives with the sizes of the program.

Torch computes them in C++, where some rules read sizes as integers, which fixes them to the
example.  Arithmetic on tangents of zeros, which are tensors without memory, has kernels here that
keep sizes symbolic; functions with such a rule are written by others without one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes, infer_size
from torch.nn import functional
from torch.overrides import TorchFunctionMode

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


def _joined(tensors: Any, dim: int = 0) -> Any:
    """`cat` as a sum of padded tensors."""
    axis = dim % tensors[0].ndim
    sizes = [x.shape[axis] for x in tensors]
    tangent, before, all_of_them = None, 0, sum(sizes)
    for x, size in zip(tensors, sizes, strict=True):
        ends = [*[0] * (2 * (x.ndim - 1 - axis)), before, all_of_them - before - size]
        part = functional.pad(x, ends)
        tangent = part if tangent is None else tangent + part
        before = before + size
    return tangent


def _normalized(
    input: Any,  # noqa: A002 - torch's name
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
) -> Any:
    """`layer_norm` by its formula."""
    axes = [-n - 1 for n in range(len(normalized_shape))]
    centered = input - input.mean(axes, keepdim=True)
    normal = centered * torch.rsqrt((centered * centered).mean(axes, keepdim=True) + eps)
    normal = normal if weight is None else normal * weight
    return normal if bias is None else normal + bias


def _batch_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,  # noqa: A002 - torch's name
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """`batch_norm` with known statistics by its formula."""
    if training or running_mean is None:
        return functional.batch_norm(
            input, running_mean, running_var, weight, bias, training, momentum, eps
        )
    scale = torch.rsqrt(running_var + eps)
    scale = scale if weight is None else scale * weight
    return _scaled(input, scale, (0 if bias is None else bias) - running_mean * scale)


def _group_norm(
    input: Any,  # noqa: A002 - torch's name
    num_groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
) -> Any:
    """`group_norm` by its formula."""
    rows, channels, *rest = input.shape
    grouped = input.reshape(rows, num_groups, channels // num_groups, *rest)
    normal = _normalized(grouped, grouped.shape[2:], None, None, eps)
    return _scaled(normal.reshape(input.shape), weight, bias)


def _instance_norm(
    input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None,  # noqa: A002 - torch's name
    bias: Any = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """`instance_norm` by its formula."""
    if not use_input_stats:
        return _batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    return _group_norm(input, input.shape[1], weight, bias, eps)


def _scaled(x: Any, scale: Any, shift: Any) -> Any:
    """A scale and a shift of each channel; None for neither."""
    column = [-1, *[1] * (x.ndim - 2)]
    x = x if scale is None else x * scale.view(column)
    return x if shift is None else x + shift.view(column)


_FORMS: dict[Any, Callable[..., Any]] = {
    torch.cat: _joined,
    functional.batch_norm: _batch_norm,
    functional.group_norm: _group_norm,
    functional.instance_norm: _instance_norm,
    functional.layer_norm: _normalized,
    torch.layer_norm: lambda x, shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True: (
        _normalized(x, shape, weight, bias, eps)
    ),
}


class ForwardForms(TorchFunctionMode):  # type: ignore[misc] # torch's own, without types
    """In this context, functions within forward derivatives are those that keep sizes."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The function, or its form."""
        form = _FORMS.get(func)
        if form is not None and any(
            level.key() == torch._C._functorch.TransformType.Jvp
            for level in torch._C._functorch.get_interpreter_stack() or ()
        ):
            func = form
        return func(*args, **(kwargs or {}))


def zero_tangents_symbolic(changes: Changes, model: Any) -> None:
    """Arithmetic on tangents of zeros does not fix sizes."""
    changes.kernels(DispatchKey.ZeroTensor, _KERNELS)
