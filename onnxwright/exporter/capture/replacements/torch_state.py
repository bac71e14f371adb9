"""What code of PyTorch and of models asks of the state of torch while a program is captured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from onnxwright.diagnostics.catalogue import export_forms as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.exporter.capture.assumptions.specialization import forward_ad_rewound
from onnxwright.exporter.capture.graphs.regions import tracer
from onnxwright.exporter.capture.model_lines import model_line
from onnxwright.exporter.capture.replacements.changes import Changes
from onnxwright.exporter.places import line_of


def in_onnx_export(changes: Changes, model: Any = None) -> None:
    """`torch.onnx.is_in_onnx_export()` is True, as in `torch.onnx.export`."""
    changes.attribute(*_export_flag(), True)


def levels_left(changes: Changes, model: Any) -> None:
    """No level of torch.func is left behind, where one fails in the middle of a capture."""
    changes.later(forward_ad_rewound())


def with_a_warning(own: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.manual_seed`, which says that the model draws other numbers (OW860)."""

    def manual_seed(seed: Any) -> Any:
        line = model_line() if tracer() is not None else None
        if line is not None:
            warn(messages.SeededDraw(span=line_of(*line)))
        return own(seed)

    return manual_seed


def _export_flag() -> tuple[Any, str]:
    """The object and attribute that `torch.onnx.is_in_onnx_export` reads in this release."""
    try:
        from torch.onnx._internal.exporter import _flags

        if hasattr(_flags, "_is_onnx_exporting"):
            return _flags, "_is_onnx_exporting"
    except ImportError:
        pass
    try:
        from torch.onnx._internal.torchscript_exporter._globals import GLOBALS
    except ImportError:
        from torch.onnx._globals import GLOBALS
    return GLOBALS, "in_onnx_export"


def in_onnx_export_for_dynamo(changes: Changes, model: Any) -> None:
    """The same for code that TorchDynamo traces: it answers the question from a table."""
    # Not at the top: the compiler of torch takes a second to import, and few models need it.
    from torch._dynamo.variables import torch as tables

    answers: dict[Any, Any] = getattr(tables, "tracing_state_functions", dict)()
    if answers.get(torch.onnx.is_in_onnx_export) is not None:
        changes.items(answers, {torch.onnx.is_in_onnx_export: True})
