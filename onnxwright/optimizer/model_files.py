"""Models of any kind in, and the same kind out: ModelProto, `onnx_ir.Model`, or a path."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import onnx
import onnx_ir as ir

from onnxwright.diagnostics.catalogue import model_tools as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.loading import is_source, open_ir_model, raise_damage, serialized
from onnxwright.ir.model_protos import initializers
from onnxwright.ir.serialize import to_proto
from onnxwright.ir.validation import Damage
from onnxwright.ir.writing import Save, data_of

Model: TypeAlias = "onnx.ModelProto | ir.Model | str | PathLike[str]"
# Above this many bytes protobuf cannot hold a model in one message.
_LIMIT = 2**31 - 2**20
_SMALL, _ALIGNMENT = 1024, 4096  # bytes of a weight that goes out, and where it begins
_LARGE = 1 << 20  # bytes of a weight that goes out where others are out already


def opened(model: Any) -> ir.Model:
    """A model of any kind as an `onnx_ir.Model`, its weights unread.

    Args:
        model: a ModelProto, an `onnx_ir.Model` (which is returned as it is), a path, or an object
            with `.model_proto`.

    Returns:
        The model.

    Raises:
        ModelToolError: it is not a model (OW875).
        ModelError: it is damaged, or the file cannot be read.
    """
    proto = getattr(model, "model_proto", model)
    kinds = (onnx.FunctionProto, onnx.GraphProto, ir.Function, ir.Graph, ir.GraphView)
    if not is_source(proto) or isinstance(proto, kinds):
        what = f"a value of type {type(model).__name__}"
        fail(messages.NotAModel(what=what, reason="a ModelProto, onnx_ir.Model or path is needed"))
    if isinstance(proto, onnx.ModelProto) and not proto.HasField("graph"):
        fail(messages.NotAModel(what="this ModelProto", reason="it has no graph"))
    found: ir.Model = open_ir_model(proto)
    return found


def returned(made: ir.Model, given: Any, output: str | PathLike[str] | None) -> Any:
    """A model as the kind that was given, or written to a file.

    Args:
        made: the model.
        given: what the user gave.
        output: a file to write it to.

    Returns:
        The path, or the model: a ModelProto where one was given, else an `onnx_ir.Model`.
    """
    if output is not None:
        return save(made, output)
    if isinstance(given, (ir.Model, str, PathLike)):
        return made
    return to_proto(made)


def save(model: ir.Model, path: str | PathLike[str]) -> Path:
    """Write a model; weights go to a file beside it where it is over 2 GB, or others are in files.

    Weights that are in files of the same folder stay there, and are not written again; those in
    files of other folders are copied beside the model, part by part, equal ones once.

    Args:
        model: the model; it is the same afterwards.
        path: the file.

    Returns:
        The path.

    Raises:
        ModelError: what is left in the model is over 2 GB (OW751).
        OSError: it cannot be written.
    """
    target = Path(path)
    kept = [(v, v.const_value) for v in initializers(model)]
    with Save(target) as files:
        folder = str(files.target.parent)
        away = [v for v, t in kept if _is_elsewhere(t, folder)]
        inside = [v for v, t in kept if not isinstance(t, ir.ExternalTensor)]
        # Weights are in files because they are large, or because others of the model are.
        least = _LARGE if len(inside) < len(kept) else None
        if sum(int(v.const_value.nbytes) for v in inside) > _LIMIT:
            least = _SMALL
        if least is not None:
            away += [v for v in inside if v.const_value.nbytes >= least and _has_bytes(v)]
        try:
            if away:
                _write_weights(away, files)
            data = serialized(to_proto(model))
        finally:
            for value, tensor in kept:
                value.const_value = tensor
        files.commit(data, keep=data_of(tensor for _, tensor in kept))
    return target


def as_proto(model: ir.Model, folder: str | PathLike[str] | None = None) -> onnx.ModelProto:
    """A model as a proto that stands alone: weights in files of other folders are read into it.

    Args:
        model: the model; it is the same afterwards.
        folder: where the proto will be written; None for nowhere, as for a pipe.

    Returns:
        The proto.

    Raises:
        ModelError: it would be over 2 GB (OW751).
    """
    place = None if folder is None else os.path.realpath(folder)
    kept = [(v, v.const_value) for v in initializers(model)]
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
                value.const_value = ir.Tensor(tensor.numpy(), tensor.dtype, name=tensor.name)
        made: onnx.ModelProto = to_proto(model)
    finally:
        for value, tensor in kept:
            value.const_value = tensor
    return made


def _is_elsewhere(tensor: Any, folder: str) -> bool:
    """Whether a weight is in a file that a model in a folder cannot name."""
    return isinstance(tensor, ir.ExternalTensor) and os.path.realpath(tensor.base_dir) != folder


def _has_bytes(value: ir.Value) -> bool:
    """Whether a weight can be in a data file: strings cannot."""
    return value.dtype is not ir.DataType.STRING and not isinstance(
        value.const_value, ir.StringTensor
    )


def _write_weights(values: list[ir.Value], files: Save) -> None:
    """Write weights to a data file, and let the values point there."""
    file = files.data_file()
    places: dict[object, int] = {}
    for value in values:
        key = _content_of(value.const_value)
        if key not in places:
            places[key] = -(-file.tell() // _ALIGNMENT) * _ALIGNMENT
            file.seek(places[key])
            _write(value.const_value, file)
    location = files.location(file)
    for value in values:
        tensor: Any = value.const_value
        value.const_value = ir.ExternalTensor(
            location, places[_content_of(tensor)], tensor.nbytes, tensor.dtype,
            shape=tensor.shape, name=str(value.name), base_dir=str(files.target.parent),
        )  # fmt: skip


def _content_of(tensor: Any) -> object:
    """What two weights with the same bytes have in common, as far as it is known unread."""
    if isinstance(tensor, ir.ExternalTensor):
        return (str(tensor.path), tensor.offset, tensor.nbytes)
    return id(tensor)


def _write(tensor: Any, file: BinaryIO) -> None:
    """Append a weight to a file; one that is in a file is copied part by part."""
    write = getattr(tensor, "tofile", None)
    if write is not None:
        write(file)
    else:
        file.write(tensor.tobytes())


__all__ = ["Model", "as_proto", "opened", "returned", "save"]
