"""Tensors that a decision chose, and writes to them in place.

`b = a if test else c` of two tensors makes a third one for `b`.  Where Python wrote to `b`, `a` or
`c` would change, too, and the other way round: a program that reads one of them after a write to
another is refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import FrameType
from typing import Any

import torch
from torch import fx

from onnxwright.diagnostics.catalogue import export_changes
from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.exporter.capture.source.errors import DisagreementError, words
from onnxwright.exporter.capture.source.functional import viewed, written_arguments
from onnxwright.exporter.capture.source.returned import is_running, returning_frame
from onnxwright.exporter.capture.source.session import asking_line, current
from onnxwright.exporter.places import line_of

Nodes = tuple[fx.Node, ...]


class ChosenTensorError(DisagreementError):
    """A tensor that a decision chose is written to, and what it was chosen from is read."""

    # Whether the iterations of a loop chose it.
    in_loop = False
    # Whether it is an item of a list.
    is_item = False

    def message(self) -> Diagnostic:
        """The message without a proposal."""
        return export_changes.ChosenChanged(
            kind="Tensor", in_loop=self.in_loop, is_item=self.is_item, span=self.span
        )


@dataclasses.dataclass(frozen=True)
class ChosenTensor:
    """A tensor that a decision made of others.

    Fields:
        result: its node; None for one of a branch or a loop that wrote to it.
        last: the node after which writes count; the decision itself writes before.
        sources: for each side, the nodes of those that it may be.
        path: what the user calls it.
        words: what it is on each side, as words.
        place: the file and line of the decision.
        in_loop: whether the iterations of a loop chose it.
        is_item: whether it has the items of a list that a loop appends to.
        returned_by: the function that has returned it, on one side; None for other tensors.
    """

    result: fx.Node | None
    last: fx.Node
    sources: tuple[Nodes, ...]
    path: str
    words: tuple[str, str]
    place: tuple[str, int]
    in_loop: bool = False
    is_item: bool = False
    returned_by: FrameType | None = None

    def of(self) -> list[fx.Node]:
        """The nodes of all that the decision chose from."""
        return [node for side in self.sources for node in side]

    def homes(self, known: Sequence[ChosenTensor]) -> set[fx.Node]:
        """The nodes with the memory that it may have.

        Args:
            known: other choices, whose results it may be.
        """
        found = set[fx.Node]()
        waiting = self.of()
        while waiting:
            base = base_of(waiting.pop())
            if base not in found:
                found.add(base)
                waiting += [n for chosen in known if chosen.result is base for n in chosen.of()]
        return found

    def error(self) -> ChosenTensorError:
        """The error for a write to it."""
        error = ChosenTensorError(self.path, *self.words)
        error.span, error.in_loop = line_of(*self.place), self.in_loop
        error.is_item = self.is_item
        return error


@dataclasses.dataclass(frozen=True)
class LeftBehind:
    """What a part of a program leaves of its choices to what is around it.

    Fields:
        sources: what the part gives, by identity -> the nodes of before that it may be.
        written: the choices whose result it wrote to, with sources of before.
    """

    sources: dict[int, Nodes] = dataclasses.field(default_factory=dict)
    written: Sequence[ChosenTensor] = ()


def note_chosen_tensor(tracer: Any, result: Any, pair: Any, sides: Sequence[LeftBehind]) -> None:
    """Remember a tensor that a decision made, if a side gives one that was there before.

    Args:
        tracer: what traces the program.
        result: the tensor.
        pair: what it is on each side, and what the user calls it.
        sides: what each side leaves behind.
    """
    session = current()
    values = (pair.left, pair.right)
    sources = tuple(side.sources.get(id(v), ()) for side, v in zip(sides, values))
    made = node_of(tracer, result)
    if session is not None and made is not None and any(sources):
        said = (words(pair.left), words(pair.right))
        session.chosen_tensors.append(
            ChosenTensor(
                made,
                last_node(tracer),
                sources,
                pair.path,
                said,
                asking_line(),
                returned_by=returning_frame(pair.path),
            )
        )


def note_written(tracer: Any, parts: Iterable[LeftBehind]) -> None:
    """Remember what parts wrote to under another name, once they are in the graph."""
    session = current()
    if session is not None:
        last = last_node(tracer)
        written = [chosen for part in parts for chosen in part.written]
        session.chosen_tensors += [dataclasses.replace(one, last=last) for one in written]
        session.chosen_tensors = [
            dataclasses.replace(one, last=last)
            if one.last.graph is last.graph and is_running(one.returned_by) else one
            for one in session.chosen_tensors
        ]  # fmt: skip


def last_node(tracer: Any) -> fx.Node:
    """The node that a trace added last."""
    found: fx.Node = next(iter(reversed(tracer.graph.nodes)))
    return found


def node_of(tracer: Any, value: Any) -> fx.Node | None:
    """The node of a tensor, or of what it is a view of; None for one that is not of the graph."""
    while isinstance(value, torch.Tensor):
        proxy = tracer.tensor_tracker.get(value)
        if proxy is not None:
            node: fx.Node = proxy.proxy.node
            return node
        value = value._base
    return None


def check_chosen_tensors(nodes: Iterable[fx.Node], results: Mapping[int, fx.Node]) -> LeftBehind:
    """Refuse a part of a program that reads what was written to under another name.

    Args:
        nodes: those of the part; choices that were made in it are forgotten.
        results: what the part gives, by the identity of its values.

    Returns:
        What its choices mean for what is around it.

    Raises:
        ChosenTensorError: it does.
    """
    session = current()
    if session is None:
        return LeftBehind()
    part = list(nodes)
    inside = set(part)
    known: list[ChosenTensor] = session.chosen_tensors
    own = [chosen for chosen in known if chosen.last in inside]
    session.chosen_tensors = [chosen for chosen in known if chosen.last not in inside]
    changed = {base_of(node) for user in part for node in written_arguments(user)} if known else ()
    written = []
    for chosen in known:
        if not changed and chosen.result is not None:
            continue
        if is_running(chosen.returned_by):
            continue
        after = part[part.index(chosen.last) + 1 :] if chosen.last in inside else part
        stale = stale_after(chosen, known, changed, after, results.values())
        left = tuple(base for base in stale if base not in inside)
        if left and chosen.last in inside:
            written.append(dataclasses.replace(chosen, result=None, sources=(left,)))
    found = {key: sources_of(node, own, inside) for key, node in results.items()}
    return LeftBehind({key: nodes for key, nodes in found.items() if nodes}, written)


def check_not_written(node: fx.Node, written: Iterable[fx.Node]) -> None:
    """Refuse to read a tensor of before a part that the part wrote to under another name.

    Args:
        node: of the tensor.
        written: the nodes that the part writes to.

    Raises:
        ChosenTensorError: a decision chose one of them from it, or it from one of them.
    """
    session = current()
    known: list[ChosenTensor] = [] if session is None else session.chosen_tensors
    base, others = base_of(node), {base_of(one) for one in written}
    for chosen in known if others - {base} else ():
        names = chosen.homes(known) | ({base_of(chosen.result)} if chosen.result else set())
        if base in names and not names.isdisjoint(others - {base}):
            raise chosen.error()


def sources_of(
    node: fx.Node, choices: Sequence[ChosenTensor], inside: Collection[fx.Node]
) -> Nodes:
    """The nodes from before a part that one of it may share its memory with.

    Args:
        node: the one.
        choices: those of the part.
        inside: the nodes of the part.
    """
    found: dict[fx.Node, None] = {}
    waiting, seen = [node], set[fx.Node]()
    while waiting:
        made: fx.Node | None = waiting.pop()
        while made is not None and made not in seen:
            seen.add(made)
            if made not in inside:
                found[made] = None
                break
            waiting += [source for c in choices if c.result is made for source in c.of()]
            made = viewed(made)
    return tuple(found)


def base_of(node: fx.Node) -> fx.Node:
    """The node that has the memory of one."""
    while (of := viewed(node)) is not None:
        if isinstance(of.target, torch._ops.HigherOrderOperator):
            break  # each result of a decision or a loop has memory of its own
        node = of
    return node


def stale_after(
    chosen: ChosenTensor,
    known: Sequence[ChosenTensor],
    written: Collection[fx.Node],
    nodes: Iterable[fx.Node],
    results: Iterable[fx.Node],
) -> list[fx.Node]:
    """The nodes whose memory does not have what was written to under another name.

    Args:
        chosen: a choice.
        known: it and others.
        written: the nodes whose memory is written to.
        nodes: those that are computed after it.
        results: those that are read in the end.

    Raises:
        ChosenTensorError: one of them is read.
    """
    others = chosen.homes(known)
    mine = set[fx.Node]() if chosen.result is None else {base_of(chosen.result)}
    stale = set(others) if chosen.result is None else set[fx.Node]()
    if not stale and (mine | others).isdisjoint(written):
        return []
    for node in nodes:
        written = {base_of(target) for target in written_arguments(node)}
        if stale and (written or viewed(node) is None) and _reads(node):
            if any(base_of(read) in stale for read in node.all_input_nodes):
                raise chosen.error()
        for group, other in ((mine, others), (others, mine)):
            if not group.isdisjoint(written):
                stale |= other
    if any(base_of(node) in stale for node in results):
        raise chosen.error()
    return [base for base in others if base in stale]


def _reads(node: fx.Node) -> bool:
    """Whether a node reads elements, and not sizes or types only."""
    name = str(node.target)
    return not name.startswith("aten.sym_") and "_assert_tensor_metadata" not in name
