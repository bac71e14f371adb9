"""torch.onnx's names over this exporter: `from onnxwright import torch_onnx` in its place."""

from __future__ import annotations

import importlib
from typing import Any

from onnxwright.errors import ExportError as OnnxExporterError
from onnxwright.exporter.program.torch_program import TorchONNXProgram as ONNXProgram
from onnxwright.exporter.torch_names.export import export, of_torch, select_model_mode_for_export
from onnxwright.exporter.torch_names.removed_arguments import ExportOptions, OnnxRegistry
from onnxwright.exporter.torch_names.removed_functions import (
    dynamo_export,
    enable_fake_mode,
    export_to_pretty_string,
)
from onnxwright.exporter.torch_names.removed_functions import export_with_outputs as _export
from onnxwright.exporter.torch_names.symbolics import (
    register_custom_op_symbolic,
    unregister_custom_op_symbolic,
)

# What torch.onnx itself has for modules to call while they are exported, or for call sites to name.
_OF_TORCH = (
    "OperatorExportTypes",
    "TrainingMode",
    "is_in_onnx_export",
    "ops",
    "errors",
    "ExportableModule",
    "InputObserver",
)
_MODULES = ("symbolic_helper", "testing", "utils", "verification")
_SYMBOLIC = "lowerings are functions over `op`: see `custom_translation_table=`"
_REPLACED = {
    "JitScalarType": "`onnxwright.DType` holds the element types",
    "load": "`onnx.load(path)` reads a model",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _OF_TORCH:
        return of_torch(name)
    if name.startswith("symbolic_"):
        raise AttributeError(f"onnxwright.torch_onnx has no {name!r}: {_SYMBOLIC}")
    if name in _REPLACED:
        raise AttributeError(f"onnxwright.torch_onnx has no {name!r}: {_REPLACED[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ExportOptions",
    "ONNXProgram",
    "OnnxExporterError",
    "OnnxRegistry",
    "_export",
    "dynamo_export",
    "enable_fake_mode",
    "export",
    "export_to_pretty_string",
    "register_custom_op_symbolic",
    "select_model_mode_for_export",
    "unregister_custom_op_symbolic",
]
