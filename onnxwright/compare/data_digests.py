"""Digests of the data of tensors, in memory or in a file, where holes of files take no time."""

from __future__ import annotations

import errno
import hashlib
import math
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import onnx

from onnxwright.ir.validation.tensors import nbytes_of
from onnxwright.types.dtypes import DType

_PIECE = 1 << 22  # bytes of a file read at once
_ZEROS = bytes(_PIECE)


def digest_of_bytes(data: bytes) -> str:
    """The digest of data in memory."""
    view = memoryview(data)
    return _of_pieces(len(view), lambda at: view[at : at + _PIECE], lambda at: at)


def digest_of_file(tensor: onnx.TensorProto, folder: str | None) -> str:
    """The digest of numbers in another file, read piece by piece; by their place if it cannot be.

    Only files inside the model's folder are read: a model may name any.

    Args:
        folder: the folder of the model; None where it is not known.
    """
    entries = {e.key: e.value for e in tensor.external_data}
    place = sorted((k, v) for k, v in entries.items() if k in ("location", "offset", "length"))
    if folder is None:
        return _of_place(place)
    try:
        root = Path(os.path.realpath(folder or "."))
        path = Path(os.path.realpath(root / entries.get("location", "")))
        if not path.is_relative_to(root):
            return _of_place(place)
        start = int(entries.get("offset", 0))
        facts = path.stat()
        # The file may have more than the tensor.
        left = nbytes_of(DType(tensor.data_type), math.prod(tensor.dims))
        # One file behind two models (or two runs) is read once.
        return _of_file(path, facts.st_mtime_ns, facts.st_size, start, left)
    except (OSError, ValueError):
        return _of_place(place)


def _of_place(place: list[tuple[str, str]]) -> str:
    return hashlib.blake2b(repr(["outside", *place]).encode(), digest_size=16).hexdigest()


@lru_cache(maxsize=4096)
def _of_file(path: Path, _changed: int, size: int, start: int, left: int) -> str:
    """The digest of a part of a file.

    Raises:
        ValueError: the file has no such part.
    """
    if start < 0 or left < 0 or start + left > size:
        raise ValueError(f"{path} has no bytes {start} to {start + left}")
    with path.open("rb") as file:

        def piece(at: int) -> bytes:
            file.seek(start + at)
            return file.read(min(_PIECE, left - at))

        return _of_pieces(left, piece, lambda at: _first_data(file.fileno(), start + at) - start)


def _of_pieces(
    size: int, piece: Callable[[int], bytes | memoryview], data: Callable[[int], int]
) -> str:
    """The digest of bytes; pieces of zeros are only counted, so that holes of files take no time.

    Args:
        piece: gives the bytes of the piece that begins at a place.
        data: gives the first place from another one on where there may be anything but zeros.
    """
    digest = hashlib.blake2b(digest_size=16)
    at = 0
    while at < size:
        at = max(at, data(at) // _PIECE * _PIECE)
        held = piece(at) if at < size else b""
        if held != _ZEROS[: len(held)]:
            digest.update(at.to_bytes(8, "little"))
            digest.update(held)
        at += _PIECE
    digest.update(size.to_bytes(8, "little"))
    return digest.hexdigest()


def _first_data(file: int, place: int) -> int:
    """The first place of a file from another one on that is not in a hole."""
    seek = getattr(os, "SEEK_DATA", None)
    if seek is None:
        return place
    try:
        return os.lseek(file, place, seek)
    except OSError as error:
        # Nothing but a hole follows; other systems do not know holes.
        return os.fstat(file).st_size if error.errno == errno.ENXIO else place
