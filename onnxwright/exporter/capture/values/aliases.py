"""Writes in place to tensors that a decision or a loop chose, and to those that these may be.

`c = a if test else b` makes a third tensor for `c`.  It is an alias: its tag says of which tensor.
After each operator that writes, what has the memory that it wrote to gives its values to the tensor
that it is, and each alias of a tensor that was written to takes them.  Where that is not possible
the write is refused.  Tags that nothing reads are taken out of the program (`graphs/unread`).
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import statically_known_true

from onnxwright.exporter.capture.graphs.memory import (
    Alias,
    Aliases,
    Origin,
    View,
    aliases,
    as_number,
    node_of,
    origin_of,
)
from onnxwright.exporter.capture.graphs.regions import Part, node_for, tracer, value_of
from onnxwright.exporter.capture.graphs.writes import memory_of, viewed, written_arguments
from onnxwright.exporter.capture.session.errors import CannotRewriteError, ChosenChangedError
from onnxwright.exporter.capture.session.model_lines import is_running, model_line, returning_frame
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.capture.values.join import Pair
from onnxwright.exporter.capture.values.one_of import WHICH
from onnxwright.exporter.places import line_of

# -- writes ----------------------------------------------------------------------------------------


def new_writes() -> list[int]:
    """The memory that operators wrote to since the last call."""
    t = tracer()
    if t is None or current() is None or aliases().paused:
        return []
    tracked_aliases = aliases()
    new = _new_nodes(t.graph, tracked_aliases)
    written = list(dict.fromkeys(memory_of(n) for node in new for n in written_arguments(node)))
    if written:
        place = model_line()
        tracked_aliases.writes += [(memory, place) for memory in written]
    return written


def settle(written: list[int]) -> None:
    """Give what operators wrote to all tensors that are the same.

    Args:
        written: the memory, as `new_writes` gives it.

    Raises:
        ChosenChangedError: that is not possible.
    """
    tracked_aliases = aliases()
    for memory in written if tracked_aliases.every else ():
        _give(memory, tracked_aliases)
        _new_nodes(tracer().graph, tracked_aliases)


def _new_nodes(graph: fx.Graph, tracked_aliases: Aliases) -> list[fx.Node]:
    """The nodes since the last call."""
    last, new_nodes = tracked_aliases.settled.get(graph), list[fx.Node]()
    while last is not None and last._erased:
        last = last.prev
    node = next(iter(reversed(graph.nodes)))
    tracked_aliases.settled[graph] = node
    while node is not last and node.op != "root":
        new_nodes.insert(0, node)
        node = node.prev
    return new_nodes


@contextmanager
def kept_equal() -> Iterator[None]:
    """In this context, what is written is equal for all aliases already.

    Parameters may be written to: that the program does so by `data` or below `torch.no_grad()` was
    checked where it did.
    """
    tracked_aliases = aliases()
    before, tracked_aliases.paused = tracked_aliases.paused, True
    try:
        with torch.no_grad():
            yield
    finally:
        tracked_aliases.paused = before
        _new_nodes(tracer().graph, tracked_aliases)


def _give(memory: int, tracked_aliases: Aliases) -> None:
    """Give what was written to some memory to all tensors that are the same."""
    if not any(memory == a.memory or memory in a.others.values() for a in tracked_aliases.every):
        return
    alive = {memory_of(proxy.proxy.node) for _, proxy in tracer().tensor_tracker.items()}
    every = [
        a for a in tracked_aliases.every if a.memory in alive and not is_running(a.returned_by)
    ]
    alive |= {memory_of(v.node) for a in every for v in a.origin.views.values() if v.is_constant()}
    changed = {memory}
    for alias in every:
        for number, other in alias.others.items() if alias.memory == memory else ():
            if other in alive - {memory}:
                _copy(alias.origin.views[number], View(alias.node), alias, number)
                changed.add(other)
    for alias in every:
        for number, other in alias.others.items() if alias.memory != memory else ():
            if other in changed - {alias.memory}:
                _copy(View(alias.node), alias.origin.views[number], alias, number)


def _copy(target: View, source: View, alias: Alias, number: int) -> None:
    """Give the values of a tensor to another one, where an alias says that it is the same."""
    tag, label = alias.origin.tag, aliases().label(number, alias.origin.views[number])
    if tag is None or label is None:
        raise refusal(alias)
    to, values = _value(target), _value(source)
    same = statically_known_true(to.ndim == values.ndim) and all(
        statically_known_true(a == b) for a, b in zip(to.shape, values.shape)
    )
    if not same or to.dtype != values.dtype:
        raise refusal(alias)
    same = tag == label
    if isinstance(same, torch.Tensor):
        to.copy_(torch.where(same, values, to))
    elif same:
        to.copy_(values)


def _value(view: View) -> Any:
    if view.is_constant():
        return view.of(operator.attrgetter(str(view.node.target))(tracer().root))
    home = _unwritten(view.node)
    for tensor, proxy in tracer().tensor_tracker.items():
        if _unwritten(proxy.proxy.node) is home:
            return view.of(tensor)
    return view.of(value_of(view.node))


def _unwritten(node: fx.Node) -> fx.Node:
    """The node of a tensor before operators wrote to it."""
    while written_arguments(node) and (of := viewed(node)) is not None:
        node = of
    return node


def refusal(alias: Alias, place: tuple[str, int] | None = None) -> ChosenChangedError:
    """The error for a write to a tensor that is another one.

    Args:
        alias: what stands for it.
        place: the file and line of the write; None for the line that runs.
    """
    error = ChosenChangedError("Tensor", in_loop=alias.in_loop, is_item=alias.is_item)
    error.span = line_of(*(place or model_line()))
    error.chosen_at = alias.place
    return error


def are_same(one: Any, two: Any) -> Any:
    """Whether two tensors are one where the model runs: a truth value if one of them was chosen.

    Raises:
        CannotRewriteError: which of several tensors one of them is, is not known at run time.
    """
    t, tracked_aliases = tracer(), aliases()
    nodes = [node_of(t, one), node_of(t, two)] if t is not None and tracked_aliases.every else []
    node_aliases = [
        alias
        for node in nodes
        if node is not None and (alias := tracked_aliases.of(node)) is not None
    ]
    if not node_aliases or None in nodes:
        return False
    first, second = (origin_of(node) for node in nodes if node is not None)
    if not first.views.keys() & second.views.keys():
        return False
    if first.tag is None or second.tag is None:
        reason = "`is` of a tensor that a decision or a loop chose"
        raise CannotRewriteError(reason, advice="set a truth value where the tensor is chosen")
    return as_number(first.tag == second.tag)


# -- decisions -------------------------------------------------------------------------------------


class Join:
    """The tensors that a decision makes, and those that they may be.

    Args:
        parts: the sides.
        pairs: the results that differ.
    """

    def __init__(self, parts: Sequence[Part], pairs: Sequence[Pair]) -> None:
        self.pairs, self.own = pairs, parts[0].own | parts[1].own
        self.sides = [(parts[0].origin(pair.left), parts[1].origin(pair.right)) for pair in pairs]
        # The results that have memory that a side made; the first one of them owns it.
        self.holders: dict[int, list[int]] = {}
        for n, origins in enumerate(self.sides):
            for view in _views(origins):
                if memory_of(view.node) in self.own:
                    self.holders.setdefault(memory_of(view.node), []).append(n)
        self.chosen = [n for n in range(len(pairs)) if self._is_alias(n)]
        # The tags of those that are aliases.
        self.tags = [
            Pair(f"{pairs[n].path} as a tensor{WHICH}", *(one.tag for one in self.sides[n]))
            for n in self.chosen if self._has_tag(n)
        ]  # fmt: skip

    def _holders(self, view: View) -> set[int]:
        return set(self.holders.get(memory_of(view.node), ()))

    def _is_alias(self, n: int) -> bool:
        """Whether a result may be a tensor of before, or another result."""
        return any(self._holders(view) != {n} for view in _views(self.sides[n]))

    def _has_tag(self, n: int) -> bool:
        """Whether it is known at run time which tensor a result is."""
        is_part = any(v.views and len(self._holders(v)) > 1 for v in _views(self.sides[n]))
        return not is_part and all(one.tag is not None for one in self.sides[n])

    def note(self, results: Sequence[Any]) -> None:
        """Remember the aliases.

        Args:
            results: the tensors for the pairs and, after them, for the tags.
        """
        tags = iter(results[len(self.pairs) :])
        for n in self.chosen:
            nodes = [node_for(tracer(), result) for result in results[: len(self.pairs)]]
            views = {
                number: View(nodes[min(self._holders(view))]) if self._holders(view) else view
                for one in self.sides[n] for number, view in one.views.items()
            }  # fmt: skip
            tag = next(tags) if self._has_tag(n) else None
            returned_by = returning_frame(self.pairs[n].path)
            aliases().every.append(
                Alias(nodes[n], Origin(views, tag), model_line(), returned_by=returned_by)
            )


def _views(origins: Sequence[Origin]) -> list[View]:
    return [view for origin in origins for view in origin.views.values()]
