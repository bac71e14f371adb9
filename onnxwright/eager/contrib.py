"""Operators of ONNX Runtime's domain com.microsoft in numpy, for the reference evaluator.

These are the operators that `optimize` and `quantize_weights` write into models, and common ones of
other tools.  Half precision is computed in single precision and rounded once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onnxwright.eager.contrib_attention import (
    attention,
    group_query_attention,
    multi_head_attention,
    rotary_embedding,
)
from onnxwright.eager.contrib_quantized import QUANTIZED
from onnxwright.eager.contrib_rows import (
    Array,
    bias_gelu,
    embed_layer_normalization,
    fast_gelu,
    gelu,
    quick_gelu,
    sigmoid,
    skip_layer_normalization,
    skip_simplified_layer_normalization,
    wide,
)
from onnxwright.eager.contrib_weights import gather_block_quantized, matmul_nbits
from onnxwright.eager.reference_calls import reference_results
from onnxwright.opset.opsets import Opset

Kernel = Callable[..., tuple[Any, ...]]

DOMAIN = "com.microsoft"


# Activation -> its function of a value and of its parameters, and what those are if not given.
_ACTIVATIONS: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "Relu": (lambda x: np.maximum(x, 0), ()),
    "Tanh": (np.tanh, ()),
    "Sigmoid": (sigmoid, ()),
    "Softplus": (lambda x: np.logaddexp(x, np.zeros((), x.dtype)), ()),
    "Softsign": (lambda x: x / (1 + np.abs(x)), ()),
    "LeakyRelu": (lambda x, a: np.where(x < 0, a * x, x), (0.01,)),
    "Elu": (lambda x, a: np.where(x < 0, a * np.expm1(np.minimum(x, 0)), x), (1.0,)),
    "HardSigmoid": (lambda x, a, b: np.clip(a * x + b, 0, 1), (0.2, 0.5)),
    "Clip": (lambda x, low, high: np.minimum(np.maximum(x, low), high), (-math.inf, math.inf)),
}


def _activated(x: Array, activation: str, numbers: Sequence[float | None]) -> Array:
    """A value after the activation that a fused operator names; "" is none."""
    if not activation:
        return x
    if activation not in _ACTIVATIONS:
        raise NotImplementedError(f"the activation {activation!r} is not known here")
    function, defaults = _ACTIVATIONS[activation]
    padded = [*numbers, *([None] * len(defaults))]
    parameters = [d if g is None else g for g, d in zip(padded, defaults, strict=False)]
    return np.asarray(function(x, *parameters), x.dtype)


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


def inverse(x: Array) -> tuple[Array]:
    """The inverse of matrices."""
    (matrices,) = wide(x)
    return (np.linalg.inv(matrices).astype(x.dtype),)


def expand_dims(x: Array, axis: Array) -> tuple[Array]:
    """A dimension of size 1 at an axis."""
    return (np.expand_dims(x, int(axis.reshape(-1)[0])),)


def cdist(a: Array, b: Array, *, metric: str = "sqeuclidean") -> tuple[Array]:
    """The distances between the rows of two matrices."""
    if metric not in ("sqeuclidean", "euclidean"):
        raise NotImplementedError(f"the metric {metric!r} is not known here")
    squares = np.square(a[:, None] - b[None]).sum(axis=-1)
    return ((np.sqrt(squares) if metric == "euclidean" else squares).astype(a.dtype),)


def trilu(x: Array, k: Array | None = None, *, upper: int = 1) -> tuple[Array]:
    """The upper or lower triangle of matrices."""
    offset = 0 if k is None else int(k.reshape(-1)[0])
    return ((np.triu if upper else np.tril)(x, offset),)


def matmul_integer16(a: Array, b: Array) -> tuple[Array]:
    """The product of integers of 16 bits, in 32 bits."""
    return (np.matmul(a.astype(np.int32), b.astype(np.int32)),)


KERNELS: dict[str, Kernel] = {
    "Attention": attention,
    "BiasGelu": bias_gelu,
    "CDist": cdist,
    "EmbedLayerNormalization": embed_layer_normalization,
    "ExpandDims": expand_dims,
    "FastGelu": fast_gelu,
    "FusedConv": fused_conv,
    "FusedGemm": fused_gemm,
    "FusedMatMul": fused_matmul,
    "GatherBlockQuantized": gather_block_quantized,
    "Gelu": gelu,
    "GroupQueryAttention": group_query_attention,
    "Inverse": inverse,
    "MatMulInteger16": matmul_integer16,
    "MatMulNBits": matmul_nbits,
    "MultiHeadAttention": multi_head_attention,
    "QuickGelu": quick_gelu,
    "RotaryEmbedding": rotary_embedding,
    "SkipLayerNormalization": skip_layer_normalization,
    "SkipSimplifiedLayerNormalization": skip_simplified_layer_normalization,
    "TransposeMatMul": fused_matmul,
    "Trilu": trilu,
    **QUANTIZED,
}


@functools.cache
def reference_operators() -> tuple[Any, ...]:
    """The operators as classes that `onnx.reference.ReferenceEvaluator(new_ops=)` takes."""
    from onnx.reference.op_run import OpRun

    def class_of(name: str, kernel: Kernel) -> Any:
        def _run(self: Any, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
            # A class called as a standard operator is also given what that one has by default.
            names = {a.name for a in self.onnx_node.attribute}
            results = kernel(*inputs, **{k: v for k, v in attributes.items() if k in names})
            return results[: max(len(self.onnx_node.output), 1)]

        return type(name, (OpRun,), {"op_domain": DOMAIN, "_run": _run})

    return tuple(class_of(name, kernel) for name, kernel in KERNELS.items())
