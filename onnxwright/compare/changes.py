"""The differences of two models as data, as text and as a page."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any, Literal, cast

from onnxwright.compare.diff_html import page
from onnxwright.compare.diff_summary import block_lines, runs
from onnxwright.diagnostics.text import clean

Kind = Literal["added", "removed", "changed", "rewired", "renamed"]
MARK = {"added": "+", "removed": "-", "changed": "~", "rewired": ">", "renamed": "="}


@dataclass(frozen=True)
class Change:
    """One difference.

    Attributes:
        kind: added, removed, changed, rewired (it reads something else), or renamed (an
            initializer with the same numbers).
        what: of what: node, input, output, initializer, function, attribute, fact.
        name: its name.
        where: the graphs around it, outermost first.
        left, right: what each side has; empty where it has nothing.
        details: the parts that differ, a line each.
        place: the Python line or the module that a node comes from, where the model says it.
        rules: the rules of the optimizer that made the node of the second model, where it says so.
    """

    kind: Kind
    what: str
    name: str
    where: tuple[str, ...] = ()
    left: str = ""
    right: str = ""
    details: tuple[str, ...] = ()
    place: str = ""
    rules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A line of the side-by-side view: a node or a value of each side, or of one."""

    kind: str
    left: str
    right: str
    details: tuple[str, ...] = ()
    place: str = ""


@dataclass
class Diff:
    """The differences of two models.

    Attributes:
        changes: the differences.
        rows: for each graph, what it holds side by side.
        same: how many nodes are the same in both.

    Example:
        >>> import onnxwright as ow
        >>> from onnx import parser
        >>> text = "g (float[2] x) => (float[2] y) { a = %s(x) y = Neg(a) }"
        >>> diff = ow.diff(parser.parse_graph(text % "Relu"), parser.parse_graph(text % "Abs"))
        >>> bool(diff), [(c.kind, c.what, c.name) for c in diff.changes]
        (True, [('removed', 'node', 'Relu'), ('added', 'node', 'Abs'), ('rewired', 'node', 'Neg')])
    """

    changes: list[Change] = field(default_factory=list)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    same: int = 0

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Diff: {self.summary()}>"

    def summary(self) -> str:
        """How many differences of which kind, in one line."""
        if not self.changes:
            return f"no difference ({counted(self.same, 'node')})"
        counts = Counter((c.what, c.kind) for c in self.changes)
        order = {"fact": 0, "function": 1, "input": 2, "output": 3, "node": 4}
        parts = [
            f"{counted(n, what)} {kind}"
            for (what, kind), n in sorted(counts.items(), key=lambda i: order.get(i[0][0], 5))
        ]
        return f"{', '.join(parts)}; {counted(self.same, 'node')} the same"

    def text(self, limit: int | None = None) -> str:
        """The differences as lines: `+` added, `-` removed, `~` changed, `>` rewired, `=` renamed.

        Args:
            limit: the number of differences to show.
        """
        lines = [self.summary()]
        where: tuple[str, ...] | None = None
        shown = self.changes if limit is None else self.changes[: max(limit, 0)]
        for change in shown:
            if change.where != where:
                where = change.where
                lines.append(clean(" > ".join(where)) + ":" if where else "model:")
            lines += map(clean, _lines(change))
        if len(shown) < len(self.changes):
            lines.append(f"... and {len(self.changes) - len(shown)} more")
        return "\n".join(lines)

    def brief(self, limit: int | None = None) -> str:
        """The differences with nodes put together: a line for what replaces what, with a count.

        Args:
            limit: the number of lines to show.

        Example:
            >>> import onnxwright as ow
            >>> from onnx import parser
            >>> text = "g (float[2] x) => (float[2] y) { a = %s y = Neg(a) }"
            >>> two = parser.parse_graph(text % "Relu(x) "), parser.parse_graph(text % "Abs(x) ")
            >>> print(ow.diff(*two).brief())
            1 node removed, 1 node added, 1 node rewired; 0 nodes the same
            graph `g`:
              ~ Relu -> Abs; Neg read it
        """
        lines = [self.summary()]
        for where, part in groupby(self.changes, lambda c: c.where):
            lines.append(" > ".join(where) + ":" if where else "model:")
            for nodes, changes in runs(list(part)):
                if not nodes:
                    lines += [line for c in changes for line in _lines(cast("Change", c))]
                    continue
                for line, count, block in block_lines(changes):
                    if len(block.changes) == count == 1:
                        lines += _lines(cast("Change", block.changes[0]))
                        continue
                    places = dict.fromkeys(c.place for c in block.changes if c.place)
                    place = f"  # {next(iter(places))}" if places else ""
                    often = f"  ({count} times)" if count > 1 else ""
                    lines.append(f"  {line}{often}{place}")
        end = len(lines) if limit is None else 1 + max(limit, 0)
        rest = [f"... and {counted(len(lines) - end, 'line')} more"] if len(lines) > end else []
        return "\n".join(map(clean, [*lines[:end], *rest]))

    def data(self) -> list[dict[str, Any]]:
        """The differences as plain data."""
        return [asdict(change) for change in self.changes]

    def json(self) -> str:
        """The differences as JSON."""
        return json.dumps(self.data(), indent=2)

    def html(self, title: str = "Difference of two models") -> str:
        """A page with both models side by side; it needs nothing but a browser."""
        return page(title, self.summary(), self)

    def _repr_html_(self) -> str:
        return page("", self.summary(), self, whole=False)


def counted(n: int, noun: str) -> str:
    """A number with its noun.

    Example:
        >>> counted(1, "node"), counted(2, "node")
        ('1 node', '2 nodes')
    """
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _lines(change: Change) -> list[str]:
    mark = MARK[change.kind]
    shown = change.left or change.right or change.name
    if change.what == "node":
        place = f"  # {change.place}" if change.place else ""
        return [f"  {mark} node {shown}{place}", *_indented(change.details)]
    if change.kind in ("added", "removed"):
        return [f"  {mark} {change.what} {shown}", *_indented(change.details)]
    head = f"  {mark} {change.what} {change.name}"
    if change.kind == "renamed":
        return [f"{head} -> {change.right.split(': ')[0]}"]
    if len(change.details) == 1:
        return [f"{head}: {change.details[0]}"]
    return [head, *_indented(change.details)]


def _indented(details: tuple[str, ...]) -> list[str]:
    return [f"      {detail}" for detail in details]
