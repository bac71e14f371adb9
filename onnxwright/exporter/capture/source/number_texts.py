"""Texts of numbers of run time: PyTorch gives the name of a symbol (`u0`, `s3`).

As a key of a dict, or compared with another text, that is a wrong answer.  In functions whose
decisions are rewritten such a text is one of several (`texts`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from onnxwright.diagnostics.catalogue import export_forms as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.exporter.capture.source.machinery import is_machinery
from onnxwright.exporter.capture.source.text_uses import is_used
from onnxwright.exporter.places import line_of

Texts = dict[tuple[str, int], None]
"""Files and lines that make a text of a number of run time."""


def warn_texts(texts: Texts) -> None:
    """Warn of each (OW885).

    Args:
        texts: the lines.
    """
    for place in texts:
        warn(messages.TextOfNumber(span=line_of(*place)))


@contextmanager
def texts_recorded(found: Texts) -> Iterator[None]:
    """Record the lines that make a text of a number of run time.

    Args:
        found: the lines are added, but for texts of errors and of calls whose result nobody reads,
            such as `print` and `warnings.warn`.
    """
    before = {name: getattr(torch.SymInt, name) for name in ("__str__", "__repr__")}

    def recording(method: Callable[[torch.SymInt], str]) -> Callable[[torch.SymInt], str]:
        def text(self: torch.SymInt) -> str:
            if self.node.expr.free_symbols:
                frame = sys._getframe(1)
                place = frame.f_code.co_filename, frame.f_lineno
                if _is_of_model(place[0]) and is_used(*place):
                    found.setdefault(place)
            return method(self)

        return text

    for name, method in before.items():
        setattr(torch.SymInt, name, recording(method))
    try:
        yield
    finally:
        for name, method in before.items():
            setattr(torch.SymInt, name, method)


def _is_of_model(file: str) -> bool:
    return owner_of(file) is not Owner.PYTHON and not is_machinery(file)
