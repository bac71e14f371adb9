"""`range` over sizes whose number of iterations is known though the sizes are not.

`for start in range(0, length, length)` has one iteration for any length.  Python's own `range`
takes numbers only, and would make the length that of the example.
"""

from __future__ import annotations

import builtins
import sys
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from onnxwright.exporter.capture.replacements.changes import Changes

# How many iterations are looked for.
_MOST = 16
_NAME = "range"


class _Kind(type):
    """What `range` is beside a function: objects of Python's own are instances of it."""

    def __call__(cls, *args: Any) -> Any:
        places = places_of_range(args) if any(isinstance(a, torch.SymInt) for a in args) else None
        return builtins.range(*args) if places is None else places

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, builtins.range)


class SymbolicRange(metaclass=_Kind):
    """Python's `range`; a list of sizes where the number of iterations is known."""


def places_of_range(args: tuple[Any, ...]) -> list[Any] | None:
    """The numbers of a range upwards; None where it is not known how many there are."""
    start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
    if not statically_known_true(step > 0):
        return None
    for count in builtins.range(_MOST + 1):
        if statically_known_true(stop - start <= count * step):
            return [start + n * step for n in builtins.range(count)]
        if not statically_known_true(stop - start > count * step):
            return None
    return None


def ranges_symbolic(changes: Changes, model: Any) -> None:
    """`range` in the modules of a model's classes takes sizes."""
    parts = model.modules() if isinstance(model, torch.nn.Module) else ()
    names = {kind.__module__ for part in parts for kind in type(part).__mro__}
    modules = [
        sys.modules[name]
        for name in sorted(names)
        if name in sys.modules and name.partition(".")[0] not in ("torch", "builtins")
    ]
    for module in modules:
        if _NAME not in vars(module):
            changes.attribute(module, _NAME, SymbolicRange)
