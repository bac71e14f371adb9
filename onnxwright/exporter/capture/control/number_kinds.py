"""`isinstance(n, int)`, `type(n)` and `ok is True` of numbers, as in Python.

A size is a `torch.SymInt` while PyTorch traces, of which `isinstance(n, int)` is False: the model
would take the other side of such a decision without a word.  Converted code asks here.
"""

from __future__ import annotations

from typing import Any

import torch

from onnxwright.exporter.capture.control.lists import List
from onnxwright.exporter.capture.control.stand_ins import class_of

KINDS: dict[type, type] = {
    torch.SymInt: int,
    torch.SymFloat: float,
    torch.SymBool: bool,
    List: list,
}
"""Classes of objects in a capture -> what these are to the program."""


def is_kind(value: Any, kinds: Any) -> bool:
    """`isinstance(value, kinds)`, also true of what the value is where the model runs.

    Args:
        value: an object.
        kinds: a class, a union or a tuple of them; programs that are written for a capture ask
            for `torch.SymInt`, which is true, too.

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
            return KINDS.get(type(args[0]), class_of(args[0]))
        return type(*args, **options)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, type)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, type)


class Kind(type, metaclass=_KindOf):
    """`type` by another name, for which a size is an int."""


class _Class(type):
    """The class of `Int` and the like: the numbers of PyTorch are instances of them, too."""

    def __instancecheck__(cls, value: Any) -> bool:
        return is_kind(value, cls.__base__)


class Int(int, metaclass=_Class):
    """`int` in a pattern, `case int(n)`."""


class Float(float, metaclass=_Class):
    """`float` in a pattern."""


CLASSES = {"int": "Int", "float": "Float"}
"""Builtin classes of patterns -> the names of those that know the numbers of PyTorch.

A condition is never an instance of these: `truth` asks for its value.
"""


def truth(value: Any) -> Any:
    """A value that is compared with `True` or `False` by identity: PyTorch's is asked for."""
    return bool(value) if isinstance(value, torch.SymBool) else value
