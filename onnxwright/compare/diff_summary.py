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

    @property
    def where(self) -> tuple[str, ...]:
        """The graphs around it."""

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules of the optimizer that made a node."""


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
    differing: list[Block] = []
    for change in changes:
        if not differing or (change.kind != "rewired" and differing[-1].rewired):
            differing.append(Block())
        getattr(differing[-1], change.kind).append(change)
    return differing


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


@dataclass(frozen=True)
class RuleRow:
    """What rules of the optimizer did, as the differences show it.

    Fields:
        rules: their names; empty where nodes are gone without a rule: folded, equal, unused.
        line: the nodes that went and those that came.
        times: in how many places.
        before, after: how many nodes went and came, in all of them.
    """

    rules: str
    line: str
    times: int
    before: int
    after: int


def rule_rows(changes: Sequence[ChangeLike]) -> list[RuleRow]:
    """What each rule of the optimizer did, the rule with the most nodes first.

    Args:
        changes: the differences of two models, in order.

    Returns:
        The rows; none where no rule made a node of the second model.
    """
    rows: dict[tuple[str, str], RuleRow] = {}
    for _, part in groupby((c for c in changes if c.what == "node"), lambda c: c.where):
        for block in _rule_blocks(list(part)):
            names = dict.fromkeys(name for c in block.changes for name in c.rules)
            gone = len(block.removed) + len(block.rewired)
            come = len(block.added) + len(block.rewired)
            here = Block(block.removed + block.rewired, block.added + block.rewired)
            key = (", ".join(names), here.line())
            row = rows.get(key, RuleRow(*key, 0, 0, 0))
            before, after = row.before + gone, row.after + come
            rows[key] = RuleRow(*key, row.times + 1, before, after)
    if not any(rules for rules, _ in rows):
        return []
    return sorted(rows.values(), key=lambda r: (not r.rules, r.after - r.before))


def _rule_blocks(changes: Sequence[ChangeLike]) -> list[Block]:
    """Nodes that went and came side by side; what only reads something else is not among them."""
    listed: list[Block] = []
    open_block = False
    for change in changes:
        kept = change.kind in ("changed", "rewired")
        if kept and not change.rules:
            open_block = False
            continue
        if not open_block:
            listed.append(Block())
        open_block = True
        getattr(listed[-1], "rewired" if kept else change.kind).append(change)
    return listed


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
