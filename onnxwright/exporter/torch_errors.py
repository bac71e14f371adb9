"""Errors of the exporter are also torch.onnx's, for call sites that catch those."""

from __future__ import annotations

from torch.onnx import OnnxExporterError

from onnxwright.errors import ExportError


def extend() -> None:
    """Make `ExportError` a `torch.onnx.OnnxExporterError`, too.

    `errors` does not import torch, so the base class comes when the exporter is imported; nothing
    raises an `ExportError` before.
    """
    if not issubclass(ExportError, OnnxExporterError):
        ExportError.__bases__ = (*ExportError.__bases__, OnnxExporterError)
