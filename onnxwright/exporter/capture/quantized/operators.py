"""Functions of torch on quantized tensors, by what they do to the numbers.

Some keep every number (shapes, `relu`, `max_pool2d`), those of `torch.ops.quantized` say how their
result is quantized, and all others round to the scheme of their input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from onnxwright.exporter.capture.quantized.packed import (
    Packed,
    PackedRows,
    gru_cell,
    lstm_cell,
    recurrent,
    rnn_cell,
    round_dynamically,
)
from onnxwright.exporter.capture.quantized.tensors import (
    DISPATCH,
    Quantized,
    Scheme,
    integers,
    quantize,
)
from onnxwright.exporter.capture.session.call_handlers import CallHandler
from onnxwright.exporter.torch_internals import pytree

_SHAPING = (
    "flatten reshape view permute transpose t squeeze unsqueeze contiguous clone detach chunk "
    "split narrow select index_select unbind expand expand_as repeat stack unflatten movedim "
    "swapaxes flip roll pixel_shuffle pixel_unshuffle channel_shuffle cpu to"
)
_CHOOSING = (
    "relu relu_ max_pool1d max_pool2d max_pool3d dropout dropout1d dropout2d dropout3d "
    "alpha_dropout feature_dropout"
)
_KEEPING = frozenset(f"{_SHAPING} {_CHOOSING}".split())
"""Functions whose results are numbers of their input, so that nothing is rounded again."""

# Functions whose result has a scheme of its own: the scale, and where the range begins.
_FIXED: dict[str, tuple[float, float]] = {
    "sigmoid": (1 / 256, 0.0),
    "sigmoid_": (1 / 256, 0.0),
    "hardsigmoid": (1 / 256, 0.0),
    "hardsigmoid_": (1 / 256, 0.0),
    "tanh": (2 / 256, -1.0),
    "tanh_": (2 / 256, -1.0),
}


def _numbers(x: Any) -> Any:
    return x.values if isinstance(x, Quantized) else x


def _name(func: Any) -> str:
    """The name of a function; those that decide by a flag have one for each side."""
    name: str = getattr(func, "__name__", "")
    return name if name != "fn" else ""


def apply(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Call a function of torch, where arguments may stand for quantized tensors.

    Args:
        func: the function, as `__torch_function__` is given it.
        args, kwargs: its arguments.

    Returns:
        Its result; tensors that would be quantized are `Quantized`.
    """
    name = getattr(func, "_qualified_op_name", None)
    rule = _RULES.get(name or func)
    if rule is not None:
        return rule(*args, **kwargs)
    tensors = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, Quantized)]
    if not tensors:
        return func(*args, **kwargs)
    plain_args, plain_kwargs = pytree.tree_map(_numbers, (args, kwargs))
    result = func(*plain_args, **plain_kwargs)
    called, scheme = _name(func), tensors[0].scheme
    if called in _FIXED:
        scale, least = _FIXED[called]
        first = -128 if scheme.dtype is torch.qint8 else 0
        scheme = Scheme(scale, first - round(least / scale), scheme.dtype)

    def wrapped(x: Any) -> Any:
        if not isinstance(x, torch.Tensor) or not x.is_floating_point():
            return x
        return Quantized(x, scheme) if called in _KEEPING else quantize(x, scheme)

    wrapped_result = pytree.tree_map(wrapped, result)
    if (
        called.endswith("_")
        and isinstance(args[0], Quantized)
        and isinstance(wrapped_result, Quantized)
    ):
        args[0].values, args[0].scheme, args[0].whole = (
            wrapped_result.values,
            wrapped_result.scheme,
            wrapped_result.whole,
        )
        return args[0]
    return wrapped_result


DISPATCH.append(apply)


