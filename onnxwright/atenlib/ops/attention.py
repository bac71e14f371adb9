"""Scaled dot-product attention: one Attention node where there is one, else its parts."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers.constants import cast, iota, is_small, scalar, vector
from onnxwright.atenlib.helpers.sizes import size
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.dropout import drop
from onnxwright.atenlib.optest import OpTest, Skip, Tol
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType

_TOL = {
    # The kernel rounds scores to float16; the samples have scores of 200, where that is 0.1.
    "float16": Tol(2e-2, 1e-1),
    "bfloat16": Tol(3e-2, 3e-2),
    "float32": Tol(1e-5, 3e-5),
}


class Attention(NamedTuple):
    """What a call of attention computes: `softmax(query @ key.T * scale + mask) @ value`.

    Fields:
        query: `[..., L, E]`.
        key: `[..., S, E]`.
        value: `[..., S, Ev]`.
        mask: None, booleans that say what takes part, or numbers that are added.
        causal: whether each query sees only the keys up to its own number.
        dropout: how many weights are dropped, at random.
        scale: the factor; `1 / sqrt(E)` by default.
        grouped: whether several heads of the query share one of the key.
    """

    query: Value
    key: Value
    value: Value
    mask: Any = None
    causal: bool = False
    dropout: float = 0.0
    scale: float | None = None
    grouped: bool = False


def attention(op: Op, a: Attention) -> Any:
    """The result `[..., L, Ev]`; queries that see nothing give zeros."""
    return _node(op, a) if a.dropout == 0.0 and _one_node(op, a) else parts(op, a).output


class Parts(NamedTuple):
    """Attention step by step.

    Fields:
        output: `[..., L, Ev]`.
        weights: `[..., L, S]`.
        scores: the logarithms of the weights, before they are normalized.
    """

    output: Any
    weights: Any
    scores: Any


def _one_node(op: Op, a: Attention) -> bool:
    """Whether Attention has these operands, and ONNX Runtime runs it on them."""
    query, key, value = a.query, a.key, a.value
    if op.version < 23 or query.onnx_dtype is DType.DOUBLE:
        return False
    if not query.rank == key.rank == value.rank or query.rank not in (3, 4):
        return False
    if a.mask is not None and a.mask.rank > query.rank:
        return False
    every = [*query.shape, *key.shape, *value.shape]
    batches = {x.shape[0] for x in (query, key, value)} - {None}
    return 0 not in every and (len(batches) == 1 or 1 not in batches)


def _node(op: Op, a: Attention) -> Value:
    query, key, value, mask = a.query, a.key, a.value, a.mask
    heads = query.rank == 4
    if not heads:
        query, key, value = (op.Unsqueeze(x, [1]) for x in (query, key, value))
        mask = op.Unsqueeze(mask, [1]) if mask is not None and mask.rank == 3 else mask
    operands = [query, key, value]
    if mask is not None:
        operands.append(_full_mask(op, mask, query, key))
    options: dict[str, Any] = {} if a.scale is None else {"scale": a.scale}
    if a.causal:
        options["is_causal"] = 1
    result = op.Attention(*operands, **options)
    return result if heads else op.Squeeze(result, [1])


def _full_mask(op: Op, mask: Value, query: Value, key: Value) -> Value:
    """A mask whose last two axes are those of the scores: the kernel repeats only the others."""
    if mask.rank == 1:
        mask = op.Unsqueeze(mask, [0])
    mask_shape = (query.shape[-2], key.shape[-2])
    if None not in mask_shape and tuple(mask.shape[-2:]) == mask_shape:
        return mask
    shape = [1] * (mask.rank - 2) + [size(op, query, -2), size(op, key, -2)]
    return op.Expand(mask, vector(op, shape))


def parts(op: Op, a: Attention) -> Parts:
    """Attention as matrix products and a softmax."""
    query, key, value = a.query, a.key, a.value
    if a.grouped:
        key, value = (_repeated(op, x, query) for x in (key, value))
    own_dtype = query.onnx_dtype
    # Rounded once, as torch does for short floats.
    dtype = DType.FLOAT if own_dtype.bits < 32 else own_dtype
    query, key, value = (cast(op, x, dtype) for x in (query, key, value))
    scores = op.MatMul(_scaled(op, query, a.scale), algebra.transpose(op, key))
    seen, scores = _masked_scores(op, scores, a, query, key)
    weights = op.Softmax(scores, axis=-1)
    if seen is not None:
        # Where nothing is seen the softmax is not a number, and torch's weights are zeros.
        weights = op.Where(seen, weights, op.constant(np.zeros((), dtype.numpy)))
    if a.dropout > 0.0:
        weights, _ = drop(op, weights, a.dropout)
    return Parts(
        cast(op, op.MatMul(weights, value), own_dtype), cast(op, weights, own_dtype), scores
    )


def _scaled(op: Op, query: Value, scale: float | None) -> Value:
    if scale is not None:
        return query if scale == 1.0 else op.Mul(query, float(scale))
    width = size(op, query, -1)
    if isinstance(width, int):
        return op.Mul(query, 1 / math.sqrt(max(width, 1)))
    return op.Div(query, op.Sqrt(scalar(op, width, query.onnx_dtype)))


def _masked_scores(op: Op, scores: Any, a: Attention, query: Value, key: Value) -> tuple[Any, Any]:
    """Which scores are seen (None: all, or each row has one), and the scores with the mask."""
    dtype = scores.onnx_dtype
    nothing = op.constant(np.array(-np.inf, dtype.numpy))
    if a.causal:
        return None, op.Where(_causal(op, query, key), scores, nothing)
    mask = a.mask
    if mask is None:
        return None, scores
    if mask.onnx_dtype.is_bool:
        return mask, op.Where(mask, scores, nothing)
    scores = op.Add(scores, cast(op, mask, dtype))
    return op.Not(op.Equal(scores, nothing)), scores


def _causal(op: Op, query: Value, key: Value) -> Value:
    """`[L, S]`: True on and below the diagonal that starts at the upper left."""
    rows, columns = size(op, query, -2), size(op, key, -2)
    if isinstance(rows, int) and isinstance(columns, int) and is_small(rows, columns):
        return op.constant(np.tril(np.ones((rows, columns), bool)))
    return op.GreaterOrEqual(op.Unsqueeze(iota(op, rows), [1]), iota(op, columns))


def _repeated(op: Op, x: Value, query: Value) -> Value:
    """Keys or values `[..., heads, S, E]`, each head as often as the query has heads for it."""
    heads, query_heads = size(op, x, -3), size(op, query, -3)
    if isinstance(heads, int) and isinstance(query_heads, int):
        times: Any = query_heads // max(heads, 1)
    else:
        times = op.Div(scalar(op, query_heads, DType.INT64), scalar(op, heads, DType.INT64))
    if isinstance(times, int) and times == 1:
        return x
    rank = x.rank
    spread = op.Expand(op.Unsqueeze(x, [rank - 2]), vector(op, [1] * (rank - 2) + [times, 1, 1]))
    front = [size(op, x, n) for n in range(rank - 3)]
    return op.Reshape(spread, vector(op, [*front, query_heads, size(op, x, -2), size(op, x, -1)]))


def _drops(sample: Any) -> bool:
    return bool(sample.kwargs.get("dropout_p"))


@aten(
    "aten::scaled_dot_product_attention",
    rule=like("query"),
    tests=[
        OpTest(
            "nn.functional.scaled_dot_product_attention",
            tol=_TOL,
            skip=[Skip("the result is random", matcher=_drops)],
        ),
        OpTest("nn.functional.scaled_dot_product_attention", compare="shape"),
    ],
)
def scaled_dot_product_attention(
    op: Op,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """`softmax(query @ key.T * scale + attn_mask) @ value`."""
    a = Attention(query, key, value, attn_mask, is_causal, dropout_p, scale, enable_gqa)
    return attention(op, a)


@aten(
    "aten::_scaled_dot_product_attention_math",
    rule=like("query"),
    untested="OpInfos call scaled_dot_product_attention",
)
def scaled_dot_product_attention_math(
    op: Op,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    dropout_mask: Value | None = None,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Value, ...]:
    """Attention and its weights; `dropout_mask` says which of them are kept."""
    a = Attention(query, key, value, attn_mask, is_causal, dropout_p, scale, enable_gqa)
    if dropout_mask is None:
        results = parts(op, a)
        return results.output, results.weights
    results = parts(op, a._replace(dropout=0.0))
    zero = op.constant(np.zeros((), query.onnx_dtype.numpy))
    kept = op.Where(dropout_mask, results.weights, zero)
    values = _repeated(op, value, query) if enable_gqa else value
    return op.MatMul(kept, op.Mul(values, 1 / (1 - dropout_p))), kept


def _with_logarithms(op: Op, a: Attention) -> tuple[Any, Any]:
    """Attention, and the logarithms of the sums of its scores `[..., L]`."""
    output = attention(op, a)
    results = parts(op, a._replace(dropout=0.0))
    scores = cast(op, results.scores, DType.DOUBLE if _is_double(a.query) else DType.FLOAT)
    return output, op.ReduceLogSumExp(scores, [scores.rank - 1], keepdims=0)


def _is_double(x: Value) -> bool:
    return bool(x.onnx_dtype is DType.DOUBLE)


def _empty(op: Op, dtype: DType = DType.INT64) -> Value:
    return op.constant(np.zeros(0, dtype.numpy))


@aten(
    "aten::_scaled_dot_product_flash_attention_for_cpu",
    rule=like("query"),
    untested="OpInfos call scaled_dot_product_attention",
)
def flash_attention_for_cpu(
    op: Op,
    query: Value,
    key: Value,
    value: Value,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Value | None = None,
    scale: float | None = None,
) -> tuple[Value, ...]:
    """Attention, and the logarithms of the sums of its scores; heads of queries may share keys."""
    is_grouped = query.shape[1] != key.shape[1]
    a = Attention(query, key, value, attn_mask, is_causal, dropout_p, scale, is_grouped)
    return _with_logarithms(op, a)


@aten(
    "aten::_scaled_dot_product_flash_attention",
    rule=like("query"),
    untested="torch has it on CUDA only",
)
def flash_attention(
    op: Op,
    query: Value,
    key: Value,
    value: Value,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    """Attention and what its gradient needs; the states of a CUDA kernel are empty."""
    del return_debug_mask
    return _flash(op, Attention(query, key, value, None, is_causal, dropout_p, scale))


def _flash(op: Op, a: Attention) -> tuple[Any, ...]:
    """Attention and what its gradient needs; the states of a kernel are empty."""
    output, sums = _with_logarithms(op, a)
    lengths = (size(op, a.query, -2), size(op, a.key, -2))
    before = [_empty(op), _empty(op)]
    after = [_empty(op), _empty(op), _empty(op, a.query.onnx_dtype)]
    return (output, sums, *before, *lengths, *after)


@aten(
    "aten::_scaled_dot_product_fused_attention_overrideable",
    rule=like("query"),
    untested="torch has it for devices of others only",
)
def fused_attention(
    op: Op,
    query: Value,
    key: Value,
    value: Value,
    attn_bias: Value | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    """Attention and what its gradient needs; the states of a kernel are empty."""
    del return_debug_mask
    return _flash(op, Attention(query, key, value, attn_bias, is_causal, dropout_p, scale))


@aten(
    "aten::_scaled_dot_product_cudnn_attention",
    rule=like("query"),
    untested="torch has it on CUDA only",
)
def cudnn_attention(
    op: Op,
    query: Value,
    key: Value,
    value: Value,
    attn_bias: Value | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    """Attention and what its gradient needs; the states of a CUDA kernel are empty."""
    del return_debug_mask, compute_log_sumexp
    return _flash(op, Attention(query, key, value, attn_bias, is_causal, dropout_p, scale))


@aten(
    "aten::_scaled_dot_product_efficient_attention",
    rule=like("query"),
    untested="torch has it on CUDA only",
)
def efficient_attention(
    op: Op,
    query: Value,
    key: Value,
    value: Value,
    attn_bias: Value | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Value, ...]:
    """Attention and the logarithms of its sums; the states of a CUDA kernel are empty."""
    a = Attention(query, key, value, attn_bias, is_causal, dropout_p, scale)
    output, sums = _with_logarithms(op, a)
    if not compute_log_sumexp:
        sums = op.Slice(sums, [0], [0], [sums.rank - 1])
    return output, sums, _empty(op), _empty(op)
