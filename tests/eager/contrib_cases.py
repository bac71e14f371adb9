"""Calls of operators of com.microsoft: names, inputs and attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Case = tuple[str, tuple[Any, ...], dict[str, Any]]
RNG = np.random.default_rng(1)


def floats(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def whole(kind: Any, *shape: int) -> Any:
    limits = np.iinfo(kind)
    return RNG.integers(max(limits.min, -200), min(limits.max, 200), size=shape).astype(kind)


def ints(*numbers: Any) -> Any:
    return np.array(numbers, np.int32)


def attentions() -> Iterator[Case]:
    x, w, bias = floats(2, 3, 8), floats(8, 24), floats(24)
    heads: dict[str, Any] = {"num_heads": 2}
    yield "Attention", (x, w, bias), heads
    yield "Attention without a bias", (x, w), heads
    yield "Attention causal", (x, w, bias), {**heads, "unidirectional": 1}
    yield "Attention scale", (x, w, bias), {**heads, "scale": 0.2}
    sizes = {**heads, "qkv_hidden_sizes": [8, 8, 12]}
    yield "Attention sizes", (x, floats(8, 28), floats(28)), sizes
    masks = {
        "ends": ints(3, 2), "ends and starts": ints(3, 2, 1, 0),
        "rows": ints([1, 1, 0], [1, 0, 1]), "pairs": RNG.integers(0, 2, (2, 3, 3)).astype(np.int32),
    }  # fmt: skip
    masks["pairs"][:, :, 0] = 1
    for name, mask in masks.items():
        yield f"Attention mask of {name}", (x, w, bias, mask), heads
    yield "Attention mask and causal", (x, w, bias, ints(3, 2)), {**heads, "unidirectional": 1}
    filler = {**heads, "mask_filter_value": -1.5}
    yield "Attention filler", (x, w, bias, ints([1, 1, 0], [1, 0, 1])), filler
    past = floats(2, 2, 2, 5, 4)
    both = {**heads, "outputs": (0, 1)}
    yield "Attention past", (x, w, bias, None, past), both
    yield "Attention past causal", (x, w, bias, None, past), {**both, "unidirectional": 1}
    seen = np.ones((2, 8), np.int32)
    seen[1, 2:4] = 0
    yield "Attention past mask", (x, w, bias, seen, past), both
    yield "Attention added", (x, w, bias, None, None, floats(2, 2, 3, 3)), heads
    yield "Attention added once", (x, w, bias, None, None, floats(1, 1, 3, 3)), heads


def heads_side_by_side() -> Iterator[Case]:
    q, k, v = floats(2, 3, 8), floats(2, 5, 8), floats(2, 5, 8)
    heads: dict[str, Any] = {"num_heads": 2}
    for name, mask in {"ends": ints(5, 2), "rows": ints([1, 1, 0, 1, 1], [1, 0, 1, 0, 0])}.items():
        yield f"MultiHeadAttention mask of {name}", (q, k, v, None, mask), heads
    pairs = RNG.integers(0, 2, (2, 3, 5)).astype(np.int32)
    pairs[:, :, 0] = 1
    yield "MultiHeadAttention mask of pairs", (q, k, v, None, pairs), heads
    cache = floats(2, 2, 4, 4), floats(2, 2, 4, 4)
    three = {**heads, "outputs": (0, 1, 2)}
    step = q[:, :1], k[:, :1], v[:, :1]
    yield "MultiHeadAttention cache", (*step, None, None, None, *cache), three
    yield "MultiHeadAttention cache bias", (*step, floats(24), None, None, *cache), three
    rows = q, q, q
    causal = {**three, "unidirectional": 1}
    yield "MultiHeadAttention cache causal", (*rows, None, None, None, *cache), causal
    yield "MultiHeadAttention cache added", (*rows, None, None, floats(1, 1, 3, 7), *cache), three
    yield "MultiHeadAttention outputs", (q, k, v), three
    across = floats(2, 2, 5, 4), floats(2, 2, 5, 4)
    yield "MultiHeadAttention heads", (q, *across), heads


def shared_heads() -> Iterator[Case]:
    q, k, v = floats(2, 3, 64), floats(2, 3, 32), floats(2, 3, 32)
    attrs: dict[str, Any] = {"num_heads": 4, "kv_num_heads": 2, "outputs": (0, 1, 2)}
    first = ints(2, 2), ints(3)
    empty = np.zeros((2, 2, 0, 16), np.float32)
    tables = floats(16, 8), floats(16, 8)
    yield "GroupQueryAttention", (q, k, v, None, None, *first), attrs
    yield "GroupQueryAttention empty", (q, k, v, empty, empty, *first), attrs
    packed = np.concatenate([q, k, v], axis=-1)
    yield "GroupQueryAttention packed", (packed, None, None, None, None, *first), attrs
    for more in ({"scale": 0.3}, {"softcap": 2.0}, {"local_window_size": 2}, {"smooth_softmax": 1}):
        yield f"GroupQueryAttention {next(iter(more))}", (q, k, v, None, None, *first), {
            **attrs, **more,
        }  # fmt: skip
    for interleaved in (0, 1):
        rotary = {**attrs, "do_rotary": 1, "rotary_interleaved": interleaved}
        inputs = (q, k, v, None, None, *first, *tables)
        yield f"GroupQueryAttention rotary {interleaved}", inputs, rotary
    cache = floats(2, 2, 5, 16), floats(2, 2, 5, 16)
    step = q[:, :1], k[:, :1], v[:, :1]
    yield "GroupQueryAttention step", (*step, *cache, ints(5, 5), ints(6)), attrs
    yield "GroupQueryAttention step of rows", (*step, *cache, ints(5, 3), ints(6)), attrs
    window = {**attrs, "local_window_size": 3}
    yield "GroupQueryAttention step window", (*step, *cache, ints(5, 3), ints(6)), window
    turned = {**attrs, "do_rotary": 1}
    yield "GroupQueryAttention step rotary", (*step, *cache, ints(5, 3), ints(6), *tables), turned
    added = floats(2, 1, 3, 3)
    rest = (None, None, None, added)
    yield "GroupQueryAttention added", (q, k, v, None, None, *first, *rest), attrs
    sinks = (None, None, None, None, floats(4))
    yield "GroupQueryAttention sink", (q, k, v, None, None, *first, *sinks), attrs


def positions() -> Iterator[Case]:
    tables = floats(16, 2), floats(16, 2)
    places = np.array([[0, 3, 1], [5, 2, 7]])
    for interleaved in (0, 1):
        attrs = {"interleaved": interleaved}
        rows = (floats(2, 3, 8), places, *tables)
        yield f"RotaryEmbedding rows {interleaved}", rows, attrs
        yield f"RotaryEmbedding heads {interleaved}", (floats(2, 2, 3, 4), places, *tables), attrs
    yield "RotaryEmbedding offset", (floats(2, 3, 8), np.array([4]), *tables), {}
    part = {"num_heads": 2, "rotary_embedding_dim": 4}
    yield "RotaryEmbedding part", (floats(2, 3, 16), places, *tables), part


def embeddings() -> Iterator[Case]:
    ids, segments = RNG.integers(0, 9, (2, 3)).astype(np.int32), ints([0, 0, 1], [0, 1, 1])
    words, places, parts = floats(9, 8), floats(5, 8), floats(2, 8)
    norm = floats(8), floats(8)
    types = {"types": {1: np.int32}}
    both = {"outputs": (0, 1), **types}
    yield "EmbedLayerNormalization", (ids, segments, words, places, parts, *norm), both
    yield "EmbedLayerNormalization words", (ids, None, words, places, None, *norm), both
    mask = ints([1, 1, 0], [1, 0, 0])
    yield "EmbedLayerNormalization mask", (ids, segments, words, places, parts, *norm, mask), both
    order = ints([0, 2, 1], [4, 3, 0])
    inputs = (ids, segments, words, places, parts, *norm, mask, order)
    everything = {"outputs": (0, 1, 2), "epsilon": 0.01, **types}
    yield "EmbedLayerNormalization all", inputs, everything
    x = floats(2, 3, 8)
    rows = (x, floats(2, 3, 8), floats(8))
    yield "SkipSimplifiedLayerNormalization", rows, {}
    every = {"outputs": (0, 3), "epsilon": 0.01}
    yield "SkipSimplifiedLayerNormalization all", (*rows, floats(8)), every


def matrices() -> Iterator[Case]:
    yield "Inverse", (floats(2, 3, 3) + 3 * np.eye(3, dtype=np.float32),), {}
    yield "ExpandDims", (floats(2, 3), ints(1)[0]), {}
    yield "ExpandDims last", (floats(2, 3), ints(-1)[0]), {}
    for metric in ("euclidean", "sqeuclidean"):
        yield f"CDist {metric}", (floats(4, 3), floats(5, 3)), {"metric": metric}
    yield "TransposeMatMul", (floats(4, 3), floats(4, 5)), {"transA": 1, "alpha": 0.5}
    yield "Trilu", (floats(2, 3, 4),), {}
    yield "Trilu lower", (floats(2, 3, 4), np.array(1)), {"upper": 0}
    a, b = whole(np.int16, 3, 4), whole(np.int16, 4, 2)
    yield "MatMulInteger16", (a, b), {"types": {0: np.int32}}
    b, scales = whole(np.uint8, 3, 2, 8), floats(3, 2)
    attrs = {"K": 32, "N": 3, "bits": 4, "block_size": 16}
    groups = ints(*([0, 1] * 16))
    yield "MatMulNBits g_idx", (floats(4, 32), b, scales, None, groups), attrs


def products_of_integers() -> Iterator[Case]:
    a = floats(2, 3, 4)
    for kind in (np.int8, np.uint8):
        b, zero, zeros = whole(kind, 4, 5), whole(kind, 1)[0], whole(kind, 5)
        scale, scales, bias = floats(1)[0] ** 2, floats(5) ** 2, floats(5)
        name = f"DynamicQuantizeMatMul {kind.__name__}"
        yield name, (a, b, scale), {}
        yield f"{name} zero", (a, b, scale, zero), {}
        yield f"{name} bias", (a, b, scale, None, bias), {}
        yield f"{name} columns", (a, b, scales, zeros, bias), {}
        rows, row_zero, name = whole(np.uint8, 2, 3, 4), whole(np.uint8, 1)[0], name.split()[1]
        yield f"MatMulIntegerToFloat {name}", (rows, b, scale, scale), {}
        yield f"MatMulIntegerToFloat {name} zeros", (rows, b, scale, scales, row_zero, zeros), {}
        inputs = (rows, b, scale, scale, row_zero, zero, bias)
        yield f"MatMulIntegerToFloat {name} bias", inputs, {}
    one, two = np.float32(0.05), np.float32(0.1)
    zero, other = np.uint8(120), np.uint8(100)
    a, b = whole(np.uint8, 3, 4), whole(np.uint8, 5, 4)
    inputs = (a, one, zero, b, two, other)
    yield "QGemm", inputs, {"transB": 1}
    yield (
        "QGemm a",
        (a.T.copy(), one, zero, b, two, other),
        {"transA": 1, "transB": 1, "alpha": 0.5},
    )
    vector = whole(np.int32, 5)
    yield "QGemm c", (*inputs, vector), {"transB": 1}
    result = {"transB": 1, "types": {0: np.uint8}}
    yield "QGemm y", (*inputs, vector, np.float32(0.3), np.uint8(90)), result


def integers() -> Iterator[Case]:
    for kind in (np.uint8, np.int8):
        name, types = kind.__name__, {"types": {0: kind}}
        x, y = whole(kind, 2, 4, 6, 6), whole(kind, 2, 4, 6, 6)
        s, t, u = (np.float32(f) for f in (0.04, 0.07, 0.05))
        z, z2, z3 = (kind(n) for n in (3, 7, 20))
        for op in ("QLinearAdd", "QLinearMul"):
            yield f"{op} {name}", (x, s, z, y, t, z2, u, z3), types
            yield f"{op} {name} rows", (x, s, z, y[0, :, :1], t, z2, u, z3), types
        for op in ("QLinearSigmoid", "QLinearLeakyRelu"):
            yield f"{op} {name}", (x, s, z, u, z3), types
        yield f"QLinearLeakyRelu {name} alpha", (x, s, z, u, z3), {"alpha": 0.3, **types}
        for last in (0, 1):
            channels = {"channels_last": last, **types}
            yield f"QLinearGlobalAveragePool {name} {last}", (x, s, z, t, z2), channels
            pool = {"kernel_shape": [2, 3], "strides": [2, 1], "pads": [0, 1, 0, 1], **channels}
            yield f"QLinearAveragePool {name} {last}", (x, s, z, t, z2), pool
        include = {"kernel_shape": [3, 3], "pads": [1] * 4, "count_include_pad": 1, **types}
        yield f"QLinearAveragePool {name} include", (x, s, z, t, z2), include
        yield f"QLinearConcat {name}", (u, z3, x, s, z, y, t, z2), {"axis": 1, **types}
        rows = np.float32(1 / 256)
        low = kind(np.iinfo(kind).min)
        soft = {"axis": -1, "opset": 13, **types}
        yield f"QLinearSoftmax {name}", (x[0, 0], s, z, rows, low), soft
        old = {"axis": 1, "opset": 11, **types}
        yield f"QLinearSoftmax {name} flat", (x[:, :2, 0], s, z, rows, low), old
        condition = RNG.integers(0, 2, (2, 1, 6, 6)).astype(bool)
        yield f"QLinearWhere {name}", (condition, x, s, z, y, t, z2, u, z3), types
    for kind in (np.uint8, np.int8, np.int16, np.uint16):
        name, zero = kind.__name__, kind(5)
        x, scale, scales = floats(2, 3, 4) * 4, np.float32(0.02), floats(3) ** 2 + np.float32(0.01)
        typed = {"types": {0: kind}}
        yield f"QuantizeLinear {name}", (x, scale, zero), typed
        zeros = whole(kind, 3)
        yield f"QuantizeLinear {name} axis", (x, scales, zeros), {"axis": 1, **typed}
        yield f"DequantizeLinear {name}", (whole(kind, 2, 3, 4), scale, zero), {}
        yield f"DequantizeLinear {name} axis", (whole(kind, 2, 3, 4), scales, zeros), {"axis": 1}
    x, w = whole(np.uint8, 1, 2, 5, 5), whole(np.int8, 3, 2, 3, 3)
    zeros = np.zeros(3, np.int8)
    scales = np.array([0.01, 0.02, 0.03], np.float32)
    end = np.float32(0.2), np.uint8(50)
    types = {"types": {0: np.uint8}, "pads": [1, 1, 1, 1]}
    start = np.float32(0.02), np.uint8(9)
    inputs = (x, *start, w, scales, zeros, *end, whole(np.int32, 3))
    yield "QLinearConv", inputs, types
    turned = (np.moveaxis(x, 1, -1).copy(), *inputs[1:])
    yield "QLinearConv last", turned, {"channels_last": 1, **types}
    x, w = whole(np.uint8, 2, 3, 8), whole(np.uint8, 8, 24)
    part = np.float32(0.01), np.float32(0.01)
    values = (x, w, floats(24), *part)
    heads = {"num_heads": 2}
    yield "QAttention", values, heads
    yield "QAttention zeros", (*values, None, np.uint8(100), np.uint8(90)), heads
    yield "QAttention mask", (*values, ints(3, 2), np.uint8(100), np.uint8(90)), heads
    all_ = (*values, None, np.uint8(100), np.uint8(90), floats(2, 2, 2, 5, 4))
    yield "QAttention past", all_, {**heads, "unidirectional": 1, "outputs": (0, 1)}


PARTS = (
    attentions, heads_side_by_side, shared_heads, positions, embeddings, matrices,
    products_of_integers, integers,
)  # fmt: skip
