"""Models of every kind that the optimizer takes, opened as onnx_ir and returned in their kind."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import onnx
import onnx_ir as ir

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import rules as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.loading import open_ir_model
from onnxwright.ir.serialize import to_proto


def opened(model: Any) -> tuple[ir.Model, Callable[[ir.Model], Any]]:
    """A model as one of onnx_ir, and what brings one of onnx_ir into the kind that was given.

    Args:
        model: a ModelProto, an `onnx_ir.Model`, bytes, a path or an `ONNXProgram`.

    Returns:
        The model and the function.

    Raises:
        ScriptValueError: it is of another kind.
    """
    if isinstance(model, onnx.ModelProto):
        return open_ir_model(model, schemas=True), lambda made: _as_proto(made, model)
    if isinstance(model, (ir.Model, bytes, str, os.PathLike)):
        return open_ir_model(model, schemas=True), lambda made: made
    with_model = getattr(model, "with_model", None)
    if with_model is not None and isinstance(getattr(model, "model", None), ir.Model):
        return model.model, with_model
    fail(messages.BadOptimizerOption(
        name="model", given=f"an object of type {type(model).__name__}",
        wanted="a ModelProto, an onnx_ir.Model, a path or an ONNXProgram", span=user_span(),
    ))  # fmt: skip


def _as_proto(made: ir.Model, source: onnx.ModelProto) -> onnx.ModelProto:
    """A model as a ModelProto; initializers have types of their own, and no `value_info`."""
    proto: onnx.ModelProto = to_proto(made)
    held = {i.name for i in proto.graph.initializer} - {v.name for v in source.graph.value_info}
    kept = [v for v in proto.graph.value_info if v.name not in held]
    if len(kept) < len(proto.graph.value_info):
        del proto.graph.value_info[:]
        proto.graph.value_info.extend(kept)
    return proto
