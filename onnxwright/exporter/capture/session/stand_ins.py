"""What objects of a capture are to the program: tensors, modules and numbers that stand for others.

PyTorch traces a module with tensors in the place of its parameters and buffers.  They have no
attributes of the user, are no `torch.nn.Parameter` to `type`, and are not what a list of the
module holds.  Where a part has two names, a new object stands for each part that is read.  A size
is a `torch.SymInt`, of which `isinstance(n, int)` is False: the model would take the other side of
such a decision without a word.  Converted code asks here.
"""

from __future__ import annotations

import itertools
from typing import Any

import torch

from onnxwright.exporter.capture.session.program_lists import List
from onnxwright.exporter.torch_internals import FakeTensor, ModuleProxy


class StandIns:
    """The parameters and buffers of a module, by the tensors that stand for them.

    Args:
        module: the module, before it is captured.
    """

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module
        self._own = dict(_tensors_of(module))
        self._names = {id(one): name for name, one in self._own.items()}
        self._now: dict[str, Any] = {}
        self._renamed: list[Any] = []
        self._stand_ins: dict[int, tuple[Any, Any]] = {}

    def original(self, value: Any) -> Any:
        """What a tensor or a module stands for; the value itself if it stands for nothing."""
        if isinstance(value, ModuleProxy):
            return value.get_base()
        if type(value) is not FakeTensor:
            return value
        if id(value) not in self._stand_ins:
            # PyTorch puts them into the module, when it is traced; others stand for nothing.
            self._stand_ins[id(value)] = value, value
            for name, one in _tensors_of(self._module):
                if name in self._own:
                    self._stand_ins[id(one)] = one, self._own[name]
        return self._stand_ins[id(value)][1]

    def is_own(self, value: Any) -> bool:
        """Whether a value is a parameter or buffer of the module itself, by any name."""
        return id(value) in self._names and self._own[self._names[id(value)]] is value

    def begin(self) -> None:
        """Remember what stands for the parameters and buffers: the module may assign others."""
        self._now, self._renamed = dict(_tensors_of(self._module)), []
        self._stand_ins |= {
            id(t): (t, self._own[n]) for n, t in self._now.items() if n in self._own
        }

    def traced(self, value: Any) -> Any:
        """What stands for a parameter or buffer, which has another name; other values as they are.

        PyTorch puts it in the place of the module's own, not into a list, a cell or a global.
        """
        if not self.is_own(value):
            return value
        stand_in = self._now.get(self._names[id(value)], value)
        self._renamed.append(stand_in)
        return stand_in

    def is_renamed(self, value: Any) -> bool:
        """Whether the program has read what stands for a buffer by another name."""
        return any(value is one for one in self._renamed)

    def forget(self) -> None:
        """Let go of all tensors."""
        self._own.clear()
        self._names.clear()
        self._now.clear()
        self._renamed.clear()
        self._stand_ins.clear()


def _tensors_of(module: torch.nn.Module) -> Any:
    return itertools.chain(
        module.named_parameters(remove_duplicate=False),
        module.named_buffers(remove_duplicate=False),
    )


def class_of(value: Any) -> type:
    """`type(value)`, of what stands for a tensor or a module the class of that.

    Example:
        >>> class_of(torch.nn.Parameter(torch.ones(2)))
        <class 'torch.nn.parameter.Parameter'>
    """
    kind: type = type(value)
    if isinstance(value, ModuleProxy):
        kind = type(value.get_base())
    elif kind is FakeTensor:
        kind = torch.nn.Parameter if isinstance(value, torch.nn.Parameter) else torch.Tensor
    return kind


# -- `isinstance(n, int)`, `type(n)` and `ok is True` of numbers, as in Python ---------------------

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
