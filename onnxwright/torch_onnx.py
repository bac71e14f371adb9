"""torch.onnx's names over this exporter: `from onnxwright import torch_onnx` in its place."""

from __future__ import annotations

from typing import Any

from onnxwright.errors import ExportError as OnnxExporterError
from onnxwright.exporter.program.torch_program import TorchONNXProgram as ONNXProgram
from onnxwright.exporter.torch_onnx import export, of_torch

# What torch.onnx itself has for modules to call while they are exported, or for call sites to name.
_OF_TORCH = (
    "OperatorExportTypes",
    "TrainingMode",
    "is_in_onnx_export",
    "ops",
    "ExportableModule",
    "InputObserver",
    "testing",
    "verification",
)
_REPLACED = {
    "register_custom_op_symbolic": "give `custom_translation_table=` to `export`, or use `ow.aten`",
    "unregister_custom_op_symbolic": "lowerings are given to one export: there is none to remove",
    "symbolic_helper": "lowerings are functions over `op`: see `custom_translation_table=`",
    "select_model_mode_for_export": "give `training=` to `export`",
}


def __getattr__(name: str) -> Any:
    if name in _OF_TORCH:
        return of_torch(name)
    if name in _REPLACED:
        raise AttributeError(f"onnxwright.torch_onnx has no {name!r}: {_REPLACED[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["ONNXProgram", "OnnxExporterError", "export"]
