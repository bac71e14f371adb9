"""Groups replaced nodes: which nodes of one model replace which of the other, place by place.

An optimizer turns many nodes into few, in many places alike: each such place is one line, and equal
lines are one with a count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol


class ChangeLike(Protocol):
    """What is read of a change; see `compare.changes.Change`."""

    @property
    def kind(self) -> str:
        """Added, removed, changed, rewired or renamed."""

    @property
    def what(self) -> str:
        """Of what."""

    @property
    def name(self) -> str:
        """Its name; of a node its operator."""

    @property
    def place(self) -> str:
        """Where a node comes from."""


@dataclass
class Block:
    """Nodes that changed side by side.

    Fields:
        removed, added, rewired: the changes.
    """

    removed: list[ChangeLike] = field(default_factory=list)
    added: list[ChangeLike] = field(default_factory=list)
    rewired: list[ChangeLike] = field(default_factory=list)

    @property
    def changes(self) -> list[ChangeLike]:
        """All of them."""
        return [*self.removed, *self.added, *self.rewired]

    def line(self) -> str:
        """The block as one line of text."""
        if self.removed and self.added:
            text = f"~ {_operators(self.removed)} -> {_operators(self.added)}"
        elif self.removed:
            text = f"- {_operators(self.removed)}"
        elif self.added:
            text = f"+ {_operators(self.added)}"
        else:
            return f"> {_operators(self.rewired)} read something else"
        readers = f"; {_operators(self.rewired)} read it" if self.rewired else ""
        return text + readers


def blocks(changes: Sequence[ChangeLike]) -> list[Block]:
    """Changes of nodes by the places where they are side by side.

    Args:
        changes: changes of nodes of one graph, in order.

    Returns:
        The blocks, in order; a block ends with the nodes that read what it makes.
    """
    found: list[Block] = []
    for change in changes:
        if not found or (change.kind != "rewired" and found[-1].rewired):
            found.append(Block())
        getattr(found[-1], change.kind).append(change)
    return found


def block_lines(changes: Sequence[ChangeLike]) -> list[tuple[str, int, Block]]:
    """The lines of blocks, equal ones once.

    Args:
        changes: changes of nodes of one graph, in order.

    Returns:
        For each line how often it is there, and the first block it is of.
    """
    lines: dict[str, list[Block]] = {}
    for block in blocks(changes):
        lines.setdefault(block.line(), []).append(block)
    return [(line, len(held), held[0]) for line, held in lines.items()]


def runs(changes: Sequence[ChangeLike]) -> list[tuple[bool, list[ChangeLike]]]:
    """Changes apart: those of nodes that were removed, added or rewired, and all others."""
    moved = ("removed", "added", "rewired")
    apart = groupby(changes, lambda c: c.what == "node" and c.kind in moved)
    return [(nodes, list(part)) for nodes, part in apart]


def _operators(changes: Sequence[ChangeLike]) -> str:
    """`Mul 3, Add` for four nodes; a long list is cut."""
    counts = Counter(change.name for change in changes)
    words = [f"{name} {n}" if n > 1 else name for name, n in counts.items()]
    if len(words) > _MOST:
        rest = sum(list(counts.values())[_MOST - 1 :])
        words = [*words[: _MOST - 1], f"{rest} more"]
    return ", ".join(words)


_MOST = 9

__all__ = ["Block", "ChangeLike", "block_lines", "blocks", "runs"]
