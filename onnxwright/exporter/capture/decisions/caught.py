"""Errors that Python raises for some values of run time: refused where the model catches them.

A model computes on with some value, or raises an error of the runtime: an `except` is never taken.
"""

from __future__ import annotations

from onnxwright.exporter.capture.control.handlers import handler_of
from onnxwright.exporter.capture.session.errors import CaughtError
from onnxwright.exporter.capture.session.session import refused_here


def refuse_handled(error: Exception) -> None:
    """Refuse an error that Python raises for some values only, if the model catches it.

    Raises:
        CaughtError: an `except` of the model takes the error.
    """
    handler = handler_of(error)
    if handler is not None:
        with refused_here():
            raise CaughtError(type(error).__name__, handler.line)


def may_raise(*kinds: type[Exception]) -> None:
    """The same of the classes of errors that this line may raise."""
    for kind in kinds:
        refuse_handled(kind())
