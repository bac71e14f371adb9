"""`ok is True` of a truth value of run time, in a strict capture: the truth value itself.

PyTorch compares the objects that stand for the values while it compiles, which are never the same:
`ok is True` was False in the program, whatever the value.  `match` has the same comparison in
`case True`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from onnxwright.exporter.capture.replacements.changes import Changes

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
