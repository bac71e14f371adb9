"""FusedConv and FusedGemm of `com.microsoft`, for `target="onnxruntime"` only.

A default session of ONNX Runtime makes these operators itself, so that it takes the same time
(`python benchmarks/contrib.py`), and without its optimizations they take as long as the nodes or
less; the model has fewer nodes.  Kernels of the CPU provider have single precision only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onnxwright.optimizer.constants import number
from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.library.contrib_domain import LATE, contrib
from onnxwright.optimizer.patterns import Attr, Attrs, Const
from onnxwright.optimizer.rule_types import Op
from onnxwright.optimizer.rules import Rule, rule
from onnxwright.types.dtypes import DType

_Product = Callable[..., Any]


def _add_activations(target_rule: Rule, product: _Product) -> None:
    """Add the activations beside Relu that the kernels of Conv and Gemm have."""

    @target_rule.also
    def _(op: Op, x: Any, w: Any, attrs: Attrs, b: Any = None) -> Any:
        return op.Sigmoid(product(op, x, w, b, attrs))

    @target_rule.also
    def _(op: Op, x: Any, w: Any, attrs: Attrs, b: Any = None) -> Any:
        return op.Tanh(product(op, x, w, b, attrs))

    @target_rule.also
    def _(op: Op, x: Any, w: Any, attrs: Attrs, alpha: Attr, b: Any = None) -> Any:
        return op.LeakyRelu(product(op, x, w, b, attrs), alpha=alpha)

    @target_rule.also
    def _(op: Op, x: Any, w: Any, attrs: Attrs, alpha: Attr, beta: Attr, b: Any = None) -> Any:
        return op.HardSigmoid(product(op, x, w, b, attrs), alpha=alpha, beta=beta)


def _parameters(kind: str, alpha: Any, beta: Any) -> list[float]:
    """The numbers of an activation, in the order that the kernels take them."""
    if kind == "LeakyRelu":
        return [0.01 if alpha is None else alpha]
    if kind == "Elu":
        return [1.0 if alpha is None else alpha]
    if kind == "HardSigmoid":
        return [0.2 if alpha is None else alpha, 0.5 if beta is None else beta]
    return []


def _numbers(rng: Any) -> Draw:
    low = rng.uniform(-0.5, 0.0)
    return {
        "alpha": float(rng.uniform(0.1, 0.5)),
        "beta": float(rng.uniform(0.1, 0.5)),
        "lo": np.float32(low) if rng.integers(2) else None,
        "hi": np.float32(rng.uniform(-0.6, 0.5)),
    }


def _convolution(rng: Any) -> Draw:
    rank, group = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    attrs: dict[str, Any] = {"group": group, "strides": [int(s) for s in rng.integers(1, 3, rank)]}
    if rng.integers(2):
        attrs["pads"] = [int(p) for p in rng.integers(0, 2, 2 * rank)]
    kernel = (int(rng.integers(1, 3)),) * rank
    return {
        "x": floats(rng, (2, 2 * group, *(int(d) for d in rng.integers(3, 6, size=rank)))),
        "w": floats(rng, (3 * group, 2, *kernel)),
        "b": floats(rng, (3 * group,)) if rng.integers(2) else None,
        "attrs": attrs,
        **_numbers(rng),
    }


@rule(**LATE, cases=_convolution)
def fused_conv(op: Op, x: Any, w: Any, attrs: Attrs, b: Any = None) -> Any:
    """FusedConv: a Conv and its activation."""
    return op.Relu(op.Conv(x, w, b, **attrs))


@fused_conv.also
def _(
    op: Op, x: Any, w: Any, attrs: Attrs, b: Any = None, lo: Const | None = None,
    hi: Const | None = None,
) -> Any:  # fmt: skip
    return op.Clip(op.Conv(x, w, b, **attrs), lo, hi)


_add_activations(fused_conv, lambda op, x, w, b, attrs: op.Conv(x, w, b, **attrs))


@fused_conv.to
def _(
    op: Op, x: Any, w: Any, b: Any, attrs: Any, alpha: Any, beta: Any, lo: Any, hi: Any, match: Any
) -> Any:
    kind = match.roots[0].op_type
    if x.dtype is not DType.FLOAT:
        return None
    numbers = _parameters(kind, alpha, beta)
    if kind == "Clip":
        most = float(np.finfo(np.float32).max)  # a Clip without bounds has these, too
        ends = [(lo, -most), (hi, most)]
        bounds = [edge if bound is None else number(bound) for bound, edge in ends]
        if None in bounds:
            return None
        numbers = [n for n in bounds if n is not None]
    options = {"activation_params": numbers} if numbers else {}
    return contrib(op).FusedConv(x, w, b, **attrs, activation=kind, **options)


def _gemm(rng: Any) -> Draw:
    m, k, n = (int(d) for d in rng.integers(1, 5, size=3))
    shape = [(n,), (m, n), (m, 1), ()][int(rng.integers(4))]
    attrs = {"transB": 1, "alpha": 0.5} if rng.integers(2) else {}
    return {
        "x": floats(rng, (m, k)),
        "w": floats(rng, (n, k) if attrs else (k, n)),
        "b": floats(rng, shape) if rng.integers(2) else None,
        "attrs": attrs,
        **_numbers(rng),
    }


@rule(**LATE, cases=_gemm)
def fused_gemm(op: Op, x: Any, w: Any, attrs: Attrs, b: Any = None) -> Any:
    """FusedGemm: a Gemm and its activation."""
    return op.Relu(op.Gemm(x, w, b, **attrs))


@fused_gemm.also
def _(op: Op, x: Any, w: Any, attrs: Attrs, b: Any = None) -> Any:
    return op.Softplus(op.Gemm(x, w, b, **attrs))


@fused_gemm.also
def _(op: Op, x: Any, w: Any, attrs: Attrs, b: Any = None) -> Any:
    return op.Softsign(op.Gemm(x, w, b, **attrs))


@fused_gemm.also
def _(op: Op, x: Any, w: Any, attrs: Attrs, alpha: Attr, b: Any = None) -> Any:
    return op.Elu(op.Gemm(x, w, b, **attrs), alpha=alpha)


_add_activations(fused_gemm, lambda op, x, w, b, attrs: op.Gemm(x, w, b, **attrs))


@fused_gemm.to
def _(op: Op, x: Any, w: Any, b: Any, attrs: Any, alpha: Any, beta: Any, match: Any) -> Any:
    kind = match.roots[0].op_type
    if x.dtype is not DType.FLOAT:
        return None
    names = ("activation_alpha", "activation_beta")
    parameters = dict(zip(names, _parameters(kind, alpha, beta), strict=False))
    return contrib(op).FusedGemm(x, w, b, **attrs, activation=kind, **parameters)
