"""`trace(fn, *args)`: each line of a script with the values it made, as a table or as data.

The plain Python function runs under a line tracer; nothing of it is rewritten, so a trace shows
what a call computes.
"""

from __future__ import annotations

import inspect
import sys
import sysconfig
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from onnxwright.diagnostics.caller import is_internal
from onnxwright.diagnostics.catalogue.loading import NotAModel
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span, source_line
from onnxwright.eager.debugging.value_stats import (
    COLUMNS,
    Facts,
    ValueTable,
    cells,
    check_stop_on,
    facts_of,
    stop_at_bad,
)
from onnxwright.eager.tensor import Tensor
from onnxwright.eager.values import SequenceValue
from onnxwright.ir.loading import is_source
from onnxwright.types.kinds import SequenceType
from onnxwright.types.roles import Script

_STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_LIBRARIES = tuple({sysconfig.get_paths()[k] for k in ("stdlib", "platstdlib", "purelib")})


@dataclass(frozen=True, slots=True)
class TraceLine:
    """One value that one line made.

    Fields:
        file, line: the place.
        function: the function around it.
        depth: how many traced calls are around it.
        source: the text of the line.
        name: the variable; "return" for what a function returns.
        facts: the value in numbers.
        seconds: how long the line took.
        value: the value itself, where the trace keeps values.
    """

    file: str
    line: int
    function: str
    depth: int
    source: str
    name: str
    facts: Facts
    seconds: float
    value: Any = field(default=None, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """The fields, the facts among them, as one flat dictionary."""
        own = {k: getattr(self, k) for k in ("file", "line", "function", "depth", "source", "name")}
        return {**own, **self.facts.as_dict(), "seconds": self.seconds}


@dataclass(repr=False)
class Trace(ValueTable[TraceLine]):
    """What a traced call did.

    `str()` is a table, a notebook shows it as HTML, iteration gives `TraceLine`s.

    Fields:
        lines: one entry for each value, in the order they were made.
        result: what the call returned.
    """

    lines: list[TraceLine] = field(default_factory=list)
    result: Any = None

    _HEAD = ("line", "source", "name", *COLUMNS)

    def _entries(self) -> list[TraceLine]:
        return self.lines

    def __getitem__(self, name: str) -> TraceLine:
        """The last value of a variable."""
        for entry in reversed(self.lines):
            if entry.name == name:
                return entry
        outputs = ", ".join(dict.fromkeys(entry.name for entry in self.lines))
        raise KeyError(f"{name!r} is not in the trace; it has {outputs}")

    def _rows(self) -> list[list[str]]:
        rows = []
        for entry in self.lines:
            source = entry.source.strip()
            shown = "  " * entry.depth + (source if len(source) <= 48 else source[:45] + "...")
            rows.append([str(entry.line), shown, entry.name, *cells(entry.facts, entry.seconds)])
        return rows


def trace(
    fn: Any,
    /,
    *args: Any,
    stop_on: str | None = None,
    keep: bool = False,
    **kwargs: Any,
) -> Trace:
    """Run a script (or any Python function) and note each value that its lines make.

    Args:
        fn: the function.
        args: its arguments; or one list, tuple or dict that holds them all, as `debug` takes them.
            A list is an argument itself where the parameter takes a sequence, or holds numbers
            only.
        stop_on: "nan", "inf", or "bad" for either: stop at the first line that makes one.
        keep: whether the trace keeps the values themselves.
        kwargs: its keyword arguments.

    Returns:
        The trace.

    Raises:
        ModelTypeError: it is not a function; a model has no Python lines (OW752).
        EagerValueError: a bad value was found (OW623); `error.trace` is the trace up to there.

    Example:
        >>> from onnxwright.opset import opset18 as op
        >>> def half(x):
        ...     y = op.Mul(x, 0.5)
        ...     return y
        >>> seen = trace(half, np.array([2.0, 4.0], np.float32))
        >>> [(line.name, line.facts.type, line.facts.mean) for line in seen]
        [('x', 'FLOAT[2]', 3.0), ('y', 'FLOAT[2]', 1.5), ('return', 'FLOAT[2]', 1.5)]
    """
    check_stop_on(stop_on)
    if not callable(fn) or (is_source(fn) and not isinstance(fn, Script)):
        _not_a_function(fn)
    if len(args) == 1 and not kwargs:
        args, kwargs = _arguments(fn, args[0])
    code = getattr(getattr(fn, "function", fn), "__code__", None)
    tracer = _Tracer(stop_on, keep, code.co_filename if code is not None else "")
    before = sys.gettrace()
    sys.settrace(tracer.on_call)
    try:
        tracer.trace.result = fn(*args, **kwargs)
    finally:
        sys.settrace(before)
    return tracer.trace


def _not_a_function(source: object) -> NoReturn:
    fail(NotAModel(
        what=f"a value of type `{type(source).__name__}`", expected="a function",
        taken="give a @script function or a Python function: `trace` shows their lines",
        advice="a model has no lines of Python; `debug` runs it node by node"
        if is_source(source) else None
    ))  # fmt: skip


def _arguments(fn: Callable[..., Any], inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call that was given one value: a list or a dict may hold them all."""
    try:
        parameters = inspect.signature(fn).parameters
    except (TypeError, ValueError):  # a callable of C
        return (inputs,), {}
    if isinstance(inputs, Mapping):
        named = bool(inputs) and all(name in parameters for name in inputs)
        return ((), dict(inputs)) if named else ((inputs,), {})
    if not isinstance(inputs, (list, tuple)):
        return (inputs,), {}
    needed = [p for p in parameters.values() if p.default is p.empty and p.kind not in _STARRED]
    arrays = any(hasattr(item, "__array__") for item in inputs)
    if len(needed) <= 1 and (not arrays or len(inputs) != 1 or _takes_sequence(fn)):
        return (inputs,), {}
    return tuple(inputs), {}


def _takes_sequence(fn: Any) -> bool:
    """Whether the first parameter of a script is a sequence."""
    values = fn.signature.values if isinstance(fn, Script) else ()  # type: ignore[attr-defined]
    types = getattr(values[0].spec, "types", ()) if values else ()
    return any(isinstance(kind, SequenceType) for kind in types)


class _Frame:
    """What is remembered of one running function."""

    __slots__ = ("depth", "line", "seen", "start")

    def __init__(self, depth: int, line: int) -> None:
        self.depth = depth
        self.line = line
        self.seen: dict[str, Any] = {}
        self.start = time.perf_counter()


class _Tracer:
    """Listens to Python's line events."""

    def __init__(self, stop_on: str | None, keep: bool, home: str) -> None:
        self.trace = Trace()
        # The file of the traced function is followed wherever it lies, a library's own too.
        self.home = home
        self.stop_on = stop_on
        self.keep = keep
        self.frames: dict[FrameType, _Frame] = {}

    def on_call(self, frame: FrameType, event: str, _arg: Any) -> Any:
        """A function starts: follow it if it is the user's."""
        code = frame.f_code
        if event != "call" or code.co_name.startswith("<"):
            return None
        file = code.co_filename
        foreign = file.startswith(("<frozen", *_LIBRARIES)) or is_internal(file, frame.f_globals)
        if foreign and file != self.home:
            return None
        self.frames[frame] = _Frame(len(self.frames), _def_line(frame))
        return self.on_event

    def on_event(self, frame: FrameType, event: str, arg: Any) -> Any:
        """A line begins, so the one before is done; or the function ends."""
        state = self.frames[frame]
        seconds = time.perf_counter() - state.start
        if event == "line":
            self._compare(frame, state, seconds)
            state.line = frame.f_lineno
        elif event == "return":
            self._compare(frame, state, seconds)
            del self.frames[frame]
            if arg is not None:
                self._returned(frame, state, arg, seconds)
        state.start = time.perf_counter()
        return self.on_event

    def _compare(self, frame: FrameType, state: _Frame, seconds: float) -> None:
        """Note the variables that have another value than before the line."""
        for name, value in frame.f_locals.items():
            if state.seen.get(name, self) is not value:
                state.seen[name] = value
                if _is_shown(value):
                    self._note(frame, state, name, value, seconds)
                    seconds = 0.0

    def _returned(self, frame: FrameType, state: _Frame, value: Any, seconds: float) -> None:
        values = value if isinstance(value, tuple) else (value,)
        for n, item in enumerate(values):
            if _is_shown(item):
                name = "return" if len(values) == 1 else f"return[{n}]"
                self._note(frame, state, name, item, seconds)

    def _note(self, frame: FrameType, state: _Frame, name: str, value: Any, seconds: float) -> None:
        file = frame.f_code.co_filename
        source = source_line(file, state.line) or ""
        facts = facts_of(value)
        self.trace.lines.append(
            TraceLine(
                file,
                state.line,
                frame.f_code.co_name,
                state.depth,
                source,
                name,
                facts,
                seconds,
                value if self.keep else None,
            )
        )

        def span() -> Span:
            indent = len(source) - len(source.lstrip())
            return Span(file, state.line, indent, state.line, max(len(source), indent + 1))

        stop_at_bad(facts, self.stop_on, name, span, trace=self.trace)


def _def_line(frame: FrameType) -> int:
    """The line with `def`; the code of a decorated function starts at its first decorator."""
    first = frame.f_lineno
    for line in range(first, first + 20):
        text = (source_line(frame.f_code.co_filename, line) or "").lstrip()
        if text.startswith(("def ", "async def ")):
            return line
        if not text:
            break
    return first


def _is_shown(value: Any) -> bool:
    return isinstance(value, (Tensor, np.ndarray, SequenceValue, bool, int, float, np.generic))
