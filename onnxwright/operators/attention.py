"""Attention and rotary position embedding."""

from __future__ import annotations

from onnxwright.operators.flops import Sized, per_input
from onnxwright.operators.op_call import OpCall, UnknownError
from onnxwright.operators.record import NEVER, Change, OperatorFacts
from onnxwright.types import dims
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.shapes import Shape


def _attention_types(call: OpCall) -> list[OnnxType | None]:
    """Source: ONNX Attention, version 23; its own inference takes a named dimension for 0."""
    q, k, v = call.shape(0), call.shape(1), call.shape(2)
    kinds = [call.tensor(n).dtype for n in range(3)]
    if len(q) == len(k) == len(v) == 3:
        heads, groups = call.attr("q_num_heads", None), call.attr("kv_num_heads", None)
        if not heads or not groups:
            raise UnknownError
        q = (q[0], heads, q[1], dims.floordiv(q[2], heads))
        k = (k[0], groups, k[1], dims.floordiv(k[2], groups))
        v = (v[0], groups, v[1], dims.floordiv(v[2], groups))
        out: Shape = (q[0], q[2], dims.mul(v[3], heads))
    elif len(q) == len(k) == len(v) == 4:
        out = (*q[:3], v[3])
    else:
        raise UnknownError
    length = dims.add(call.shape(4)[2], k[2]) if call.has(4) else k[2]
    types: list[OnnxType | None] = [
        TensorType(kinds[0], out),
        TensorType(kinds[1], (*k[:2], length, k[3])),
        TensorType(kinds[2], (*v[:2], length, v[3])),
        TensorType(kinds[0], (*q[:3], length)),
    ]
    return types[: call.count]


def _attention_flops(n: Sized) -> int:
    """Q times K, mask, softmax, and the result times V: 2BHLSE + BHLS + 5BHLS + 2BHLSV.

    Keys and values of the past are part of S; with fewer heads of keys than of queries (grouped
    queries) the work is that of the queries' heads.
    """
    query, key, value = n.input(0), n.input(1), n.input(2)
    if len(query) == 4:
        batch, heads, rows, width = query
        columns, deep = key[2], value[3]
    else:
        heads = n.attribute("q_num_heads") or 1
        batch, rows, full = query
        width, columns = full // heads, key[1]
        deep = value[2] // (n.attribute("kv_num_heads") or heads)
    if n.has(4):
        columns += n.input(4)[2]
    scores = batch * heads * rows * columns
    return scores * (2 * width + n.has(3) + 5 + 2 * deep)


FACTS = (
    OperatorFacts(
        "Attention",
        droppable_outputs=True,
        heavy=True,
        infer=_attention_types,
        flops=_attention_flops,
        changes={
            24: Change(
                "causal masks beside a cache and the scores as an output were specified anew",
                only_with=("is_causal", "qk_matmul_output_mode", "softmax_precision"),
            )
        },
    ),
    OperatorFacts("LinearAttention", heavy=True),
    OperatorFacts("RotaryEmbedding", flops=per_input(3)),
    OperatorFacts("FlexAttention", domain="ai.onnx.preview", heavy=True, folding=NEVER),
)
