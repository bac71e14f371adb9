"""Tensors that a decision chose, and writes to them in place.

`b = a if test else c` of two tensors makes a third one for `b`.  Where Python wrote to `b`, `a` or
`c` would change, too, and the other way round: a program that reads one of them after a write to
another is captured with a copy of what follows for each side.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import fx

from onnxwright.diagnostics.catalogue import export_changes
from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.exporter.capture.source.errors import DisagreementError, words
from onnxwright.exporter.capture.source.functional import viewed, written_arguments
from onnxwright.exporter.capture.source.session import asking_line, current
from onnxwright.exporter.places import line_of


class ChosenTensorError(DisagreementError):
    """A tensor that a decision chose is written to, and what it was chosen from is read."""

    def message(self, *, tried: bool) -> Diagnostic:
        """The message without a proposal."""
        return export_changes.ChosenChanged(kind="Tensor", span=self.span)


@dataclasses.dataclass(frozen=True)
class ChosenTensor:
    """A tensor that a decision made of others.

    Fields:
        result: its node.
        last: the node after which writes count; the decision itself writes before.
        sources: the nodes of those that it was chosen from.
        path: what the user calls it.
        sides: what it is on each side, as words.
        place: the file and line of the decision.
    """

    result: fx.Node
    last: fx.Node
    sources: tuple[fx.Node, ...]
    path: str
    sides: tuple[str, str]
    place: tuple[str, int]


def note_chosen_tensor(tracer: Any, result: Any, left: Any, right: Any, path: str) -> None:
    """Remember a tensor that a decision made, if a side gives one that was there before.

    Args:
        tracer: what traces the program.
        result: the tensor.
        left, right: what it is on each side.
        path: what the user calls it.
    """
    session = current()
    sources = [node for node in (_node(tracer, side) for side in (left, right)) if node]
    made = _node(tracer, result)
    if session is not None and made is not None and sources:
        sides = (words(left), words(right))
        last = next(iter(reversed(tracer.graph.nodes)))
        session.chosen_tensors.append(
            ChosenTensor(made, last, tuple(sources), path, sides, asking_line())
        )


def _node(tracer: Any, value: Any) -> fx.Node | None:
    """The node of a tensor, or of what it is a view of; None for one that is not of the graph."""
    while isinstance(value, torch.Tensor):
        proxy = tracer.tensor_tracker.get(value)
        if proxy is not None:
            node: fx.Node = proxy.proxy.node
            return node
        value = value._base
    return None


def check_chosen_tensors(nodes: Iterable[fx.Node], results: Sequence[fx.Node]) -> None:
    """Refuse a part of a program that reads what was written to under another name.

    Args:
        nodes: those of the part; choices that were made in it are forgotten.
        results: what the part gives.

    Raises:
        ChosenTensorError: it does.
    """
    session = current()
    if session is None or not session.chosen_tensors:
        return
    part = list(nodes)
    inside = set(part)
    own = [chosen for chosen in session.chosen_tensors if chosen.result in inside]
    session.chosen_tensors = [c for c in session.chosen_tensors if c.result not in inside]
    # Each choice goes through the graph: where nothing is written, none has to.
    if not own or not any(map(written_arguments, own[0].result.graph.nodes)):
        return
    for chosen in own:
        if _is_read_after_a_write(chosen, results):
            error = ChosenTensorError(chosen.path, *chosen.sides)
            error.span = line_of(*chosen.place)
            raise error


def _is_read_after_a_write(chosen: ChosenTensor, results: Sequence[fx.Node]) -> bool:
    mine = _memory([chosen.result])
    others = _memory(chosen.sources)
    stale: set[fx.Node] = set()
    node = chosen.last.next
    while node.op != "root":
        base = viewed(node)
        written = written_arguments(node)
        is_view = base is not None and not written
        if not is_view and _reads(node) and not stale.isdisjoint(node.all_input_nodes):
            return True
        for group, other in ((mine, others), (others, mine)):
            if base in group:
                group.add(node)
                if base in stale:
                    stale.add(node)
            if not group.isdisjoint(written):
                stale |= other
        node = node.next
    return not stale.isdisjoint(results)


def _memory(sources: Sequence[fx.Node]) -> set[fx.Node]:
    """The nodes that share the memory of others."""
    found = set(sources)
    for source in sources:
        node: fx.Node | None = source
        while node is not None:
            found.add(node)
            node = viewed(node)
    for node in next(iter(found)).graph.nodes:
        if viewed(node) in found:
            found.add(node)
    return found


def _reads(node: fx.Node) -> bool:
    """Whether a node reads elements, and not sizes or types only."""
    name = str(node.target)
    return not name.startswith("aten.sym_") and "_assert_tensor_metadata" not in name
