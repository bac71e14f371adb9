"""Initializers that hold the same are stored once.

Weights of floats that hold one number in every element (zeros, ones) are left apart: that is what
biases and scales begin with, so that it does not say that they are one weight.  Tensors of a module
that may be given other numbers are one only if they are the same object.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.ir.nested import all_graphs
from onnxwright.ir.saving import check_there
from onnxwright.ir.stored import props_of
from onnxwright.optimizer.weight_sources import drop_unused, is_fixed, is_missing

# Bytes that are read at a time, and of each of the three places that are compared first.
_CHUNK, _SAMPLE = 1 << 22, 64
_EXACT = (ir.DataType.BOOL, ir.DataType.STRING)


def share_weights(
    model: ir.Model,
    fixed: frozenset[str] = frozenset(),
    *,
    frozen: bool = False,
    weights: bool = True,
) -> dict[str, str]:
    """Let one initializer of the main graph take the place of others of the same type and elements.

    Of tensors of one type and shape a few bytes are compared first, and the digests of those that
    agree in them: what differs is not read whole.

    Args:
        model: the model; it is changed.
        fixed: names of initializers that stay what they are.
        frozen: whether weights of floats are not trained any more.
        weights: whether they are shared at all where they are not frozen.  A weight of one reader
            may be folded into another, a shared one stays: so they come last.

    Returns:
        The names of the initializers that are gone, each with the name of the one in its place.
    """
    gone: list[ir.Value] = []
    replaced: dict[str, str] = {}
    for group in _alike(model, fixed):
        for same in _equal(group, frozen, weights or frozen):
            kept = same[0]
            if kept.graph is not model.graph:
                continue  # the bodies of others do not see it
            for value in same[1:]:
                ir.convenience.replace_all_uses_with(value, kept)
                for name, text in props_of(value).items():
                    kept.metadata_props.setdefault(name, text)
                gone.append(value)
                replaced[str(value.name)] = str(kept.name)
    drop_unused(gone)
    return replaced


def _alike(model: ir.Model, fixed: frozenset[str]) -> list[list[ir.Value]]:
    """Initializers that may change places, by type and shape, where there are several."""
    groups: dict[Hashable, list[ir.Value]] = {}
    for graph in all_graphs(model.graph):
        for value in graph.initializers.values():
            if is_fixed(value) and not value.is_graph_output() and value.name not in fixed:
                groups.setdefault(_form(value), []).append(value)
    return [group for group in groups.values() if len(group) > 1]


def _form(value: ir.Value) -> Hashable:
    tensor: Any = value.const_value
    return tensor.dtype, tuple(tensor.shape)


def _equal(group: list[ir.Value], frozen: bool, weights: bool) -> Iterator[list[ir.Value]]:
    """Those of some initializers of one type and shape that are equal, several each time."""
    is_weight = _is_weight(group[0])  # they have one type and shape
    if is_weight and not weights:
        yield from _grouped(group, _identity)
        return

    tensor: Any = group[0].const_value
    size = 0 if tensor.dtype == ir.DataType.STRING else int(tensor.nbytes)

    def key(value: ir.Value) -> Hashable:
        return _identity(value) if _is_opaque(value, frozen) else _sample(value, size)

    for same in _grouped(group, key):
        if len({_identity(v) for v in same}) == 1:
            yield same
            continue
        for equal in _grouped(same, _digest):
            if frozen or not is_weight or not _is_uniform(equal[0]):
                yield equal
            else:
                yield from _grouped(equal, _identity)


def _grouped(
    values: Iterable[ir.Value], key: Callable[[ir.Value], Hashable]
) -> Iterator[list[ir.Value]]:
    """Values that have a key in common, several each time."""
    groups: dict[Hashable, list[ir.Value]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return (group for group in groups.values() if len(group) > 1)


def _is_opaque(value: ir.Value, frozen: bool) -> bool:
    """Whether the bytes of a tensor are not read: a module may give others, or has none yet."""
    tensor: Any = value.const_value
    if tensor.dtype == ir.DataType.STRING or is_missing(tensor):
        return True
    held = isinstance(tensor, (ir.Tensor, ir.ExternalTensor, ir.serde.TensorProtoTensor))
    return not frozen and not held


def _is_weight(value: ir.Value) -> bool:
    """Whether a tensor is of floats and not one number."""
    tensor: Any = value.const_value
    number: bool = tensor.dtype.is_integer() or tensor.dtype in _EXACT
    return not number and tensor.size > 1


def _identity(value: ir.Value) -> Hashable:
    """The place of a tensor's elements in a file, or the tensor itself."""
    tensor: Any = value.const_value
    if isinstance(tensor, ir.ExternalTensor):
        return str(tensor.path), tensor.offset, tensor.length
    return id(tensor)


def _reader(tensor: Any) -> Callable[[int, int], bytes | memoryview]:
    """A function that returns the bytes of a tensor between two offsets, reading only these."""
    if isinstance(tensor, ir.ExternalTensor):
        check_there(tensor)
        path, first = tensor.path, tensor.offset or 0

        def part(start: int, end: int) -> bytes:
            with open(path, "rb") as file:  # noqa: PTH123 - onnx_ir gives texts and paths
                file.seek(first + start)
                return file.read(end - start)

        return part
    if tensor.dtype.itemsize < 1:  # several elements in a byte, as files hold them
        packed = tensor.tobytes()
        return lambda start, end: packed[start:end]
    flat = np.ascontiguousarray(tensor.numpy()).reshape(-1).view(np.uint8).data
    return lambda start, end: flat[start:end]


def _sample(value: ir.Value, size: int) -> Hashable:
    """A few bytes of a tensor: where they differ, the rest is not read."""
    tensor: Any = value.const_value
    try:
        if size <= _SAMPLE and not isinstance(tensor, ir.ExternalTensor):
            return bytes(tensor.tobytes())
        read = _reader(tensor)
        middle = size // 2
        places = ((0, _SAMPLE), (middle, middle + _SAMPLE), (max(size - _SAMPLE, 0), size))
        return tuple(bytes(read(start, min(end, size))) for start, end in places)
    except OSError:
        return _identity(value)


def _digest(value: ir.Value) -> Hashable:
    """What two arrays of one type and shape have in common only if they are the same."""
    digest = hashlib.blake2b(digest_size=32)
    for piece in _pieces(value.const_value):
        digest.update(piece)
    return digest.digest()


def _pieces(tensor: Any) -> Iterator[bytes | memoryview]:
    read, size = _reader(tensor), int(tensor.nbytes)
    for start in range(0, size, _CHUNK):
        yield read(start, min(start + _CHUNK, size))


def _is_uniform(value: ir.Value) -> bool:
    """Whether all elements of a tensor have the same bytes."""
    tensor: Any = value.const_value
    width = max(int(tensor.dtype.itemsize), 1)
    first: bytes | None = None
    for piece in _pieces(tensor):
        first = bytes(piece[:width]) if first is None else first
        if bytes(piece) != first * (len(piece) // width):
            return False
    return True
