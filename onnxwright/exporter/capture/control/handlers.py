"""`except` and `with` of the program that are entered: what they would take of an error.

Converted code enters `Handlers` around the body of each `try` that may take an error and go on, and
around each context manager that may.
"""

from __future__ import annotations

import ast
import contextlib
import dis
import functools
import itertools
import linecache
import threading
from collections.abc import Callable
from types import CodeType, FunctionType, TracebackType
from typing import Any, NamedTuple

from onnxwright.exporter.capture.session.errors import CaughtError, stops_capture
from onnxwright.exporter.capture.session.session import refused_here
from onnxwright.exporter.places import is_of_user


class Handler(NamedTuple):
    """What takes errors.

    Fields:
        line: of the `except` or `with`.
        kinds: gives the classes of errors that it takes, as `isinstance` has them.
    """

    line: int
    kinds: Callable[[], Any]

    def takes(self, error: BaseException | None) -> bool:
        """Whether it takes an error, or any if that is None; also if its classes are not known."""
        try:
            return error is None or isinstance(error, self.kinds())
        except Exception:  # noqa: BLE001 - an expression of the user
            return True


class Handlers:
    """In this context, the handlers take errors, the first ones first.

    Args:
        handlers: pairs as in `Handler`.
        manager: a context manager that is entered as well.
    """

    def __init__(self, *handlers: tuple[int, Callable[[], Any]], manager: Any = None) -> None:
        self.handlers = [Handler(*handler) for handler in handlers]
        self.manager = contextlib.nullcontext() if manager is None else manager

    def __enter__(self) -> Any:
        entered = type(self.manager).__enter__(self.manager)
        _entered().append(self)
        return entered

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Any:
        _entered().pop()
        taken = type(self.manager).__exit__(self.manager, kind, error, trace)
        # What stops the capture is not an error of the program.
        return taken and not (error is not None and stops_capture(error))


_now = threading.local()


def _entered() -> list[Handlers]:
    """The handlers of this thread that are entered, innermost last."""
    if not hasattr(_now, "entered"):
        _now.entered = []
    handlers: list[Handlers] = _now.entered
    return handlers


def handler_of(error: BaseException | None) -> Handler | None:
    """What takes an error of the line that runs now, or any error if that is None."""
    every = (handler for one in reversed(_entered()) for handler in one.handlers)
    return next((handler for handler in every if handler.takes(error)), None)


def with_handlers(entered: Any, manager: Any, line: int) -> Any:
    """What a `with` enters: a handler as well, if it may take errors.

    Args:
        entered: it, with functions of the user converted.
        manager: it, as the program has it.
        line: of the `with`.
    """
    if isinstance(manager, contextlib.suppress):
        kinds = tuple(getattr(manager, "_exceptions", (BaseException,)))
    elif _may_take_errors(manager):
        kinds = (BaseException,)
    else:
        return entered
    return Handlers((line, lambda: kinds), manager=entered)


def _may_take_errors(manager: Any) -> bool:
    """Whether a context manager of the user may take an error."""
    if isinstance(manager, contextlib._GeneratorContextManager):
        generator_manager: Any = manager.gen
        return _has_handlers(generator_manager.gi_code)
    leave = getattr(type(manager), "__exit__", None)
    if not isinstance(leave, FunctionType) or not is_of_user(leave.__code__.co_filename):
        return False
    steps = list(dis.get_instructions(leave))
    return any(
        (i.opname == "RETURN_VALUE" and (before.opname != "LOAD_CONST" or bool(before.argval)))
        or (i.opname == "RETURN_CONST" and bool(i.argval))
        for before, i in itertools.pairwise(steps)
    )


@functools.lru_cache(maxsize=64)
def _has_handlers(code: CodeType) -> bool:
    """Whether a function has an `except`."""
    lines = {line for *_, line in code.co_lines() if line is not None}
    tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    return any(
        isinstance(node, ast.Try) and node.handlers and node.lineno in lines
        for node in ast.walk(tree)
    )


# -- caught ----------------------------------------------------------------------------------------
# Errors that Python raises for some values of run time: refused where the model catches them.  A
# model computes on with some value, or raises an error of the runtime: an `except` is never taken.


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
