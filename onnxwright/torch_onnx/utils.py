"""torch.onnx's module `utils`: the same functions under the name that older call sites use."""

from __future__ import annotations

from onnxwright.exporter.torch_names.export import export, select_model_mode_for_export
from onnxwright.exporter.torch_names.removed_arguments import removed
from onnxwright.exporter.torch_names.symbolics import (
    register_custom_op_symbolic,
    unregister_custom_op_symbolic,
)

_export, export_to_pretty_string = removed("_export"), removed("export_to_pretty_string")

__all__ = [
    "_export",
    "export",
    "export_to_pretty_string",
    "register_custom_op_symbolic",
    "select_model_mode_for_export",
    "unregister_custom_op_symbolic",
]
