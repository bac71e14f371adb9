"""Random inputs that a model can take: sizes that its weights ask for, indices that are in range.

What a model does with an input says what it may hold: an index of Gather lies within the axis, the
argument of Log is positive, what is quantized lies where the quantized type reaches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx

from onnxwright.diagnostics.catalogue.model_tools import BadModelArgument
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.text import clean
from onnxwright.ir.adapters import from_type_proto
from onnxwright.types import dims
from onnxwright.types.kinds import MapType, OnnxType, OptionalType, SequenceType, TensorType
from onnxwright.verification.input_uses import Graph, Limits, limits_of

_FULL = frozenset(["int8", "uint8", "int16", "uint16"])
_EDGE = 3.0  # beyond this many standard deviations nothing is drawn where one bound is not known


@dataclass(frozen=True)
class Sizes:
    """The sizes of dimensions that are not numbers.

    Fields:
        other: the size of a dimension without a name, and of names that are not in `named`.
        named: name -> size.
    """

    other: int
    named: Mapping[str, int]

    def of(self, dim: Any) -> int:
        """The size of a dimension: a number, a name, an expression of names, or None."""
        if isinstance(dim, int):
            return dim
        if dim is None:
            return self.other
        names = {n: self.named.get(n, self.other) for n in dims.names_in(dim)}
        value = dims.evaluate(dim, names)
        return self.other if value is None else max(int(value), 0)


def drawn(
    model: onnx.ModelProto | Graph, size: int, rng: np.random.Generator, *, apart: bool = False
) -> dict[str, Any]:
    """Random inputs of a model that it can take, as far as the model says what these are.

    Args:
        model: the model, whose weights are not needed, or its graph from an earlier call.
        size: the value of each dimension that is not a number, unless a weight asks for another.
        apart: give each name of a dimension a size of its own, from `size` on.

    Returns:
        A value for each input that has no default: an array, a list of arrays for a sequence, a
        dict for a map; an optional has a value.

    Raises:
        ModelToolError: the type of an input is not known (OW882).

    Example:
        >>> text = '<ir_version: 10, opset_import: ["" : 20]> g (int64[N] i) => (float[N, 2] y)'
        >>> text += "<float[3, 2] w = {0, 1, 2, 3, 4, 5}> { y = Gather(w, i) }"
        >>> indices = drawn(onnx.parser.parse_model(text), 100, np.random.default_rng(0))["i"]
        >>> int(indices.min()), int(indices.max())
        (0, 2)
    """
    graph = model if isinstance(model, Graph) else Graph.of(model)
    kinds: dict[str, OnnxType] = {}
    for info in graph.inputs:
        kind = from_type_proto(info.type)
        inner = _tensor_in(kind)
        if kind is None or inner is None or inner.dtype is None or inner.shape is None:
            fail(BadModelArgument(
                argument="model",
                reason=f"nothing can be drawn for the input `{clean(info.name)}`: the model does "
                "not say its element type and number of dimensions",
                advice="give inputs: `feeds=[{name: array}]`"
            ))  # fmt: skip
        if isinstance(kind, TensorType):
            kind = replace(kind, shape=graph.with_known_sizes(info.name, inner.shape))
        kinds[info.name] = kind
    shapes = [inner.shape or () for inner in map(_tensor_in, kinds.values()) if inner is not None]
    names = dict.fromkeys(n for shape in shapes for d in shape if isinstance(d, str)
                          for n in dims.names_in(d))  # fmt: skip
    sizes = Sizes(size, {
        name: graph.sizes.get(name, size + n * apart) for n, name in enumerate(names)
    })  # fmt: skip
    return {
        name: _value(kind, sizes, limits_of(graph, name, sizes.of), rng)
        for name, kind in kinds.items()
    }


def _tensor_in(kind: OnnxType | None) -> TensorType | None:
    """The type of the tensors that a value consists of."""
    while isinstance(kind, (SequenceType, OptionalType, MapType)):
        kind = kind.value if isinstance(kind, MapType) else kind.elem
    return kind if isinstance(kind, TensorType) else None


def _value(kind: OnnxType | None, sizes: Sizes, limits: Limits, rng: np.random.Generator) -> Any:
    if isinstance(kind, OptionalType):
        return _value(kind.elem, sizes, limits, rng)
    if isinstance(kind, SequenceType):
        return [_value(kind.elem, sizes, limits, rng) for _ in range(max(sizes.other, 1))]
    if isinstance(kind, MapType):
        keys = [f"key{n}" if kind.key.is_string else n for n in range(max(sizes.other, 1))]
        return {key: _value(kind.value, sizes, limits, rng).item() for key in keys}
    assert isinstance(kind, TensorType)
    return _array(kind, sizes, limits, rng)


def _array(kind: TensorType, sizes: Sizes, limits: Limits, rng: np.random.Generator) -> Any:
    assert kind.shape is not None
    assert kind.dtype is not None
    shape = [sizes.of(d) for d in kind.shape]
    dtype = kind.dtype.numpy
    if limits.is_shape:
        return np.where(np.arange(int(np.prod(shape))) == 0, -1, 1).reshape(shape).astype(dtype)
    if dtype.kind == "b":
        return _mask(rng.integers(0, 2, size=shape).astype(bool), sizes)
    if dtype.kind in "iu":
        return _integers(kind.dtype.name.lower(), dtype, shape, sizes, limits, rng)
    if dtype.kind in "OSUT":
        return rng.choice(np.array(["a", "b", "cd"], object), size=shape)
    if limits.low is None and limits.high is None:
        return rng.normal(size=shape).astype(dtype)
    low = _EDGE * -1 if limits.low is None else limits.low
    high = max(low, 0) + _EDGE if limits.high is None else limits.high
    if limits.whole:
        return rng.integers(int(low), int(high) + 1, size=shape).astype(dtype)
    return rng.uniform(min(low, high), high, size=shape).astype(dtype)


def _integers(
    name: str, dtype: Any, shape: list[int], sizes: Sizes, limits: Limits, rng: np.random.Generator
) -> Any:
    """Integers: within limits, any of a small type, else 0 and 1 as a mask."""
    if limits.low is None and limits.high is None:
        if name in _FULL:
            reach = np.iinfo(dtype)
            return rng.integers(reach.min, int(reach.max) + 1, size=shape).astype(dtype)
        return _mask(rng.integers(0, 2, size=shape).astype(dtype), sizes)
    low = 0 if limits.low is None else int(np.ceil(limits.low))
    high = max(low, 1) if limits.high is None else int(np.floor(limits.high))
    return rng.integers(low, max(low, high) + 1, size=shape).astype(dtype)


def _mask(array: Any, sizes: Sizes) -> Any:
    """A mask of which no row hides everything; a single one says yes at even sizes."""
    if array.ndim == 0 or array.size == 1:
        array[...] = sizes.other % 2 == 0
    elif array.size:
        array[..., 0] = 1
    return array
