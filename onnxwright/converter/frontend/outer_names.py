"""Names from around a function: its closure, globals and built-ins, and names that are nowhere."""

from __future__ import annotations

import builtins
import difflib
from collections.abc import Iterable, Mapping
from types import FunctionType
from typing import Any

from onnxwright.converter.frontend import hir, names
from onnxwright.converter.frontend.parse import Parsed
from onnxwright.diagnostics.catalogue import names as messages
from onnxwright.diagnostics.diagnostic import Diagnostic, Sink
from onnxwright.diagnostics.span import Span

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


def unknown_name(name: str, visible: Iterable[str], span: Span | None) -> Diagnostic:
    """The message for a name that is nowhere, with the nearest one that is."""
    identifiers = [n for n in visible if n.isidentifier()]
    near = difflib.get_close_matches(name, [n for n in identifiers if n not in _BUILTINS], 1)
    near = near or difflib.get_close_matches(name, list(_BUILTINS), 1, cutoff=0.8)
    advice = (
        f"did you mean `{near[0]}`?" if near else "define it, or import it at the top of the file"
    )
    return messages.UnknownName(
        name=name, advice=advice, span=span, meant=near[0] if near else None
    )


def check_names(parsed: Parsed, body: hir.Block, sink: Sink) -> None:
    """Collect every name that is defined nowhere, so that all are reported together.

    If all of them are in branches, nothing is reported yet: the branch may be decided when
    compiling, and the name be on the side that is not taken.
    """
    outer = OuterNames(parsed.unit.function)
    local = frozenset((*parsed.params, *names.bound_in(body), *parsed.refused_names))
    errors = Sink()
    _check(body, outer, local, errors)
    if not errors.errors:
        return
    sure = Sink()
    _check(_without_branches(body), outer, local, sure)
    if sure.errors or sink.errors:
        for error in errors.errors:
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


def _check(node: Any, outer: OuterNames, local: frozenset[str], sink: Sink) -> None:
    if isinstance(node, tuple):
        for item in node:
            _check(item, outer, local, sink)
        return
    if type(node) not in hir.NODE_TYPES:
        return
    if isinstance(node, hir.Name):
        has_value = node.id in local or node.id in outer
        if not has_value and not node.id.startswith(hir.INTERNAL):
            sink.add(unknown_name(node.id, [*local, *outer], node.span))
        return
    if isinstance(node, hir.LocalFunction):
        own = {p.name for p in node.params} | set(names.bound_in(node.body))
        for p in node.params:
            _check(p.default, outer, local, sink)
        _check(node.body, outer, local | own, sink)
        return
    if isinstance(node, hir.Comprehension):
        own = {n for c in node.clauses for n in names.target_names(c.target)}
        local = local | own
    for child in hir.children(node):
        _check(child, outer, local, sink)
