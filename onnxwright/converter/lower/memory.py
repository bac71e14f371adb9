"""Values that share memory in Python, where `x[i] = v` writes into it.

A value of a graph does not change: `x[i] = v` binds `x` to a new one.  In numpy every name that
holds the same memory, or a view of it, sees the change.  Such names are found here, and cannot be
read afterwards; eager mode refuses views in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from onnxwright.converter.frontend import hir
from onnxwright.converter.lower.run_time_lists import RunTimeList
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.values import Poison, leaves
from onnxwright.diagnostics.catalogue import numpy_functions as messages
from onnxwright.diagnostics.diagnostic import Label, fail
from onnxwright.diagnostics.span import Span
from onnxwright.semantics.graph_value import GraphValue

Memory = frozenset[object]
# How the names begin that hold what a loop goes over; no program can say such a name.
ITERATED = "<iterated"


def memory_of(x: GraphValue) -> Memory:
    """What memory a value may have in Python."""
    memory: Memory | None = getattr(x, "_memory", None)
    if memory is None:
        memory = x._memory = frozenset((object(),))
    return memory


def as_view(value: Any, of: GraphValue) -> Any:
    """The result of taking a view; a scalar is a copy."""
    for one in leaves(value):
        if isinstance(one, GraphValue) and one is not of and one.rank != 0:
            one._memory = memory_of(of)
    return value


def joined(value: Any, *sides: Any) -> Any:
    """A value that is one of several, decided when the model runs."""
    memories = [memory_of(s) for s in sides if isinstance(s, GraphValue)]
    if isinstance(value, GraphValue) and memories:
        value._memory = frozenset().union(*memories)
    return value


def shares(x: Any, memory: Memory) -> bool:
    """Whether a value, or something in a container, may have some of a memory."""
    for one in leaves(x):
        if isinstance(one, RunTimeList):
            if any(shares(item, memory) for item in one.added):
                return True
        elif isinstance(one, GraphValue) and getattr(one, "_memory", None) is not None:
            if memory_of(one) & memory:
                return True
    return False


def forget_others(low: Lowering, name: str, x: GraphValue, span: Span) -> None:
    """Make the other names that hold the memory of `x` unreadable: `name` is written into."""
    memory = memory_of(x)
    for frame in low.frames():
        for other, value in list(frame.env.items()):
            own = frame is low.frame and other == name
            if own or other.startswith(hir.INTERNAL) or not shares(value, memory):
                continue
            frame.env[other] = Poison(_stale(other, name, span))


def newly_stale(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Poison]:
    """The names that a part of the program left unreadable, as `forget_others` does."""
    stale = {}
    for name, value in after.items():
        if isinstance(value, Poison) and isinstance(value.diagnostic, messages.WrittenElsewhere):
            if name in before and not isinstance(before[name], Poison):
                stale[name] = value
    return stale


def _stale(other: str, name: str, span: Span) -> messages.WrittenElsewhere:
    label = Label(span, "written here")
    if other.startswith(ITERATED):
        return messages.WrittenElsewhere(
            name="what this loop goes over", written=f"`{name}`", labels=(label,)
        )
    return messages.WrittenElsewhere(name=f"`{other}`", written=f"`{name}`", labels=(label,))


def check_not_written(items: Iterable[Any], name: str, memory: Memory, span: Span) -> None:
    """Refuse values that were read before `name` was written into, and are views of it.

    Raises:
        ScriptValueError: one of them is (OW868).
    """
    for item in items:
        if shares(item, memory):
            fail(messages.WrittenElsewhere(name="this value", written=f"`{name}`", span=span))


def check_next_iteration(low: Lowering, names: Mapping[str, Span], carried: Iterable[str]) -> None:
    """Refuse names that the next iteration writes into through another name.

    A name from outside the loop that holds the same memory becomes unreadable: the body is lowered
    again and must not read it, and neither must what follows.

    Args:
        low: the function being lowered, at the end of the body.
        names: the names that the body writes into, and where.

    Raises:
        ScriptValueError: another carried name holds the same memory (OW868).
    """
    kept, env = list(carried), low.frame.env
    for name, span in names.items():
        x = env.get(name)
        if name not in kept or not isinstance(x, GraphValue):
            continue
        memory = memory_of(x)
        for other in kept:
            if other != name and not other.startswith(hir.INTERNAL):
                if shares(env.get(other), memory):
                    label = Label(span, "written here in the next iteration")
                    fail(
                        messages.WrittenElsewhere(
                            name=f"`{other}`", written=f"`{name}`", span=span, labels=(label,)
                        )
                    )
        forget_others(low, name, x, span)


def rebinds(block: Iterable[Any], name: str) -> bool:
    """Whether statements bind a name to something else, beside writing into what it holds."""

    def binds(node: object) -> bool:
        if isinstance(node, (hir.NameTarget, hir.Delete)) and node.id == name:
            return True
        if isinstance(node, (hir.Walrus, hir.Define)):
            bound = node.name if isinstance(node, hir.Walrus) else node.function.name
            return bound == name or any(map(binds, hir.children(node)))
        return any(map(binds, hir.children(node)))

    return any(map(binds, block))


def written_names(block: Iterable[Any]) -> dict[str, Span]:
    """The names whose items statements assign, and where they do so first."""
    names: dict[str, Span] = {}

    def walk(node: object) -> None:
        if isinstance(node, hir.ItemTarget):
            names.setdefault(node.id, node.span)
        for child in hir.children(node):
            walk(child)

    for one in block:
        walk(one)
    return names
