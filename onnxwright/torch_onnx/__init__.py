"""torch.onnx's names over this exporter: `from onnxwright import torch_onnx` in its place."""

from __future__ import annotations

import importlib
import sys
from importlib.abc import MetaPathFinder
from typing import Any

from onnxwright.errors import ExportError as OnnxExporterError
from onnxwright.exporter.program.torch_program import TorchONNXProgram as ONNXProgram
from onnxwright.exporter.torch_names.export import export, of_torch, select_model_mode_for_export
from onnxwright.exporter.torch_names.removed_arguments import removed
from onnxwright.exporter.torch_names.symbolics import (
    register_custom_op_symbolic,
    unregister_custom_op_symbolic,
)

# What torch.onnx has removed: a call says what replaced it.
ExportOptions, OnnxRegistry = removed("ExportOptions"), removed("OnnxRegistry")
dynamo_export, enable_fake_mode = removed("dynamo_export"), removed("enable_fake_mode")
_export, export_to_pretty_string = removed("_export"), removed("export_to_pretty_string")

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
_SYMBOLIC = (
    "its functions build TorchScript; lowerings are functions over `op` here "
    "(`custom_translation_table=`), the helpers are in `symbolic_helper`, and "
    "`register_custom_op_symbolic` takes symbolic functions"
)
_REPLACED = {
    "JitScalarType": "`onnxwright.DType` holds the element types",
    "load": "`onnx.load(path)` reads a model",
}


def _replacement(name: str) -> str | None:
    """What is used in place of a name of torch.onnx that is not here."""
    return _SYMBOLIC if name.startswith("symbolic_") else _REPLACED.get(name)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _OF_TORCH:
        return of_torch(name)
    instead = _replacement(name)
    if instead is not None:
        raise AttributeError(f"onnxwright.torch_onnx has no {name!r}: {instead}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _NotHere(MetaPathFinder):
    """Says what is used in place of a module or name of torch.onnx that is imported from here."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:  # noqa: ARG002
        """Refuse the names of torch.onnx that have a replacement; others are left to Python."""
        package, _, name = fullname.rpartition(".")
        instead = _replacement(name) if package == __name__ else None
        if instead is not None:
            message = f"onnxwright.torch_onnx has no {name!r}: {instead}"
            raise ImportError(message, name=fullname)


if not any(type(finder).__qualname__ == "_NotHere" for finder in sys.meta_path):
    sys.meta_path.append(_NotHere())  # asked last: after the modules that there are


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
