"""Models of `onnx_ir` as files: whole or not there, weights inside or in one file beside."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import onnx
import onnx_ir as ir
from onnx import serialization

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import loading as messages
from onnxwright.diagnostics.catalogue.model_tools import BadModelArgument
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.diagnostics.text import clean
from onnxwright.ir.loading import checked_external
from onnxwright.ir.model_protos import held_tensors
from onnxwright.ir.reading import form_of, raise_damage, serialized
from onnxwright.ir.serialize import to_proto
from onnxwright.ir.text_form import as_text
from onnxwright.ir.validation import Damage
from onnxwright.ir.writing import Save, data_of

# Above this many bytes protobuf cannot hold a model in one message.
_LIMIT = 2**31 - 2**20
_SMALL, _ALIGNMENT = 1024, 4096  # bytes of a weight that goes out, and where it begins
_LARGE = 1 << 20  # bytes of a weight that goes out where others are out already
_PIECE = 1 << 22  # bytes of a file read at once


def save(
    model: ir.Model,
    path: str | PathLike[str],
    *,
    external_data: bool | str | None = None,
    still_read: bool = True,
) -> Path:
    """Write a model in the form that the ending of its path asks for.

    By default weights that are in files of the same folder stay there, and are not written again;
    those in files of other folders are copied beside the model, part by part.  Weights of the same
    bytes are stored once.

    Args:
        model: the model; it is the same afterwards.
        path: the file; `.json`, `.textproto` and `.onnxtxt` are forms in text, which hold their
            weights.
        external_data: True: weights from 1 KB on in one file beside the model; False: all of them
            in the model; None: in files what is in files, and beside it what is over 2 GB.  A text:
            as True, in the file of this name, a path below the folder of the model.
        still_read: whether the model is used afterwards: then files that it reads weights from are
            not removed with the model that is replaced.

    Returns:
        The path.

    Raises:
        ModelError: what is left in the model is over 2 GB (OW751), or `.onnxtxt` would be another
            model (OW754).
        OSError: it cannot be written.
    """
    target = Path(path)
    form = form_of(target)
    if form == "protobuf" and external_data is not False:
        name = external_data if isinstance(external_data, str) else None
        _save_beside(model, target, name, everything=bool(external_data), still_read=still_read)
        return target
    written = in_form(as_proto(model), form)
    read = [value.const_value for value in held_tensors(model)] if still_read else []
    with Save(target) as files:
        files.commit(written, keep=data_of(read))
    return target


def in_form(proto: onnx.ModelProto, form: str) -> bytes:
    """A model as the bytes of a file.

    Args:
        form: what `form_of` says of the path: `protobuf`, or a form in text.

    Raises:
        ModelError: it is over 2 GB (OW751), or the text would be another model (OW754).
    """
    if form == "protobuf":
        return serialized(proto)
    if form == "onnxtxt":
        return as_text(proto)
    content: bytes | str = serialization.registry.get(form).serialize_proto(proto)
    return content.encode() if isinstance(content, str) else content


def _save_beside(
    model: ir.Model, target: Path, name: str | None, *, everything: bool, still_read: bool
) -> None:
    """Write a model as protobuf, weights in a file beside it: all, or where it is needed."""
    kept = [(v, v.const_value) for v in held_tensors(model)]
    with Save(target) as files:
        if name is not None:
            _check_unread(name, files.target.parent / name, [tensor for _, tensor in kept])
        folder = str(files.target.parent)
        away = [v for v, t in kept if _is_elsewhere(t, folder)]
        inside = [v for v, t in kept if not isinstance(t, ir.ExternalTensor)]
        # Weights are in files because they are large, or because others of the model are.
        least = _LARGE if len(inside) < len(kept) else None
        if sum(int(v.const_value.nbytes) for v in inside) > _LIMIT or everything:
            least = _SMALL
        if everything:
            away = [v for v, t in kept if isinstance(t, ir.ExternalTensor)]
        if least is not None:
            away += [v for v in inside if v.const_value.nbytes >= least and _has_bytes(v)]
        try:
            if away:
                write_weights(away, files, name)
            data = serialized(to_proto(model))
        finally:
            for value, tensor in kept:
                value.const_value = tensor
        _warn_missing([t for v, t in kept if v not in away])
        read = [t for v, t in kept if still_read or v not in away]
        files.commit(data, keep=data_of(read))


def _check_unread(name: str, path: Path, tensors: Sequence[Any]) -> None:
    """Refuse to replace a data file that the model, and maybe another one, reads weights from."""
    read = {os.path.realpath(t.path) for t in tensors if isinstance(t, ir.ExternalTensor)}
    if os.path.realpath(path) in read:
        fail(BadModelArgument(
            argument=f"external_data={name!r}", reason="the model reads its weights from this file",
            advice="give another name; with None, weights stay in files of the folder"
        ))  # fmt: skip


def _warn_missing(tensors: Sequence[Any]) -> None:
    """Say which data files a model names that do not exist."""
    missing: dict[str, int] = {}
    for tensor in tensors:
        if isinstance(tensor, ir.ExternalTensor) and not os.path.lexists(tensor.path):
            name = str(tensor.location)
            missing[name] = missing.get(name, 0) + 1
    if missing:
        names = ", ".join(f"`{clean(name)}`" for name in list(missing)[:3])
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        count = sum(missing.values())
        tensors = "one tensor is" if count == 1 else f"{count:,} tensors are"
        warn(messages.DataFileMissing(files=names + more, tensors=tensors, span=user_span()))


def as_proto(model: ir.Model, folder: str | PathLike[str] | None = None) -> onnx.ModelProto:
    """A model as a proto that stands alone: weights in files of other folders are read into it.

    Args:
        model: the model; it is the same afterwards.
        folder: where the proto will be written; None for nowhere, as for a pipe.

    Raises:
        ModelError: it would be over 2 GB (OW751).
    """
    place = None if folder is None else os.path.realpath(folder)
    kept = [(v, v.const_value) for v in held_tensors(model)]
    held = [t for _, t in kept if place is None or _is_elsewhere(t, place)]
    size = sum(int(t.nbytes) for t in held)
    if size > _LIMIT:
        raise_damage(Damage(
            "limit", "the model", f"its weights take {size / 1e9:.1f} GB, and a model in one "
            "message holds 2 GB", "write it to a file that ends in .onnx: weights go beside it",
        ))  # fmt: skip
    try:
        for value, tensor in kept:
            if isinstance(tensor, ir.ExternalTensor) and (
                place is None or _is_elsewhere(tensor, place)
            ):
                value.const_value = ir.Tensor(read_tensor(tensor), tensor.dtype, name=tensor.name)
        proto: onnx.ModelProto = to_proto(model)
    finally:
        for value, tensor in kept:
            value.const_value = tensor
    return proto


def _is_elsewhere(tensor: Any, folder: str) -> bool:
    """Whether a weight is in a file that a model in a folder cannot name."""
    return isinstance(tensor, ir.ExternalTensor) and os.path.realpath(tensor.base_dir) != folder


def _has_bytes(value: ir.Value) -> bool:
    """Whether a weight can be in a data file: strings cannot."""
    return value.dtype is not ir.DataType.STRING and not isinstance(
        value.const_value, ir.StringTensor
    )


def write_weights(values: Sequence[ir.Value], files: Save, name: str | None = None) -> None:
    """Write weights to one data file, equal ones once, and let the values point there.

    Args:
        values: the initializers; each holds its tensor, and afterwards a pointer into the file.
        name: the path of the data file below the folder of the model; None for a new one.
    """
    file = files.data_file()
    by_source: dict[object, int] = {}
    by_bytes: dict[bytes, int] = {}
    for value in values:
        key = _source_of(value.const_value)
        if key not in by_source:
            start = -(-file.seek(0, os.SEEK_END) // _ALIGNMENT) * _ALIGNMENT
            file.seek(start)
            write_tensor(value.const_value, file)
            first = by_bytes.setdefault(_digest(file, start), start)
            if first != start:
                file.truncate(start)
            by_source[key] = first
    location = files.location(file, name)
    for value in values:
        point_to(value, location, by_source[_source_of(value.const_value)], files)


def point_to(value: ir.Value, location: str, offset: int, files: Save) -> None:
    """Let an initializer point to where its tensor was written.

    Args:
        location: the data file, as the model names it.
        offset: where the tensor begins.
    """
    tensor: Any = value.const_value
    value.const_value = ir.ExternalTensor(
        location, offset, tensor.nbytes, tensor.dtype,
        shape=tensor.shape, name=str(value.name), base_dir=str(files.target.parent),
    )  # fmt: skip


def _digest(file: BinaryIO, start: int) -> bytes:
    """A digest of what a file holds from an offset to its end."""
    file.seek(start)
    digest = hashlib.blake2b()
    while piece := file.read(_PIECE):
        digest.update(piece)
    return digest.digest()


def _source_of(tensor: Any) -> object:
    """Where the bytes of a weight come from: equal ones need not be read twice."""
    if isinstance(tensor, ir.ExternalTensor):
        return (str(tensor.path), tensor.offset, tensor.nbytes)
    return id(tensor)


def check_there(tensor: Any) -> None:
    """Refuse a weight whose data file does not exist, or ends before it.

    Args:
        tensor: any tensor of `onnx_ir`.

    Raises:
        ModelError: its data cannot be read (OW743).
    """
    if not isinstance(tensor, ir.ExternalTensor):
        return
    end = (tensor.offset or 0) + (tensor.length or tensor.nbytes)
    try:
        if Path(tensor.path).stat().st_size >= end:
            return
    except OSError:
        pass
    checked_external(tensor, f"tensor `{tensor.name}`")


def read_tensor(tensor: Any) -> Any:
    """The elements of any tensor of `onnx_ir`.

    Raises:
        ModelError: the file that has them cannot be read, or is too short (OW743).
    """
    check_there(tensor)
    return tensor.numpy()


def write_tensor(tensor: Any, file: BinaryIO) -> None:
    """Append a weight to a file; one that is in a file is copied part by part.

    Args:
        file: the file; it is at its end.

    Raises:
        ModelError: the file that has the weight does not exist (OW743).
    """
    check_there(tensor)
    write = getattr(tensor, "tofile", None)
    if write is not None:
        write(file)
    else:
        file.write(tensor.tobytes())
