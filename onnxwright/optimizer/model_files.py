"""Models of any kind in, and the same kind out: ModelProto, `onnx_ir.Model`, or a path."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import onnx
import onnx_ir as ir

from onnxwright.diagnostics.catalogue import model_tools as messages
from onnxwright.diagnostics.diagnostic import fail

Model: TypeAlias = "onnx.ModelProto | ir.Model | str | PathLike[str]"
# Above this many bytes protobuf cannot hold a model in one message.
_LIMIT = 2**31 - 2**20


def opened(model: Any) -> ir.Model:
    """A model of any kind as an `onnx_ir.Model`, its weights unread.

    Args:
        model: a ModelProto, an `onnx_ir.Model` (which is returned as it is), a path, or an object
            with `.model_proto`.

    Returns:
        The model.

    Raises:
        ModelToolError: it is not a model, or the file cannot be read (OW875).
    """
    if isinstance(model, ir.Model):
        return model
    if isinstance(model, (str, PathLike)):
        try:
            return ir.load(os.fspath(model))
        except Exception as error:  # noqa: BLE001 - whatever protobuf and the loader say
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            fail(messages.NotAModel(what=f"`{os.fspath(model)}`", reason=reason))
    proto = getattr(model, "model_proto", model)
    if not isinstance(proto, onnx.ModelProto):
        what = f"a value of type {type(model).__name__}"
        fail(messages.NotAModel(what=what, reason="a ModelProto, onnx_ir.Model or path is needed"))
    if not proto.HasField("graph"):
        fail(messages.NotAModel(what="this ModelProto", reason="it has no graph"))
    found: Any = ir.from_proto(proto)
    return found  # type: ignore[no-any-return]


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
    external = f"{target.name}.data" if size > _LIMIT or elsewhere else None
    # To a temporary name first: a file that is there stays whole until the new one is.
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        ir.save(model, temporary, external_data=external)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return target


__all__ = ["Model", "opened", "returned", "save"]
