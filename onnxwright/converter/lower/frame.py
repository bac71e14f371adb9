"""Stage 3: names. A `Frame` is one function being lowered: its locals, and where else names live.

Scoping is Python's: a name bound anywhere in a function is local to it, parameters shadow globals,
then come the enclosing function, the globals and the built-ins, all read when compiling.
"""

from __future__ import annotations

import builtins
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from onnxwright.converter.frontend import hir, names
from onnxwright.converter.frontend.parse import Parsed
from onnxwright.converter.lower.values import Poison
from onnxwright.diagnostics.catalogue import control_flow
from onnxwright.diagnostics.catalogue import names as messages
from onnxwright.diagnostics.diagnostic import Diagnostic, Sink, fail
from onnxwright.diagnostics.span import Span

_MISSING: Any = object()
# The name of the frame of a comprehension; `:=` in it binds in the function around it.
COMPREHENSION = "<comprehension>"
_BUILTINS = frozenset(vars(builtins))


class OuterNames(Mapping[str, Any]):
    """The closure, globals and built-ins of a Python function, by Python's own order."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.cells = dict(
            zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        )

    def __getitem__(self, name: str) -> Any:
        cell = self.cells.get(name)
        if cell is not None:
            try:
                return cell.cell_contents
            except ValueError:
                raise KeyError(name) from None
        if name in self.function.__globals__:
            return self.function.__globals__[name]
        return vars(builtins)[name]

    def __contains__(self, name: object) -> bool:
        try:
            self[name]  # type: ignore[index]
        except KeyError:
            return False
        return True

    def __iter__(self) -> Any:
        yield from self.cells
        yield from self.function.__globals__
        yield from vars(builtins)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass
class Frame:
    """One function being lowered.

    Attributes:
        name: the function's name.
        local_names: every name it binds.
        outer: names around it: another frame (nested functions) or a function's surroundings.
        env: what its names hold now.
        doc: its docstring.
    """

    name: str
    local_names: frozenset[str]
    outer: Frame | OuterNames
    env: dict[str, Any] = field(default_factory=dict)

    def lookup(self, name: str, span: Span | None) -> Any:
        """The value of a name.

        Raises:
            ScriptNameError: it has none here (OW201, OW301, OW302).
        """
        value = self.env.get(name, _MISSING)
        if value is _MISSING:
            if name in self.local_names:
                fail(control_flow.NotAssigned(name=name, advice=self._advice(name), span=span))
            if isinstance(self.outer, Frame):
                return self.outer.lookup(name, span)
            try:
                return self.outer[name]
            except KeyError:
                fail(unknown_name(name, self, span))
        if isinstance(value, Poison):
            fail(value.diagnostic.at(span))
        return value

    def _advice(self, name: str) -> str:
        """What to do about a name of this function that has no value yet."""
        if isinstance(self.outer, Frame) and self.outer.binds(name):
            return (
                f"a nested function only reads `{name}` of the function around it: return the new "
                "value, and assign it where the function is called"
            )
        return f"give `{name}` a value first"

    def binds(self, name: str) -> bool:
        """Whether this frame or one around it has a value for a name."""
        around = self.outer
        return name in self.env or (isinstance(around, Frame) and around.binds(name))

    def visible(self) -> list[str]:
        """Names that may be meant by a misspelt one."""
        outer = self.outer
        around = outer.visible() if isinstance(outer, Frame) else list(outer)
        return [*self.local_names, *around]


@dataclass(frozen=True)
class Closure:
    """A nested function or lambda, with the frame its free names live in.

    `defaults` are the values of parameters with defaults, taken where the function is defined.
    """

    function: hir.LocalFunction
    frame: Frame
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def __name__(self) -> str:
        return self.function.name


def unknown_name(name: str, frame: Frame, span: Span | None) -> Diagnostic:
    """The message for a name that is nowhere, with the nearest one that is."""
    known = [n for n in frame.visible() if n.isidentifier()]
    near = difflib.get_close_matches(name, [n for n in known if n not in _BUILTINS], 1)
    near = near or difflib.get_close_matches(name, list(_BUILTINS), 1, cutoff=0.8)
    advice = (
        f"did you mean `{near[0]}`?" if near else "define it, or import it at the top of the file"
    )
    return messages.UnknownName(name=name, advice=advice, span=span)


def frame_of(parsed: Parsed, body: hir.Block) -> Frame:
    """A frame for a Python function."""
    local = frozenset((*parsed.params, *names.bound_in(body), *parsed.refused_names))
    return Frame(parsed.name, local, OuterNames(parsed.unit.function))


def check_names(parsed: Parsed, body: hir.Block, sink: Sink) -> None:
    """Collect every name that is defined nowhere, so that all are reported together.

    If all of them are in branches, nothing is reported yet: the branch may be decided when
    compiling, and the name be on the side that is not taken.
    """
    frame = frame_of(parsed, body)
    found = Sink()
    _check(body, frame, frozenset(), found)
    if not found.errors:
        return
    sure = Sink()
    _check(_without_branches(body), frame, frozenset(), sure)
    if sure.errors or sink.errors:
        for error in found.errors:
            sink.add(error)


def _without_branches(node: Any) -> Any:
    """The parts of a body that run in any case."""
    if isinstance(node, tuple):
        return tuple(_without_branches(item) for item in node)
    if isinstance(node, (hir.If, hir.Conditional, hir.While)):
        return _without_branches(node.test)
    if isinstance(node, hir.Logic):
        return _without_branches(node.operands[0])
    if isinstance(node, (hir.LocalFunction, hir.Define)):
        return ()
    if isinstance(node, hir.For):
        return _without_branches(node.iterable)
    if type(node) not in hir.NODE_TYPES or isinstance(node, hir.Name):
        return node
    return tuple(_without_branches(child) for child in hir.children(node))


def _check(node: Any, frame: Frame, inner: frozenset[str], sink: Sink) -> None:
    if isinstance(node, tuple):
        for item in node:
            _check(item, frame, inner, sink)
        return
    if type(node) not in hir.NODE_TYPES:
        return
    if isinstance(node, hir.Name):
        known = node.id in frame.local_names or node.id in inner or node.id in frame.outer  # type: ignore[operator]
        if not known and not node.id.startswith(hir.INTERNAL):
            sink.add(unknown_name(node.id, frame, node.span))
        return
    if isinstance(node, hir.LocalFunction):
        own = {p.name for p in node.params} | set(names.bound_in(node.body))
        for p in node.params:
            _check(p.default, frame, inner, sink)
        _check(node.body, frame, inner | own, sink)
        return
    if isinstance(node, hir.Comprehension):
        own = {n for c in node.clauses for n in names.target_names(c.target)}
        inner = inner | own
    for child in hir.children(node):
        _check(child, frame, inner, sink)
