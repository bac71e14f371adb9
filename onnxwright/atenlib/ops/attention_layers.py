"""Whole attention layers as torch's fast paths have them."""

from __future__ import annotations

from typing import Any

from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers.constants import vector
from onnxwright.atenlib.helpers.sizes import size
from onnxwright.atenlib.op import TABLE, aten
from onnxwright.atenlib.ops.attention import Attention, attention, parts
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.atenlib.rules import like


def _linear(op: Op, x: Value, weight: Value, bias: Value) -> Value:
    return op.Add(op.MatMul(x, algebra.transpose(op, weight)), bias)


def _heads(op: Op, x: Value, heads: int) -> Value:
    """`[B, L, heads * width]` as `[B, heads, L, width]`."""
    shape = vector(op, [size(op, x, 0), size(op, x, 1), heads, -1])
    return op.Transpose(op.Reshape(x, shape), perm=[0, 2, 1, 3])


def _mask(op: Op, mask: Value | None, mask_type: int | None) -> Value | None:
    """Torch's mask of what is left out, as one of what takes part, `[B or 1, 1 or H, L, S]`."""
    if mask is None:
        return None
    if not mask.onnx_dtype.is_bool:
        return mask if mask.rank != 2 else op.Unsqueeze(mask, [0, 1])
    if mask_type == 1 and mask.rank == 2:
        mask = op.Unsqueeze(mask, [1, 2])
    elif mask.rank == 2:
        mask = op.Unsqueeze(mask, [0, 1])
    return op.Not(mask)


def _multi_head(
    op: Op,
    query: Value,
    key: Value,
    value: Value,
    heads: int,
    weights: tuple[Any, Any, Any, Any],
    mask: Value | None,
    mask_type: int | None,
    need_weights: bool,
) -> tuple[Any, Any]:
    qkv_weight, qkv_bias, proj_weight, proj_bias = weights
    if query is key and key is value:
        q, k, v = op.Split(_linear(op, query, qkv_weight, qkv_bias), axis=-1, num_outputs=3)
    else:
        each = zip(
            (query, key, value),
            op.Split(qkv_weight, axis=0, num_outputs=3),
            op.Split(qkv_bias, axis=0, num_outputs=3),
            strict=True,
        )
        q, k, v = (_linear(op, x, w, b) for x, w, b in each)
    q, k, v = (_heads(op, x, heads) for x in (q, k, v))
    layer = Attention(q, k, v, _mask(op, mask, mask_type))
    seen: Any = None
    if need_weights:
        output, seen, _ = parts(op, layer)
    else:
        output = attention(op, layer)
    shape = vector(op, [size(op, query, 0), size(op, query, 1), -1])
    joined = op.Reshape(op.Transpose(output, perm=[0, 2, 1, 3]), shape)
    return _linear(op, joined, proj_weight, proj_bias), seen


@aten(
    "aten::_native_multi_head_attention",
    rule=like("query"),
    untested="torch has no OpInfo for it",
)
def native_multi_head_attention(
    op: Op,
    query: Value,
    key: Value,
    value: Value,
    embed_dim: int,
    num_head: int,
    qkv_weight: Value,
    qkv_bias: Value,
    proj_weight: Value,
    proj_bias: Value,
    mask: Value | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Value, ...]:
    """A layer of attention with several heads; the second result is empty without weights."""
    del embed_dim
    weights = (qkv_weight, qkv_bias, proj_weight, proj_bias)
    output, seen = _multi_head(
        op, query, key, value, num_head, weights, mask, mask_type, need_weights
    )
    if seen is not None and average_attn_weights:
        seen = op.ReduceMean(seen, [1], keepdims=0)
    return output, seen


@aten(
    "aten::_transformer_encoder_layer_fwd",
    rule=like("src"),
    untested="torch has no OpInfo for it",
)
def transformer_encoder_layer(
    op: Op,
    src: Value,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Value,
    qkv_bias: Value,
    proj_weight: Value,
    proj_bias: Value,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Value,
    norm_bias_1: Value,
    norm_weight_2: Value,
    norm_bias_2: Value,
    ffn_weight_1: Value,
    ffn_bias_1: Value,
    ffn_weight_2: Value,
    ffn_bias_2: Value,
    mask: Value | None = None,
    mask_type: int | None = None,
) -> Any:
    """A layer of a transformer's encoder: attention, then two linear layers."""
    weights = (qkv_weight, qkv_bias, proj_weight, proj_bias)

    def norm(x: Value, weight: Value, bias: Value) -> Any:
        return op.LayerNormalization(x, weight, bias, axis=-1, epsilon=eps)

    def attend(x: Value) -> Any:
        return _multi_head(op, x, x, x, num_heads, weights, mask, mask_type, False)[0]

    def feed(x: Value) -> Value:
        x = _linear(op, x, ffn_weight_1, ffn_bias_1)
        x = TABLE["aten::gelu"](op, x) if use_gelu else op.Relu(x)
        return _linear(op, x, ffn_weight_2, ffn_bias_2)

    del embed_dim
    if norm_first:
        x = op.Add(src, attend(norm(src, norm_weight_1, norm_bias_1)))
        return op.Add(x, feed(norm(x, norm_weight_2, norm_bias_2)))
    x = norm(op.Add(src, attend(src)), norm_weight_1, norm_bias_1)
    return norm(op.Add(x, feed(x)), norm_weight_2, norm_bias_2)
