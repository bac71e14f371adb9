"""Texts that are formatted from a value of run time: PyTorch gives the name of a symbol (`u0`).

As a key of a dict, or compared with another text, that is a wrong answer: a use of such a text is
refused with its line, and warned of (OW885) in a capture that does not rewrite.  Errors, and calls
whose result nobody reads, such as `print` and `warnings.warn`, only show it.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import Any

import torch

from onnxwright.diagnostics.catalogue import export_forms as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.exporter.capture.graphs.regions import SYMBOLS, tracer
from onnxwright.exporter.capture.session.call_handlers import CallHandler
from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.capture.session.errors import NumberReadError, TextUsedError
from onnxwright.exporter.capture.session.model_lines import (
    formatting_line,
    is_formatted_by_model,
    is_text_used,
    model_line,
)
from onnxwright.exporter.capture.session.program_lists import is_rows
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.capture.values.numbers import is_unknown
from onnxwright.exporter.capture.values.one_of import OneOf, each
from onnxwright.exporter.places import line_of
from onnxwright.exporter.torch_internals import FakeTensor, is_fake


class TextOfNumber(str):
    """A text with a number or a tensor of run time, which may be shown only."""

    __slots__ = ()

    def __add__(self, other: str) -> str:
        return TextOfNumber(str.__add__(self, other))

    def __radd__(self, other: str) -> str:
        return TextOfNumber(other + str(self))

    def __bool__(self) -> bool:
        return True


def _refusing(name: str) -> Callable[..., Any]:
    function = getattr(str, name)

    def method(self: TextOfNumber, *args: Any, **kwargs: Any) -> Any:
        refuse_text()
        return function(self, *args, **kwargs)

    return method


def refuse_text() -> None:
    """Refuse a text of a number of run time, unless the statement of this line only shows it."""
    place = formatting_line()
    if current() is not None and is_text_used(*place):
        raise TextUsedError(line_of(*place))


for _name in (
    *(name for name in dir(str) if not name.startswith("_") and name != "format"),
    "__getitem__", "__contains__", "__iter__", "__mul__", "__rmul__", "__lt__", "__le__",
    "__gt__", "__ge__", "__eq__", "__ne__", "__hash__", "__len__",
):  # fmt: skip
    setattr(TextOfNumber, _name, _refusing(_name))


# -- formatting ------------------------------------------------------------------------------------


def text(*parts: Any) -> Any:
    """A text of parts, as an f-string gives it.

    Args:
        parts: texts, and tuples of a value, the conversion ("r", "s", "a" or "") and the format.
    """
    joined_text: Any = ""
    for part in parts:
        joined_text = joined_text + (part if isinstance(part, str) else each(_formatted, *part))
    return joined_text


def _formatted(value: Any, conversion: str, spec: str) -> Any:
    """A value as a part of a text."""
    kinds: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}
    value = _constant(value)
    if _is_of_run_time(value):
        return TextOfNumber("a tensor" if isinstance(value, torch.Tensor) else value)
    return _marked(lambda: format(kinds[conversion](value) if conversion else value, spec))


_now = threading.local()


def _marked(make: Callable[[], str]) -> str:
    """The text that a function makes; methods of the user may format values of run time in it."""
    around, _now.formatted = getattr(_now, "formatted", None), []
    try:
        whole = make()
        return TextOfNumber(whole) if _now.formatted else whole
    finally:
        _now.formatted = around


def _note_formatted() -> bool:
    """Note that a value of run time is formatted; whether the text that has it is marked."""
    formatted: list[bool] | None = getattr(_now, "formatted", None)
    if formatted is not None:
        formatted.append(True)
    return formatted is not None


def _constant(value: Any) -> Any:
    """The number that a tensor of one known number has; other values as they are."""
    t = tracer()
    if current() is None or t is None or not isinstance(value, torch.Tensor) or value.ndim:
        return value
    proxy = t.tensor_tracker.get(value)
    return value if proxy is None or proxy.constant is None else proxy.constant.item()


def format_(template: str, *args: Any, **kwargs: Any) -> Any:
    """`template.format(...)`."""
    if any(map(_is_of_run_time, map(_constant, (*args, *kwargs.values())))):
        return TextOfNumber(template)
    return each(lambda *a, **k: _marked(lambda: template.format(*a, **k)), *args, **kwargs)


def percent(template: Any, values: Any) -> Any:
    """`template % values`."""
    template_values = values if isinstance(values, tuple) else (values,)
    if any(map(_is_of_run_time, map(_constant, template_values))):
        return TextOfNumber(template)
    if isinstance(values, tuple):
        return each(lambda one, *parts: _marked(lambda: one % parts), template, *values)
    return each(lambda one, part: _marked(lambda: one % part), template, values)


def str_(*args: Any) -> Any:
    """`str(x)`."""
    return text((args[0], "s", "")) if len(args) == 1 else str(*args)


def repr_(value: Any) -> Any:
    """`repr(x)`."""
    return text((value, "r", ""))


def join_(separator: str, texts: Any) -> Any:
    """`separator.join(texts)`."""
    parts = texts if isinstance(texts, (str, OneOf)) else list(texts)
    return TextOfNumber(separator) if _is_of_run_time(parts) else separator.join(parts)


def _is_of_run_time(value: Any) -> bool:
    """Whether the text of a value has a number that is known at run time only."""
    if isinstance(value, TextOfNumber):
        return True
    if current() is None:
        return False
    if isinstance(value, torch.Tensor):
        proxy = tracer().tensor_tracker.get(value) if is_fake(value) and tracer() else None
        return is_unknown(value) if proxy is None else proxy.constant is None
    if isinstance(value, SYMBOLS):
        is_size = isinstance(value, torch.SymInt) and bool(value.node.expr.free_symbols)
        return is_size or is_unknown(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return any(_is_of_run_time(getattr(value, f.name, None)) for f in dataclasses.fields(value))
    parts = value.values() if isinstance(value, dict) else value
    is_container = isinstance(value, (dict, list, tuple, set)) and not is_rows(value)
    return is_container and any(map(_is_of_run_time, parts))


_FORMATTING = (torch.Tensor.__repr__, torch.Tensor.__format__)
_READING = tuple(
    getattr(torch.Tensor, f"__{name}__") for name in ("bool", "int", "float", "index", "complex")
)


class PythonCalls(CallHandler):
    """What Python, or code that is not converted, asks of a tensor that stands for a number."""

    functions = (*_FORMATTING, *_READING, torch.Tensor.__deepcopy__)

    def on_call(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Refuse it, unless a text is only shown; a copy of a number is the number."""
        value = _constant(args[0])
        is_number = value in _numbers()
        if is_number and func is torch.Tensor.__deepcopy__:
            return value
        if not (is_number or func in _FORMATTING) or not _is_of_run_time(value):
            return func(*args, **kwargs)
        if func in _READING:
            raise NumberReadError(line_of(*model_line()))
        if not _note_formatted():
            refuse_text()
        return "a number" if is_number else "a tensor"


