"""Parts of a function that are built once and run any number of times, and the objects in them.

A `Region` is one side of a run-time branch, the body of a run-time loop, or the body of a loop over
known values that is tried as one Loop.  Python objects made inside a region may change there; those
from further out may not, because Python would change them each time the region runs.  A region that
is only a try gives way: `NeedsStaticValue` makes its loop be unrolled, as Python runs it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from inspect import getattr_static
from types import FunctionType, ModuleType
from typing import Any

from onnxwright.converter.analyze.effects import (
    OUTSIDE,
    changed_by,
    is_fresh,
    is_iterator,
    objects_in,
    special_methods,
)
from onnxwright.converter.lower.frame import Frame
from onnxwright.diagnostics.catalogue import control_flow as messages
from onnxwright.diagnostics.diagnostic import Label, fail
from onnxwright.diagnostics.span import Span
from onnxwright.errors import NeedsStaticValue
from onnxwright.semantics.literals import describe

# A graph in a graph is three messages deeper, and protobuf's readers stop at 100.
NESTING_LIMIT = 30
CONTAINERS = (list, dict, set, deque)


@dataclass(eq=False)
class Region:
    """A part that is built once.

    Attributes:
        what: what it is, for messages.
        span: where it starts.
        tried: it is a loop over known values, which can be unrolled instead.
        shared: names inside it whose containers other names hold too.
        grows: a list grew in the try, so that it could only be a Loop with a list of unknown
            length.
    """

    what: str
    span: Span | None
    tried: bool = False
    shared: frozenset[str] = frozenset()
    grows: bool = False


class Regions:
    """The regions around what is being lowered, and which of them made which object."""

    def __init__(self, around: Sequence[Region] = ()) -> None:
        self.stack: list[Region] = list(around)
        # NOTE: objects are kept, or their ids would be given again.
        self._makers: dict[int, tuple[Any, Region | None]] = {}
        self.iterated: list[Any] = []
        self._outside: dict[int, Any] = {}

    @contextmanager
    def inside(self, region: Region) -> Iterator[Region]:
        """Lower what belongs to a region.

        Raises:
            ScriptError: regions are nested deeper than a file can hold (OW319).
        """
        if len(self.stack) >= NESTING_LIMIT:
            fail(
                messages.NestedTooDeep(
                    what="branches and loops", limit=NESTING_LIMIT, span=_start(region.span)
                )
            )
        self.stack.append(region)
        try:
            yield region
        finally:
            self.stack.pop()

    # -- who made what -----------------------------------------------------------------------------

    def own(self, x: Any) -> Any:
        """Remember that an object was made here; the object itself."""
        self._makers[id(x)] = (x, self.stack[-1] if self.stack else None)
        return x

    def own_result(self, function: Any, args: Sequence[Any], result: Any) -> Any:
        """Remember the result of a call, if the call made it."""
        if is_fresh(function, result) and not any(map(is_iterator, args)):
            self.own(result)
        return result

    def from_outside(self, x: Any) -> None:
        """Remember a container that a global name or the default of a parameter holds."""
        if isinstance(x, CONTAINERS) and not self.is_own(x):
            self._outside[id(x)] = x

    def is_outside(self, x: Any) -> bool:
        """Whether Python code outside of the function being lowered holds a container."""
        return self._outside.get(id(x)) is x

    def is_own(self, x: Any) -> bool:
        """Whether an object was made by the function being lowered."""
        return id(x) in self._makers

    def between(self, x: Any) -> list[Region]:
        """The regions around this place, but not around the place that made an object."""
        _, maker = self._makers.get(id(x), (None, None))
        if maker is not None and maker in self.stack:
            return self.stack[self.stack.index(maker) + 1 :]
        return list(self.stack)

    # -- changes -----------------------------------------------------------------------------------

    def before_call(
        self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span
    ) -> None:
        """Refuse a call that changes an object from outside the region.

        Raises:
            NeedsStaticValue: the loop around it can be unrolled.
            ScriptError: it cannot (OW318).
        """
        if not self.stack:
            return
        for x in changed_by(function, args, kwargs):
            self.change(x, _called(function), span)

    def before_operation(self, function: Any, args: Sequence[Any], span: Span) -> None:
        """Refuse an operator or built-in function whose special methods change outer objects.

        Raises:
            NeedsStaticValue: the loop around it can be unrolled.
            ScriptError: it cannot (OW318).
        """
        for method, values in special_methods(function, args) if self.stack else ():
            self.before_call(method, values, {}, span)

    def before_attribute(self, holder: Any, name: str, span: Span) -> None:
        """Refuse to read a property that changes an object from outside, as `before_call` does."""
        if self.stack and not isinstance(holder, ModuleType):
            attribute = getattr_static(type(holder), name, None)
            if isinstance(attribute, property) and isinstance(attribute.fget, FunctionType):
                self.before_call(attribute.fget, (holder,), {}, span)

    def change(self, x: Any, how: str, span: Span) -> None:
        """Refuse to change an object, unless it was made in the innermost region."""
        crossed = self.between(x)
        if crossed:
            self.refuse(x, how, span, crossed[0])

    def refuse(self, x: Any, how: str, span: Span, region: Region) -> None:
        """Raise the error about a change that Python would make each time a region runs."""
        what = "state outside this function" if x is OUTSIDE else describe(x)
        labels: tuple[Label, ...] = ()
        if region.span is not None:
            labels = (
                Label(_start(region.span), f"the model decides about {region.what} when it runs"),
            )
        diagnostic = messages.EffectInRegion(how=how, what=what, span=span, labels=labels)
        if region.tried:
            raise NeedsStaticValue(diagnostic, region=region)
        fail(diagnostic)

    def saved(self, frames: Iterable[Frame]) -> Callable[[], None]:
        """A function that gives the containers that names hold the items they have now."""
        held = {
            id(one): (one, copy(one))
            for frame in frames
            for value in list(frame.env.values())
            for one in objects_in(value)
            if isinstance(one, CONTAINERS) and self.is_own(one)
        }

        def restore() -> None:
            for one, before in held.values():
                one.clear()
                one.extend(before) if isinstance(one, (list, deque)) else one.update(before)

        return restore

    # -- aliases -----------------------------------------------------------------------------------

    def is_shared(self, x: Any, frames: Iterable[Frame]) -> bool:
        """Whether more than one name, container or loop holds an object."""
        held = sum(one is x for one in self.iterated)
        seen: set[int] = set()
        for frame in frames:
            if id(frame.env) in seen:
                continue
            seen.add(id(frame.env))
            for value in list(frame.env.values()):
                held += sum(1 for one in objects_in(value) if one is x)
        return held > 1

    def shared_names(self, names: Iterable[str], frame: Frame, frames: list[Frame]) -> set[str]:
        """The names among some whose containers other names hold too."""
        shared = set()
        for name in names:
            value = frame.env.get(name)
            if isinstance(value, CONTAINERS) and self.is_shared(value, frames):
                shared.add(name)
        return shared


def _start(span: Span | None) -> Any:
    """The first characters of a statement that spans several lines."""
    if span is None or span.line == span.end_line:
        return span
    return Span(span.file, span.line, span.col, span.line, span.col + 2)


def _called(function: Any) -> str:
    name = getattr(function, "__name__", None) or type(function).__name__
    return f"`{name}`"
