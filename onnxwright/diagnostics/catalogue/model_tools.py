"""Messages about changing a finished model: extract, compose, set shapes, rename (OW875 on)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import ModelToolError, OnnxwrightError


@dataclass(frozen=True, kw_only=True)
class NotAModel(Diagnostic):
    """What is given is not an ONNX model, or the file cannot be read as one."""

    code: ClassVar[str] = "OW875"
    title: ClassVar[str] = "{what} is not an ONNX model"
    label: ClassVar[str] = "{reason}"
    help: ClassVar[str] = "give an onnx.ModelProto, an onnx_ir.Model, or the path of a model file"
    error: ClassVar[type[OnnxwrightError]] = ModelToolError
    what: str
    reason: str
