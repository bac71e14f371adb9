"""Models of any kind in, and the same kind out: ModelProto, `onnx_ir.Model`, or a path."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import onnx
import onnx_ir as ir

from onnxwright.diagnostics.catalogue import model_tools as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.loading import is_source, open_ir_model, serialized
from onnxwright.ir.writing import Save, data_of

Model: TypeAlias = "onnx.ModelProto | ir.Model | str | PathLike[str]"
# Above this many bytes protobuf cannot hold a model in one message.
_LIMIT = 2**31 - 2**20
_SMALL, _ALIGNMENT = 1024, 4096  # bytes of a weight that goes out, and where it begins


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
    return ir.to_proto(made)


def save(model: ir.Model, path: str | PathLike[str]) -> Path:
    """Write a model; weights go to a file beside it where it is over 2 GB.

    Args:
        model: the model.
        path: the file.

    Returns:
        The path.
    """
    target = Path(path)
    tensors = [
        v.const_value for v in model.graph.initializers.values() if v.const_value is not None
    ]
    size = sum(t.nbytes for t in tensors)
    folder = target.parent.resolve()
    elsewhere = any(
        isinstance(t, ir.ExternalTensor) and Path(t.base_dir).resolve() != folder for t in tensors
    )
    kept = [(v, v.const_value) for v in model.graph.initializers.values()]
    with Save(target) as files:
        try:
            if size > _LIMIT or elsewhere:
                _write_weights([v for v, t in kept if t is not None and _goes_out(t)], files)
            data = serialized(ir.to_proto(model))
        finally:
            for value, tensor in kept:
                value.const_value = tensor
        files.commit(data, keep=data_of(tensors))
    return target


def _goes_out(tensor: Any) -> bool:
    """Whether a weight is written to the data file: large ones, and those that were in one."""
    return tensor.nbytes >= _SMALL or isinstance(tensor, ir.ExternalTensor)


def _write_weights(values: list[ir.Value], files: Save) -> None:
    """Write weights to a data file, and let the values point there."""
    file, places = files.data_file(), []
    for value in values:
        tensor: Any = value.const_value
        file.seek(-(-file.tell() // _ALIGNMENT) * _ALIGNMENT)
        places.append(file.tell())
        file.write(tensor.tobytes())
    location = files.location(file)
    for value, offset in zip(values, places, strict=True):
        tensor = value.const_value
        value.const_value = ir.ExternalTensor(
            location, offset, tensor.nbytes, tensor.dtype, shape=tensor.shape, name=tensor.name,
            base_dir=str(files.target.parent),
        )  # fmt: skip


__all__ = ["Model", "opened", "returned", "save"]
