"""Pages of tables, lists and texts, written as Markdown."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol


class Block(Protocol):
    """The content under a heading; empty content is left out, with its heading."""

    def lines(self) -> list[str]:
        """Its lines as Markdown."""


@dataclass(frozen=True)
class Table:
    """Rows of texts; a text may have several lines."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]

    def lines(self) -> list[str]:
        """A table with a line for each row."""
        if not self.rows:
            return []
        lines = [f"| {' | '.join(self.head)} |", f"|{'---|' * len(self.head)}"]
        return [*lines, *(f"| {' | '.join(map(_cell, row))} |" for row in self.rows)]


@dataclass(frozen=True)
class Code:
    """A text whose spaces matter."""

    text: str

    def lines(self) -> list[str]:
        """A fenced block, its fence longer than any in the text."""
        fence = "```"
        while fence in self.text:
            fence += "`"
        return [fence, self.text, fence] if self.text else []


@dataclass(frozen=True)
class Items:
    """A list of texts; one alone is a paragraph."""

    items: Sequence[str]

    def lines(self) -> list[str]:
        """A list, the lines of each text one under the other."""
        if len(self.items) == 1 and "\n" not in self.items[0]:
            return [self.items[0]]
        lines: list[str] = []
        for item in self.items:
            first, *more = item.split("\n")
            lines.append(f"- {first}" if not more else f"- ```\n  {first}")
            lines += [f"  {line}" for line in more]
            lines += ["  ```"] if more else []
        return lines


@dataclass(frozen=True)
class Section:
    """A heading and its content.

    Fields:
        title: the heading; none if it is empty.
        body: its content.
        folded: closed until it is asked for, where what shows the page can do that.
    """

    title: str
    body: Block
    folded: bool = False

    def lines(self) -> list[str]:
        """Its lines as Markdown."""
        body = self.body.lines()
        if not body:
            return []
        if self.folded:
            title = html.escape(self.title.replace("`", ""))
            return ["<details>", f"<summary>{title}</summary>", "", *body, "", "</details>", ""]
        return [*([f"## {self.title}", ""] if self.title else []), *body, ""]


@dataclass(frozen=True)
class Page:
    r"""A title and sections.

    Example:
        >>> print(Page("T", [Section("S", Table(("a",), [("x|y",)]))]).markdown())
        # T
        <BLANKLINE>
        ## S
        <BLANKLINE>
        | a |
        |---|
        | x\|y |
        <BLANKLINE>
    """

    title: str
    sections: Sequence[Section] = field(default_factory=list)

    def markdown(self) -> str:
        """The page as Markdown."""
        lines = (line for section in self.sections for line in section.lines())
        return "\n".join([f"# {self.title}", "", *lines])


def _cell(text: object) -> str:
    """A text in a row of a Markdown table: `<br>` between lines, no character that ends the row."""
    escaped = html.escape(str(text), quote=False).replace("|", "\\|").replace("`", "\\`")
    return escaped.replace("*", "\\*").replace("\n", "<br>")
