"""Operators of `com.microsoft` that do the work of two nodes, for `target="onnxruntime"` only.

A default session of ONNX Runtime makes these operators itself, so that it takes the same time
(`python benchmarks/contrib.py`); the model has fewer nodes.  Without the session's optimizations
(`--plain`) FusedConv, FusedGemm and FusedMatMul take as long as the nodes or less; BiasGelu takes
up to 1.25 times, SkipLayerNormalization 8 times as long, so that these need
`assume=["default_session"]`.  The rules are late: other rules do not know the operators.  Kernels
of the CPU provider have single precision only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onnxwright.opset.opsets import Opset
from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.library.activation import gelu_erf, gelu_tanh
from onnxwright.optimizer.number import number
from onnxwright.optimizer.patterns import Attr, Attrs, Const
from onnxwright.optimizer.rule_types import Op
from onnxwright.optimizer.rules import Rule, rule
from onnxwright.semantics.ops import Ops
from onnxwright.types.dtypes import DType

_LATE: dict[str, Any] = {"level": "rounding", "target": "onnxruntime", "late": True}
_FUSED_ANYWAY: dict[str, Any] = {**_LATE, "assume": ["default_session"]}
_DOMAIN = "com.microsoft"


def contrib(op: Op) -> Any:
    """The operators of `com.microsoft`, for a replacement."""
    return Ops(op.backend, Opset(_DOMAIN, 1))


# -- products and their activations ----------------------------------------------------------------

_Product = Callable[..., Any]


def _add_activations(made: Rule, product: _Product) -> None:
    """Add the activations beside Relu that the kernels of Conv and Gemm have."""

    @made.also
    def _(op: Op, x: Any, w: Any, attrs: Attrs, b: Any = None) -> Any:
        return op.Sigmoid(product(op, x, w, b, attrs))

    @made.also
    def _(op: Op, x: Any, w: Any, attrs: Attrs, b: Any = None) -> Any:
        return op.Tanh(product(op, x, w, b, attrs))

    @made.also
    def _(op: Op, x: Any, w: Any, attrs: Attrs, alpha: Attr, b: Any = None) -> Any:
        return op.LeakyRelu(product(op, x, w, b, attrs), alpha=alpha)

    @made.also
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


@rule(**_LATE, cases=_convolution)
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
        known = [edge if given is None else number(given) for given, edge in ends]
        if None in known or match.roots[0].attributes:
            return None
        numbers = [n for n in known if n is not None]
    given = {"activation_params": numbers} if numbers else {}
    return contrib(op).FusedConv(x, w, b, **attrs, activation=kind, **given)


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


@rule(**_LATE, cases=_gemm)
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
    given = dict(zip(names, _parameters(kind, alpha, beta), strict=False))
    return contrib(op).FusedGemm(x, w, b, **attrs, activation=kind, **given)


# -- products of transposed and scaled matrices ----------------------------------------------------


def _matrices(rng: Any) -> Draw:
    batch = tuple(int(d) for d in rng.integers(1, 4, size=int(rng.integers(0, 3))))
    m, k, n = (int(d) for d in rng.integers(1, 5, size=3))
    rank = len(batch)
    return {
        "a": floats(rng, (*batch, m, k)),
        "b": floats(rng, (*batch, k, n)),
        "at": floats(rng, (*batch, k, m)),
        "bt": floats(rng, (*batch, n, k)),
        "perm": [*range(rank), rank + 1, rank],
        "attrs": {"alpha": 0.5},
        "c": np.float32(rng.choice([0.25, -3.0])),
    }


def _fused(op: Any, a: Any, b: Any, attrs: Any) -> Any:
    return op.opset(_DOMAIN).FusedMatMul(a, b, **attrs)


@rule(**_LATE, cases=_matrices)
def fused_mat_mul_of_transposed(op: Op, at: Any, b: Any, perm: Attr) -> Any:
    """FusedMatMul: a product of which one side is transposed."""
    return op.MatMul(op.Transpose(at, perm=perm), b)


@fused_mat_mul_of_transposed.also
def _(op: Op, a: Any, bt: Any, perm: Attr) -> Any:
    return op.MatMul(a, op.Transpose(bt, perm=perm))


@fused_mat_mul_of_transposed.also
def _(op: Op, at: Any, b: Any, perm: Attr, attrs: Attrs) -> Any:
    return _fused(op, op.Transpose(at, perm=perm), b, attrs)


@fused_mat_mul_of_transposed.also
def _(op: Op, a: Any, bt: Any, perm: Attr, attrs: Attrs) -> Any:
    return _fused(op, a, op.Transpose(bt, perm=perm), attrs)


@fused_mat_mul_of_transposed.to
def _(op: Op, a: Any, at: Any, b: Any, bt: Any, perm: Any, attrs: Any) -> Any:
    left, right, flag = (a, bt, "transB") if at is None else (at, b, "transA")
    given = dict(attrs or {})
    rank = (left if at is not None else right).rank
    if rank is None or rank < 2:
        return None
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    if list(reversed(range(rank)) if perm is None else perm) != swapped:
        return None
    if any(given.get(name) for name in (flag, "transBatchA", "transBatchB")):
        return None
    # A side of one dimension is not transposed by the kernel, and the other one is then a matrix.
    if any(v.dtype is not DType.FLOAT or v.rank is None or v.rank < 2 for v in (left, right)):
        return None
    return contrib(op).FusedMatMul(left, right, **{**given, flag: 1})


@rule(**_LATE, cases=_matrices)
def fused_mat_mul_of_scaled(op: Op, a: Any, b: Any, c: Const) -> Any:
    """FusedMatMul: a product and a factor of it, or of one side."""
    return op.MatMul(a, b) * c


@fused_mat_mul_of_scaled.also
def _(op: Op, a: Any, b: Any, c: Const) -> Any:
    return op.MatMul(a, b) / c


@fused_mat_mul_of_scaled.also
def _(op: Op, a: Any, b: Any, c: Const) -> Any:
    return op.MatMul(a * c, b)


@fused_mat_mul_of_scaled.also
def _(op: Op, a: Any, b: Any, c: Const) -> Any:
    return op.MatMul(a, b * c)


@fused_mat_mul_of_scaled.also
def _(op: Op, a: Any, b: Any, c: Const) -> Any:
    return op.MatMul(a / c, b)


@fused_mat_mul_of_scaled.also
def _(op: Op, a: Any, b: Any, c: Const, attrs: Attrs) -> Any:
    return _fused(op, a * c, b, attrs)


@fused_mat_mul_of_scaled.also
def _(op: Op, a: Any, b: Any, c: Const, attrs: Attrs) -> Any:
    return _fused(op, a / c, b, attrs)


@fused_mat_mul_of_scaled.also
def _(op: Op, a: Any, b: Any, c: Const, attrs: Attrs) -> Any:
    return _fused(op, a, b * c, attrs)


@fused_mat_mul_of_scaled.also
def _(op: Op, a: Any, b: Any, c: Const, attrs: Attrs) -> Any:
    return _fused(op, a, b, attrs) * c


@fused_mat_mul_of_scaled.also
def _(op: Op, a: Any, b: Any, c: Const, attrs: Attrs) -> Any:
    return _fused(op, a, b, attrs) / c


@fused_mat_mul_of_scaled.to
def _(op: Op, a: Any, b: Any, c: Any, attrs: Any, match: Any) -> Any:
    factor = number(c)
    if not factor:  # a factor of 0 would leave the product out, and NaN with it
        return None
    if any(v.dtype is not DType.FLOAT or v.rank is None or v.rank < 2 for v in (a, b)):
        return None
    if c.rank > max(a.rank, b.rank):
        return None  # the factor adds dimensions
    if any(n.op_type == "Div" for n in match.nodes.values()):
        factor = 1 / factor
    given = dict(attrs or {})
    given["alpha"] = factor * given.get("alpha", 1.0)
    if not 1e-30 < abs(given["alpha"]) < 1e30:  # of single precision, with its denormal numbers
        return None
    return contrib(op).FusedMatMul(a, b, **given)


# -- Gelu ------------------------------------------------------------------------------------------


def _rows(rng: Any) -> Draw:
    *outer, width = (int(d) for d in rng.integers(1, 5, size=int(rng.integers(1, 4))))
    return {"x": floats(rng, (*outer, width)), "b": floats(rng, (width,))}


def _of_runtime(standard: Rule, name: str, operator: str, doc: str) -> Rule:
    """A rule that puts an operator of `com.microsoft` where the standard one is too new."""

    def to(op: Op, x: Any) -> Any:
        return getattr(contrib(op), operator)(x) if x.dtype is DType.FLOAT else None

    def described() -> None: ...

    described.__doc__ = doc
    made = Rule(described, name=name, until=19, pattern=standard.patterns[0], cases=_rows, **_LATE)
    made.patterns = list(standard.patterns)
    return made.to(to)


gelu_of_runtime = _of_runtime(
    gelu_erf, "gelu_of_runtime", "Gelu", "Gelu written with Erf, below opset 20."
)
fast_gelu = _of_runtime(
    gelu_tanh, "fast_gelu", "FastGelu", "Gelu approximated with Tanh, below opset 20."
)


def _is_bias(b: Any, x: Any) -> bool:
    """Whether a vector is added to the rows of a value, without broadcasting."""
    if x.dtype is not DType.FLOAT or x.rank in (None, 0) or b.rank != 1:
        return False
    return isinstance(b.shape[0], int) and bool(b.shape[0] == x.shape[-1])


@rule(**_FUSED_ANYWAY, cases=_rows)
def bias_gelu(op: Op, x: Any, b: Const) -> Any:
    """BiasGelu: Gelu of a sum with a vector."""
    return op.Gelu(x + b)


@bias_gelu.also
def _(op: Any, x: Any, b: Const) -> Any:
    return op.opset(_DOMAIN).Gelu(x + b)


@bias_gelu.to
def _(op: Op, x: Any, b: Any) -> Any:
    return contrib(op).BiasGelu(x, b) if _is_bias(b, x) else None


@rule(**_FUSED_ANYWAY, cases=_rows)
def fast_gelu_and_bias(op: Op, x: Any, b: Const) -> Any:
    """FastGelu: Gelu approximated with Tanh, of a sum with a vector."""
    return op.Gelu(x + b, approximate="tanh")


@fast_gelu_and_bias.also
def _(op: Any, x: Any, b: Const) -> Any:
    return op.opset(_DOMAIN).FastGelu(x + b)


@fast_gelu_and_bias.to
def _(op: Op, x: Any, b: Any) -> Any:
    return contrib(op).FastGelu(x, b) if _is_bias(b, x) else None


# -- normalization of sums -------------------------------------------------------------------------


def _sums(rng: Any) -> Draw:
    shape = tuple(int(d) for d in rng.integers(1, 5, size=int(rng.integers(2, 4))))
    return {
        "x": floats(rng, shape), "z": floats(rng, shape), "b": floats(rng, shape[-1:]),
        "w": floats(rng, shape[-1:]), "v": floats(rng, shape[-1:]) if rng.integers(2) else None,
        "axis": -1 if rng.integers(2) else len(shape) - 1, "epsilon": 1e-3,
    }  # fmt: skip


@rule(**_FUSED_ANYWAY, since=17, cases=_sums)
def skip_layer_normalization(
    op: Op, x: Any, z: Any, w: Any, axis: Attr, epsilon: Attr, v: Any = None
) -> Any:
    """SkipLayerNormalization: LayerNormalization of a sum that nothing else reads."""
    return op.LayerNormalization(x + z, w, v, axis=axis, epsilon=epsilon)


@skip_layer_normalization.also
def _(
    op: Op, x: Any, z: Any, w: Any, b: Const, axis: Attr, epsilon: Attr, v: Any = None
) -> Any:  # fmt: skip
    return op.LayerNormalization(x + b + z, w, v, axis=axis, epsilon=epsilon)


@skip_layer_normalization.to
def _(
    op: Op, x: Any, z: Any, w: Any, v: Any, b: Any, axis: Any, epsilon: Any
) -> Any:  # fmt: skip
    if not _is_skip(x, z, w, v, b, axis):
        return None
    options = {} if epsilon is None else {"epsilon": epsilon}
    return contrib(op).SkipLayerNormalization(x, z, w, v, b, **options)


@rule(**_FUSED_ANYWAY, since=17, cases=_sums)
def skip_layer_normalization_and_sum(
    op: Op, x: Any, z: Any, w: Any, axis: Attr, epsilon: Attr, v: Any = None
) -> Any:
    """SkipLayerNormalization whose sum is read by other nodes, too."""
    total = x + z
    return total, op.LayerNormalization(total, w, v, axis=axis, epsilon=epsilon)


@skip_layer_normalization_and_sum.also
def _(
    op: Op, x: Any, z: Any, w: Any, b: Const, axis: Attr, epsilon: Attr, v: Any = None
) -> Any:  # fmt: skip
    total = x + b + z
    return total, op.LayerNormalization(total, w, v, axis=axis, epsilon=epsilon)


@skip_layer_normalization_and_sum.to
def _(
    op: Op, x: Any, z: Any, w: Any, v: Any, b: Any, axis: Any, epsilon: Any, match: Any
) -> Any:  # fmt: skip
    total = match.roots[0].outputs[0]
    if len(total.uses()) == 1 and not total.is_graph_output():
        return None  # the other rule is for it
    if not _is_skip(x, z, w, v, b, axis):
        return None
    options = {} if epsilon is None else {"epsilon": epsilon}
    made = contrib(op).SkipLayerNormalization(x, z, w, v, b, **options, _outputs=4)
    return made[3], made[0]


def _is_skip(x: Any, z: Any, w: Any, v: Any, b: Any, axis: Any) -> bool:
    """Whether the kernel takes these: rows of one shape, vectors of their width."""
    if any(t.dtype is not DType.FLOAT for t in (x, z, w)) or x.rank not in (2, 3):
        return False
    if z.rank != x.rank or None in x.shape or x.shape != z.shape:
        return False
    if axis not in (None, -1, x.rank - 1) or not isinstance(x.shape[-1], int):
        return False
    vectors = [t for t in (w, v, b) if t is not None]
    return all(t.rank == 1 and t.shape[0] == x.shape[-1] for t in vectors)
