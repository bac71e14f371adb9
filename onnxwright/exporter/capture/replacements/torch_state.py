"""What code of PyTorch and of models asks of the state of torch while a program is captured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from onnxwright.diagnostics.catalogue import export_forms as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.exporter.capture.assumptions.specialization import forward_ad_rewound
from onnxwright.exporter.capture.graphs.regions import tracer
from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.capture.session.model_lines import model_line
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


# -- `ok is True` of a truth value of run time, in a strict capture: the truth value itself --------
# PyTorch compares the objects that stand for the values while it compiles, which are never the
# same: `ok is True` was False in the program, whatever the value.  `match` has the same comparison
# in `case True`.

_EQUALITY = {"is": "==", "is not": "!="}


def truths_compared(changes: Changes, model: Any) -> None:
    """Truth values of run time are compared with True and False by value."""
    # Not at the top: the compiler of torch takes a second to import, and few models need it.
    from torch._dynamo.symbolic_convert import compare_op_handlers

    before = {name: compare_op_handlers[name] for name in _EQUALITY}

    def by_value(name: str) -> Callable[[Any, Any, Any], Any]:
        def compare(translator: Any, operands: Any, options: Any) -> Any:
            one, other = operands
            if (_is_truth(one) and _is_bool(other)) or (_is_bool(one) and _is_truth(other)):
                return compare_op_handlers[_EQUALITY[name]](translator, operands, options)
            return before[name](translator, operands, options)

        return compare

    changes.items(compare_op_handlers, {name: by_value(name) for name in _EQUALITY})


def _is_truth(operand: Any) -> bool:
    """Whether a value of torch's compiler is a truth value of run time."""
    return isinstance(getattr(operand, "sym_num", None), torch.SymBool)


def _is_bool(operand: Any) -> bool:
    """Whether a value of torch's compiler is True or False."""
    return operand.is_python_constant() and isinstance(operand.as_python_constant(), bool)
