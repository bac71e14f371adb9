"""Arrays that arrive in a model as graph initializers, where plain arrays become constants."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from onnxwright.types.dtypes import DType

Array = np.ndarray[Any, Any]


class External:
    """A tensor in a file beside a model: where it is, and what it is.

    Attributes:
        location: the file, relative to the model.
        offset, length: the bytes in the file.
        dtype: the number of the ONNX element type.
        shape: its shape.
        checksum: a checksum, if the model has one.
    """

    def __init__(
        self,
        location: str,
        dtype: int,
        shape: tuple[int, ...],
        *,
        offset: int | None = None,
        length: int | None = None,
        checksum: str | None = None,
        folder: str | Path = ".",
    ) -> None:
        self.location = location
        self.dtype = dtype
        self.shape = shape
        self.offset = offset
        self.length = length
        self.checksum = checksum
        self.folder = Path(folder)

    def array(self) -> Array:
        """The numbers, mapped from the file when they are read.

        Raises:
            ValueError: the location leaves the model's folder.
            FileNotFoundError: the file does not exist.
        """
        path = _inside(self.folder, self.location)
        kind = DType(self.dtype)
        if kind.bits < 8:
            raw = np.fromfile(path, np.uint8, count=self.length or -1, offset=self.offset or 0)
            return unpack_bits(raw, kind.bits, self.shape, kind.numpy)
        mode: Any = "r"
        if 0 in self.shape:
            return np.zeros(self.shape, kind.numpy)
        memory_map: Array = np.memmap(path, kind.numpy, mode, self.offset or 0, self.shape)
        return memory_map


def unpack_bits(raw: Array, bits: int, shape: tuple[int, ...], dtype: Any) -> Array:
    """Numbers of less than a byte, low bits first, as an array of one each."""
    count = int(np.prod(shape))
    if 8 % bits:  # of six bits: four numbers in three bytes
        every = np.unpackbits(raw, bitorder="little")[: count * bits].reshape(count, bits)
        flat = np.packbits(every, axis=-1, bitorder="little").reshape(-1)
    else:
        parts = [(raw >> (bits * n)) & ((1 << bits) - 1) for n in range(8 // bits)]
        flat = np.stack(parts, axis=-1).reshape(-1)[:count]
    unpacked: Array = flat.astype(np.uint8).view(dtype).reshape(shape)
    return unpacked


def _inside(folder: Path, location: str) -> Path:
    """The file of an external tensor, which may not be outside the folder of the model."""
    root = Path(os.path.realpath(folder))
    path = Path(os.path.realpath(root / location))
    if root != path and root not in path.parents:
        raise ValueError(f"external data may not leave the model's folder: {location!r}")
    return path


class Initializer(np.ndarray[Any, Any]):
    """An array marked to become a graph initializer; made by `initializer`.

    Attributes:
        onnx_name: the name in the model; the Python variable's by default.
        doc_string: a description.
        external: where the numbers are kept, if they stay outside the model.
        sparse: the sparse tensor it represents, serialized, if it is one.
    """

    onnx_name: str | None
    doc_string: str
    external: External | None
    sparse: bytes | None

    def __array_finalize__(self, source: Any) -> None:
        self.onnx_name = None
        self.doc_string = ""
        self.external = None
        self.sparse = None

    def __reduce__(self) -> Any:
        return _restore, (np.asarray(self), self.onnx_name, self.doc_string)


def _restore(array: Array, name: str | None, doc_string: str) -> Initializer:
    return initializer(array, name=name, doc_string=doc_string)


def initializer(
    array: Any, *, name: str | None = None, doc_string: str = "", sparse: bytes | None = None
) -> Initializer:
    """Mark an array: a script that reads it gets a graph initializer, not a Constant node.

    In an eager run it is the array.  Defined outside a script it belongs to the main graph; called
    inside a nested function, to that function's graph.  In an ONNX function, which cannot have
    initializers, it is a constant.

    Args:
        array: an array, or `External`: a tensor in a file beside the model, which stays there.
        name: its name in the model; that of the Python variable by default.
        doc_string: a description.
        sparse: a serialized SparseTensorProto that the model is to have in its place.

    Returns:
        The array, marked.

    Source:
        onnx.proto, GraphProto.initializer.

    Example:
        >>> weight = initializer(np.array([1.0, 2.0], np.float32), name="fc.weight")
        >>> weight.onnx_name, float(weight.sum())
        ('fc.weight', 3.0)
    """
    outside = array if isinstance(array, External) else None
    held = outside.array() if outside is not None else np.asarray(array)
    view = held.view(Initializer)
    view.onnx_name = name
    view.doc_string = doc_string
    view.external = outside
    view.sparse = sparse
    return view
