"""`isinstance(n, int)` and `type(n)` of numbers that PyTorch's objects stand for, as in Python.

A size is a `torch.SymInt` while PyTorch traces, of which `isinstance(n, int)` is False: the model
took the other side of such a decision without a word.  While a capture lasts, the code that a model
runs finds functions under both names that answer as Python does where the model runs.
"""

from __future__ import annotations

import dis
import functools
from types import CodeType
from typing import Any

import torch

from onnxwright.exporter.capture.reached_functions import names_read, reached_functions
from onnxwright.exporter.capture.replacements.changes import Changes

KINDS: dict[type, type] = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}
"""The classes of PyTorch that stand for numbers of Python."""


def is_kind(value: Any, kinds: Any) -> bool:
    """`isinstance(value, kinds)`, also true of what the value is where the model runs.

    Args:
        value: an object.
        kinds: a class, a union or a tuple of them; programs that are written for a capture ask
            for `torch.SymInt`, which is true, too.

    Returns:
        Whether.

    Example:
        >>> is_kind(3, int), is_kind(3.0, (int, str))
        (True, False)
    """
    if isinstance(value, kinds):
        return True
    kind = KINDS.get(type(value))
    return kind is not None and issubclass(kind, kinds)


class _KindOf(type):
    """The class of `Kind`: calls of it are calls of `type`."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        if len(args) == 1 and not options:
            return KINDS.get(type(args[0]), type(args[0]))
        return type(*args, **options)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, type)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, type)


class Kind(type, metaclass=_KindOf):
    """`type` by another name, for which a size is an int."""


_INSTEAD = {"isinstance": is_kind, "type": Kind}


def kinds_as_in_python(changes: Changes, model: Any) -> None:
    """The code of a model has `isinstance` and `type` that know numbers.

    Code of PyTorch and of Python itself is left as it is.
    """
    for function in reached_functions(model):
        around = function.__globals__
        for name in _asked(function.__code__):
            if name not in around:
                changes.items(around, {name: _INSTEAD[name]})


def knows_kinds(around: dict[str, Any]) -> bool:
    """Whether code with these globals has `isinstance` or `type` that know numbers."""
    return any(around.get(name) is instead for name, instead in _INSTEAD.items())


@functools.lru_cache(maxsize=4096)
def matches_numbers(code: CodeType) -> bool:
    """Whether code has a pattern such as `case int()`, which calls no `isinstance`."""
    if not {kind.__name__ for kind in KINDS.values()}.intersection(code.co_names):
        return False
    return any(i.opname == "MATCH_CLASS" for i in dis.get_instructions(code))


@functools.lru_cache(maxsize=16384)
def _asked(code: CodeType) -> tuple[str, ...]:
    """Which of `isinstance` and `type` code names."""
    names = names_read(code)
    return tuple(name for name in _INSTEAD if name in names)