class QuantizedTensors(CallHandler):
    """Functions that make or take quantized tensors work on `Quantized`."""

    def is_for_all(self) -> bool:
        """True: operators are known by their names."""
        return True

    def on_call(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Call the function, or its rule."""
        return apply(func, args, kwargs)


# -- making and reading --------------------------------------------------------------------------


def _quantize_per_tensor(
    input: Any,  # noqa: A002 - torch's name
    scale: Any,
    zero_point: Any,
    dtype: torch.dtype,
) -> Quantized:
    return quantize(input, Scheme(scale, zero_point, dtype))


def _dequantize(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(_dequantize(one) for one in x)
    return _numbers(x)


def _own_scheme(function: Callable[..., Any]) -> Callable[..., Any]:
    """A rule for an operator whose last arguments are scale and zero point of its result."""

    def rule(*args: Any, **kwargs: Any) -> Quantized:
        positional, named = list(args), dict(kwargs)
        zero = named.pop("output_zero_point", named.pop("zero_point", None))
        zero = positional.pop() if zero is None else zero
        scale = named.pop("output_scale", named.pop("scale", None))
        scale = positional.pop() if scale is None else scale
        kind = positional[0].dtype if isinstance(positional[0], Quantized) else torch.quint8
        plain, plain_named = pytree.tree_map(_numbers, (positional, named))
        return quantize(function(*plain, **plain_named), Scheme(scale, zero, kind))

    return rule


def _with_relu(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: torch.relu(function(*args, **kwargs))


def _same_scheme(function: Callable[..., Any]) -> Callable[..., Any]:
    """A rule for an operator whose result is quantized as its input."""

    def rule(x: Quantized, *args: Any, **kwargs: Any) -> Quantized:
        return quantize(function(x.values, *args, **kwargs), x.scheme)

    return rule


# -- products --------------------------------------------------------------------------------------


def _linear(x: Any, packed: Packed) -> Any:
    return functional.linear(x, packed.weight(), packed.bias())


def _conv(x: Any, packed: Packed) -> Any:
    return packed.convolution(x)


def _dynamic(function: Callable[..., Any]) -> Callable[..., Any]:
    def rule(x: Any, packed: Packed, reduce_range: bool = False) -> Any:
        return function(round_dynamically(x, reduce_range=reduce_range), packed)

    return rule


def _half(x: Any, packed: Packed) -> Any:
    return _linear(x, packed)


# -- normalizations and activations ----------------------------------------------------------------


def _batch_norm(x: Any, weight: Any, bias: Any, mean: Any, var: Any, eps: float) -> Any:
    return functional.batch_norm(x, mean, var, weight, bias, False, 0.0, eps)


def _group_norm(x: Any, groups: int, weight: Any, bias: Any, eps: float) -> Any:
    return functional.group_norm(x, groups, weight, bias, eps)


def _layer_norm(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    return functional.layer_norm(x, shape, weight, bias, eps)


def _instance_norm(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    return functional.instance_norm(x, weight=weight, bias=bias, eps=eps)


def _leaky_relu(
    x: Any, slope: float, inplace: bool, output_scale: Any, output_zero_point: Any
) -> Any:
    del inplace
    scheme = Scheme(output_scale, output_zero_point, x.dtype)
    return quantize(functional.leaky_relu(x.values, slope), scheme)


def _elu(x: Any, output_scale: Any, output_zero_point: Any, alpha: float = 1.0) -> Any:
    scheme = Scheme(output_scale, output_zero_point, x.dtype)
    return quantize(functional.elu(x.values, alpha), scheme)


def _cat(
    tensors: Any, dim: int = 0, scale: Any = None, zero_point: Any = None, *, relu: bool = False
) -> Any:
    joined = torch.cat([x.values for x in tensors], dim)
    first = tensors[0].scheme
    scheme = first if scale is None else Scheme(scale, zero_point, first.dtype)
    return quantize(torch.relu(joined) if relu else joined, scheme)


def _scalar(function: Callable[..., Any], *, relu: bool = False) -> Callable[..., Any]:
    """A sum or product with a number: torch moves the scheme, so that no integer changes.

    Source: aten/src/ATen/native/quantized/cpu/qmul.cpp and qadd.cpp.
    """

    def rule(x: Quantized, number: Any) -> Quantized:
        values = function(x.values, number)
        step, zero = x.scheme.scale, x.scheme.zero_point
        if function is torch.mul:
            low, high = (0, 255) if x.dtype is torch.quint8 else (-128, 127)
            if number > 0:
                scheme = Scheme(step * number, zero, x.dtype)
            elif number == 0:
                scheme = Scheme(1.0, 0, x.dtype)
            else:
                scheme = Scheme(step * -number, high - (zero - low), x.dtype)
        else:
            scheme = _shifted(x.scheme, number)
        return quantize(torch.relu(values) if relu else values, scheme)

    return rule


def _sum_or_product(function: Callable[..., Any], *, relu: bool = False) -> Callable[..., Any]:
    """A rule for `quantized.add` and `mul`, whose second operand may be a number."""
    whole = _own_scheme(_with_relu(function) if relu else function)
    single = _scalar(function, relu=relu)

    def rule(a: Any, b: Any, *args: Any, **kwargs: Any) -> Quantized:
        if isinstance(a, Quantized) and isinstance(b, Quantized):
            return whole(a, b, *args, **kwargs)  # type: ignore[no-any-return]
        return single(a, b) if isinstance(a, Quantized) else single(b, a)  # type: ignore[no-any-return]

    return rule


def _shifted(scheme: Scheme, number: float) -> Scheme:
    """The scheme of `x + number`.  Source: aten/src/ATen/native/quantized/cpu/qadd.cpp."""
    low, high = (0, 255) if scheme.dtype is torch.quint8 else (-128, 127)
    step, zero = scheme.scale, scheme.zero_point
    moved = round(number / step)
    if low > zero - moved:
        wide = float(high - low + zero - moved - low - (zero - moved - low))
        return Scheme((high - zero + moved) / wide * step, low, scheme.dtype)
    if high < zero - moved:
        wide = float(high - low)
        return Scheme((zero - moved - low) / wide * step, high, scheme.dtype)
    return Scheme(step, zero - moved, scheme.dtype)


# -- recurrent networks and embeddings -------------------------------------------------------------


def _embedding(packed: PackedRows, indices: Any, *args: Any, **kwargs: Any) -> Any:
    return packed.rows(indices)


def _embedding_bag(
    packed: PackedRows,
    indices: Any,
    offsets: Any = None,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    pruned_weights: bool = False,
    per_sample_weights: Any = None,
    compressed_indices_mapping: Any = None,
    include_last_offset: bool = False,
) -> Any:
    return functional.embedding_bag(
        indices,
        packed.table(),
        offsets,
        mode=("sum", "mean", "max")[mode],
        per_sample_weights=per_sample_weights,
        include_last_offset=include_last_offset,
    )


_CONVOLUTIONS = tuple(f"conv{n}d" for n in (1, 2, 3))
_T = torch.Tensor

_RULES: dict[Any, Callable[..., Any]] = {
    torch.quantize_per_tensor: _quantize_per_tensor,
    torch.dequantize: _dequantize,
    _T.dequantize: _dequantize,
    _T.int_repr: integers,
    torch.int_repr: integers,
    _T.q_scale: lambda x: x.scheme.scale,
    _T.q_zero_point: lambda x: x.scheme.zero_point,
    _T.qscheme: lambda x: torch.per_tensor_affine,
    torch.cat: lambda tensors, dim=0, **kwargs: (
        _cat(tensors, dim)
        if isinstance(tensors[0], Quantized)
        else torch.cat(tensors, dim, **kwargs)
    ),
    "quantized::linear": _own_scheme(_linear),
    "quantized::linear_relu": _own_scheme(_with_relu(_linear)),
    "quantized::linear_dynamic": _dynamic(_linear),
    "quantized::linear_relu_dynamic": _dynamic(_with_relu(_linear)),
    "quantized::linear_dynamic_fp16": _half,
    "quantized::linear_relu_dynamic_fp16": _with_relu(_half),
    **{f"quantized::{name}": _own_scheme(_conv) for name in _CONVOLUTIONS},
    **{f"quantized::{name}_relu": _own_scheme(_with_relu(_conv)) for name in _CONVOLUTIONS},
    **{f"quantized::{name}_dynamic": _dynamic(_conv) for name in _CONVOLUTIONS},
    **{f"quantized::conv_transpose{n}d": _own_scheme(_conv) for n in (1, 2, 3)},
    **{f"quantized::conv_transpose{n}d_dynamic": _dynamic(_conv) for n in (1, 2, 3)},
    "quantized::add": _sum_or_product(torch.add),
    "quantized::add_relu": _sum_or_product(torch.add, relu=True),
    "quantized::mul": _sum_or_product(torch.mul),
    "quantized::mul_relu": _sum_or_product(torch.mul, relu=True),
    "quantized::matmul": _own_scheme(torch.matmul),
    "quantized::add_scalar": _scalar(torch.add),
    "quantized::add_scalar_relu": _scalar(torch.add, relu=True),
    "quantized::mul_scalar": _scalar(torch.mul),
    "quantized::mul_scalar_relu": _scalar(torch.mul, relu=True),
    "quantized::cat": lambda tensors, dim, scale=None, zero_point=None: _cat(
        tensors, dim, scale, zero_point
    ),
    "quantized::cat_relu": lambda tensors, dim, scale=None, zero_point=None: _cat(
        tensors, dim, scale, zero_point, relu=True
    ),
    **{f"quantized::batch_norm{n}": _own_scheme(_batch_norm) for n in ("", "1d", "2d", "3d")},
    **{
        f"quantized::batch_norm{n}_relu": _own_scheme(_with_relu(_batch_norm))
        for n in ("1d", "2d", "3d")
    },
    "quantized::group_norm": _own_scheme(_group_norm),
    "quantized::layer_norm": _own_scheme(_layer_norm),
    "quantized::instance_norm": _own_scheme(_instance_norm),
    "quantized::hardswish": _own_scheme(functional.hardswish),
    "quantized::sigmoid": _own_scheme(torch.sigmoid),
    "quantized::softmax": _own_scheme(functional.softmax),
    "quantized::leaky_relu": _leaky_relu,
    "quantized::elu": _elu,
    "quantized::celu": _elu,
    "quantized::prelu": _own_scheme(functional.prelu),
    "quantized::relu6": lambda x, inplace=False: _same_scheme(functional.relu6)(x),
    "quantized::dropout": lambda x, *args, **kwargs: x,
    "quantized::embedding_byte": _embedding,
    "quantized::embedding_4bit": _embedding,
    "quantized::embedding_bag_byte": _embedding_bag,
    "quantized::embedding_bag_4bit": _embedding_bag,
    "aten::quantized_lstm": recurrent("lstm"),
    "aten::quantized_gru": recurrent("gru"),
    "quantized::quantized_lstm_cell_dynamic": lstm_cell,
    "quantized::quantized_gru_cell_dynamic": gru_cell,
    "quantized::quantized_rnn_tanh_cell_dynamic": rnn_cell(torch.tanh),
    "quantized::quantized_rnn_relu_cell_dynamic": rnn_cell(torch.relu),
}
"""Functions, or full names of operators -> what they do."""
