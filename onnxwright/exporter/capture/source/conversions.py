"""Functions of Python that take a dynamic size as a number: `float(n)`, `int(n * 0.5)`.

Python's `float` and `int` want a number, so that torch gives them that of the example, and the
size is fixed. In rewritten code both give a symbolic number.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import torch
from torch.fx.experimental import symbolic_shapes

from onnxwright.exporter.capture.source.expressions import MATH
from onnxwright.exporter.capture.source.machinery import is_machinery

_CONVERSIONS = (
    (torch.SymInt, "__int__"),
    (torch.SymInt, "__index__"),
    (torch.SymFloat, "__float__"),
)
_NAMES = {"int", "float", "math", *MATH}

Conversions = dict[CodeType, FrameType]
"""The code of functions that take a size as a number -> a frame of each."""


@contextmanager
def conversions_recorded(*others: str) -> Iterator[Conversions]:
    """While it lasts, functions that call `int` or `float` of a symbolic number are recorded.

    Args:
        others: names of other functions of Python that make a number of a size.

    Yields:
        Their code -> a frame of each.
    """
    found: Conversions = {}
    names = _NAMES.union(others)
    before = [(kind, name, getattr(kind, name)) for kind, name in _CONVERSIONS]

    def recording(method: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def convert(self: Any) -> Any:
            frame = sys._getframe(1)
            code = frame.f_code
            if self.node.constant is None and names.intersection(code.co_names):
                if not is_machinery(code.co_filename):
                    found.setdefault(code, frame)
            return method(self)

        return convert

    for kind, name, method in before:
        setattr(kind, name, recording(method))
    # Torch names the line of a guard by the first frame that is of no file of its own.
    symbolic_shapes.uninteresting_files().add(__file__)
    try:
        yield found
    finally:
        for kind, name, method in before:
            setattr(kind, name, method)
