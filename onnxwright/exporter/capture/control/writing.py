"""What the code of a function binds and changes, by its bytecode."""

from __future__ import annotations

import dis
import functools
from dataclasses import dataclass
from types import CodeType, FunctionType

from onnxwright.exporter.capture.control.places import Cell, Place, Variable

_STORES = ("STORE_ATTR", "STORE_SUBSCR", "STORE_GLOBAL", "DELETE_ATTR", "DELETE_SUBSCR",
           "DELETE_GLOBAL", "STORE_SLICE")  # fmt: skip


@dataclass(frozen=True)
class Written:
    """What a function writes.

    Fields:
        places: the variables of others that it binds.
        is_any: whether it writes to anything but its own variables.
    """

    places: tuple[Place, ...]
    is_any: bool


def written(function: FunctionType) -> Written:
    """What a function writes by itself, without the functions that it calls.

    Example:
        >>> written(lambda x: x + 1).is_any
        False
    """
    names, free, is_any = _written(function.__code__)
    places: list[Place] = [Variable(function.__globals__, name) for name in sorted(names)]
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    places += [Cell(cells[name], name) for name in sorted(free)]
    return Written(tuple(places), is_any or bool(places))


@functools.lru_cache(maxsize=4096)
def _written(code: CodeType) -> tuple[frozenset[str], frozenset[str], bool]:
    names, free, is_any = set(), set(), False
    for i in dis.get_instructions(code):
        if i.opname == "STORE_GLOBAL":
            names.add(str(i.argval))
        elif i.opname == "STORE_DEREF" and i.argval in code.co_freevars:
            free.add(str(i.argval))
        is_any |= i.opname in _STORES
    return frozenset(names), frozenset(free), is_any
