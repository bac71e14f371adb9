"""Operators of ONNX Runtime's domain com.microsoft in numpy, for the reference evaluator.

These are the operators that `optimize` and `quantize_weights` write into models.  Half precision is
computed in single precision and rounded once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onnxwright.eager.contrib_weights import gather_block_quantized, matmul_nbits
from onnxwright.eager.reference_calls import reference_results
from onnxwright.opset.opsets import Opset

Array = np.ndarray[Any, Any]
Kernel = Callable[..., tuple[Any, ...]]

DOMAIN = "com.microsoft"


def _wide(*inputs: Array | None) -> list[Any]:
    """Inputs of half precision in single precision."""
    return [x.astype(np.float32) if x is not None and x.itemsize == 2 else x for x in inputs]


def _erf(x: Array) -> Array:
    found: Array = np.vectorize(math.erf, otypes=[np.float64])(x.astype(np.float64))
    return found


def _sigmoid(x: Array) -> Array:
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


# Activation -> its function of a value and of its parameters, and what those are if not given.
_ACTIVATIONS: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "Relu": (lambda x: np.maximum(x, 0), ()),
    "Tanh": (np.tanh, ()),
    "Sigmoid": (_sigmoid, ()),
    "Softplus": (lambda x: np.logaddexp(x, np.zeros((), x.dtype)), ()),
    "Softsign": (lambda x: x / (1 + np.abs(x)), ()),
    "LeakyRelu": (lambda x, a: np.where(x < 0, a * x, x), (0.01,)),
    "Elu": (lambda x, a: np.where(x < 0, a * np.expm1(np.minimum(x, 0)), x), (1.0,)),
    "HardSigmoid": (lambda x, a, b: np.clip(a * x + b, 0, 1), (0.2, 0.5)),
    "Clip": (lambda x, low, high: np.minimum(np.maximum(x, low), high), (-math.inf, math.inf)),
}


def _activated(x: Array, activation: str, given: Sequence[float | None]) -> Array:
    """A value after the activation that a fused operator names; "" is none."""
    if not activation:
        return x
    if activation not in _ACTIVATIONS:
        raise NotImplementedError(f"the activation {activation!r} is not known here")
    function, defaults = _ACTIVATIONS[activation]
    padded = [*given, *([None] * len(defaults))]
    known = [d if g is None else g for g, d in zip(padded, defaults, strict=False)]
    return np.asarray(function(x, *known), x.dtype)


def _standard(name: str, inputs: Sequence[Array | None], attributes: dict[str, Any]) -> Array:
    """The result of an operator of the standard domain, by the reference implementation."""
    operator = getattr(Opset("", 18), name)
    (result,) = reference_results(operator, list(inputs), attributes, 1)
    assert isinstance(result, np.ndarray)
    return result


def fused_conv(
    x: Array,
    w: Array,
    bias: Array | None = None,
    z: Array | None = None,
    *,
    activation: str = "",
    activation_params: Sequence[float] = (),
    **attributes: Any,
) -> tuple[Array]:
    """Conv, the sum with `z`, and an activation."""
    total = _standard("Conv", [x, w, bias], attributes)
    total = total if z is None else total + z
    return (_activated(total, activation, activation_params),)


def fused_gemm(
    a: Array,
    b: Array,
    c: Array | None = None,
    *,
    activation: str = "",
    activation_alpha: float | None = None,
    activation_beta: float | None = None,
    **attributes: Any,
) -> tuple[Array]:
    """Gemm and an activation."""
    product = _standard("Gemm", [a, b, c], attributes)
    return (_activated(product, activation, (activation_alpha, activation_beta)),)


def fused_matmul(
    a: Array,
    b: Array,
    *,
    alpha: float = 1.0,
    transA: int = 0,  # noqa: N803 - as the operator calls them
    transB: int = 0,  # noqa: N803
    transBatchA: int = 0,  # noqa: N803
    transBatchB: int = 0,  # noqa: N803
) -> tuple[Array]:
    """MatMul of sides whose last two, or first and batch dimensions are exchanged, and a factor."""
    left, right = (
        _turned(side, last, batch)
        for side, last, batch in ((a, transA, transBatchA), (b, transB, transBatchB))
    )
    return (np.asarray(np.matmul(left, right) * a.dtype.type(alpha)),)


def _turned(side: Array, last: int, batch: int) -> Array:
    if side.ndim > 2 and batch:  # the first dimension stands before the last one
        side = np.moveaxis(side, 0, -2)
    return np.swapaxes(side, -1, -2) if last and side.ndim > 1 else side


def gelu(x: Array) -> tuple[Array]:
    """Gelu with Erf."""
    return ((x * 0.5 * (1 + _erf(x / math.sqrt(2)))).astype(x.dtype),)


def bias_gelu(x: Array, bias: Array) -> tuple[Array]:
    """Gelu of a sum."""
    return gelu(x + bias)


def fast_gelu(x: Array, bias: Array | None = None) -> tuple[Array]:
    """Gelu approximated with Tanh, of a sum."""
    (y,) = _wide(x if bias is None else x + bias)
    inner = math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)
    return ((0.5 * y * (1 + np.tanh(inner))).astype(x.dtype),)


def quick_gelu(x: Array, *, alpha: float = 1.702) -> tuple[Array]:
    """A value times the Sigmoid of a multiple of it."""
    (y,) = _wide(x)
    return ((y * _sigmoid(y * np.float32(alpha))).astype(x.dtype),)


def skip_layer_normalization(
    x: Array,
    skip: Array,
    gamma: Array,
    beta: Array | None = None,
    bias: Array | None = None,
    *,
    epsilon: float = 1e-12,
) -> tuple[Array, Array, Array, Array]:
    """LayerNormalization of a sum along the last dimension; the mean, 1 / deviation and the sum."""
    wide, other, factor, offset, vector = _wide(x, skip, gamma, beta, bias)
    total = wide + other if vector is None else wide + other + vector
    mean = total.mean(axis=-1, keepdims=True)
    inverse = 1 / np.sqrt(np.square(total - mean).mean(axis=-1, keepdims=True) + epsilon)
    normal = (total - mean) * inverse * factor
    normal = normal if offset is None else normal + offset
    return (
        normal.astype(x.dtype),
        mean.astype(np.float32),
        inverse.astype(np.float32),
        total.astype(x.dtype),
    )


def multi_head_attention(
    query: Array,
    key: Array | None = None,
    value: Array | None = None,
    bias: Array | None = None,
    key_padding_mask: Array | None = None,
    attention_bias: Array | None = None,
    *others: Any,
    num_heads: int,
    scale: float | None = None,
    unidirectional: int = 0,
    mask_filter_value: float = -10000.0,
) -> tuple[Array]:
    """Attention of rows whose heads stand side by side; without a cache and without packed rows."""
    if any(given is not None for given in (key_padding_mask, *others)):
        raise NotImplementedError("key_padding_mask and the inputs of a cache are not known here")
    if query.ndim != 3 or key is None or value is None or key.ndim != 3 or value.ndim != 3:
        raise NotImplementedError("packed query, key and value are not known here")
    rows = _wide(query, key, value)
    if bias is not None:
        widths = np.cumsum([r.shape[-1] for r in rows])[:-1]
        parts = np.split(_wide(bias)[0], widths)
        rows = [r + part for r, part in zip(rows, parts, strict=True)]
    q, k, v = (
        np.moveaxis(r.reshape(*r.shape[:2], num_heads, r.shape[2] // num_heads), 2, 1) for r in rows
    )
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) * (scale or 1 / math.sqrt(q.shape[-1]))
    if unidirectional:
        ahead = np.triu(np.ones(scores.shape[-2:], bool), 1 + scores.shape[-1] - scores.shape[-2])
        scores = scores + np.where(ahead, mask_filter_value, 0)
    if attention_bias is not None:
        scores = scores + _wide(attention_bias)[0]
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    made = np.moveaxis(np.matmul(weights, v), 1, 2)
    return (made.reshape(*made.shape[:2], -1).astype(query.dtype),)


KERNELS: dict[str, Kernel] = {
    "BiasGelu": bias_gelu,
    "FastGelu": fast_gelu,
    "FusedConv": fused_conv,
    "FusedGemm": fused_gemm,
    "FusedMatMul": fused_matmul,
    "GatherBlockQuantized": gather_block_quantized,
    "Gelu": gelu,
    "MatMulNBits": matmul_nbits,
    "MultiHeadAttention": multi_head_attention,
    "QuickGelu": quick_gelu,
    "SkipLayerNormalization": skip_layer_normalization,
}


@functools.cache
def reference_operators() -> tuple[Any, ...]:
    """The operators as classes that `onnx.reference.ReferenceEvaluator(new_ops=)` takes."""
    from onnx.reference.op_run import OpRun

    def class_of(name: str, kernel: Kernel) -> Any:
        def _run(self: Any, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
            # A class called as a standard operator is also given what that one has by default.
            given = {a.name for a in self.onnx_node.attribute}
            results = kernel(*inputs, **{k: v for k, v in attributes.items() if k in given})
            return results[: max(len(self.onnx_node.output), 1)]

        return type(name, (OpRun,), {"op_domain": DOMAIN, "_run": _run})

    return tuple(class_of(name, kernel) for name, kernel in KERNELS.items())


__all__ = ["DOMAIN", "KERNELS", "reference_operators"]