def _numbers() -> Any:
    session = current()
    return () if session is None else session.numbers


# -- captures that do not rewrite ------------------------------------------------------------------


Texts = dict[tuple[str, int], None]
"""Files and lines that make a text of a number of run time."""


def warn_texts(texts: Texts) -> None:
    """Warn of each (OW885).

    Args:
        texts: the lines.
    """
    for place in texts:
        warn(messages.TextOfNumber(span=line_of(*place)))


def record_texts(changes: Changes, texts: Texts) -> None:
    """Record the lines that make a text of a number or a tensor of run time.

    Args:
        changes: undo it.
        texts: the lines are added, but for texts of errors and of calls whose result nobody reads.
    """

    def recording(method: Callable[..., str]) -> Callable[..., str]:
        def text(self: Any, *args: Any) -> str:
            is_open = not isinstance(self, SYMBOLS) or bool(self.node.expr.free_symbols)
            if is_open and is_formatted_by_model():
                if _note_formatted():
                    return "a number"
                place = formatting_line()
                if is_text_used(*place):
                    texts.setdefault(place)
            return method(self, *args)

        return text

    for kind in (*SYMBOLS, FakeTensor):
        for name in ("__str__", "__repr__", "__format__"):
            changes.attribute(kind, name, recording(getattr(kind, name)))
