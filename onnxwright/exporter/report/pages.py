"""Pages of tables, lists and texts, written as Markdown and as HTML."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

_STYLE = """
:root{color-scheme:light dark;--line:#8884;--soft:#8881;--bad:#c62828;--good:#2e7d32}
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:76rem;padding:0 1rem}
h1{border-left:.4rem solid var(--good);padding-left:.6rem}
h1.failed{border-color:var(--bad)}
h2{margin-top:2rem;font-size:1.15rem}
pre,td,code{font:13px/1.45 ui-monospace,monospace}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--soft);padding:.8rem}
.wide{overflow-x:auto}
table{border-collapse:collapse}
th{font-weight:600;background:var(--soft)}
th,td{border:1px solid var(--line);padding:.25rem .6rem;text-align:left;vertical-align:top}
td{white-space:pre-wrap;overflow-wrap:break-word;max-width:34rem}
summary{cursor:pointer;font-weight:600;margin-top:.8rem}
"""


@dataclass(frozen=True)
class Block(ABC):
    """The content under a heading."""

    @property
    @abstractmethod
    def empty(self) -> bool:
        """Whether there is nothing to show."""

    @abstractmethod
    def markdown(self) -> list[str]:
        """Its lines as Markdown."""

    @abstractmethod
    def html(self) -> str:
        """The part as HTML."""


@dataclass(frozen=True)
class Table(Block):
    """Rows of texts; a text may have several lines."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]

    @property
    def empty(self) -> bool:
        """Whether there is no row."""
        return not self.rows

    def markdown(self) -> list[str]:
        """A table with a line for each row."""
        lines = [f"| {' | '.join(self.head)} |", f"|{'---|' * len(self.head)}"]
        return [*lines, *(f"| {' | '.join(map(_cell, row))} |" for row in self.rows)]

    def html(self) -> str:
        """A table that scrolls where it is too wide."""
        head = "".join(f"<th>{html.escape(h)}</th>" for h in self.head)
        rows = "\n".join(
            f"<tr>{''.join(f'<td>{html.escape(_bare(str(c)))}</td>' for c in row)}</tr>"
            for row in self.rows
        )
        return f"<div class='wide'><table><tr>{head}</tr>\n{rows}\n</table></div>"


@dataclass(frozen=True)
class Code(Block):
    """A text whose spaces matter."""

    text: str

    @property
    def empty(self) -> bool:
        """Whether there is no text."""
        return not self.text

    def markdown(self) -> list[str]:
        """A fenced block, its fence longer than any in the text."""
        fence = "```"
        while fence in self.text:
            fence += "`"
        return [fence, self.text, fence]

    def html(self) -> str:
        """A block of preformatted text."""
        return f"<pre>{html.escape(self.text)}</pre>"


@dataclass(frozen=True)
class Items(Block):
    """A list of texts; one alone is a paragraph."""

    items: Sequence[str]

    @property
    def empty(self) -> bool:
        """Whether there is none."""
        return not self.items

    def markdown(self) -> list[str]:
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

    def html(self) -> str:
        """A list; texts of several lines keep them."""
        items = [
            f"<pre>{html.escape(i)}</pre>" if "\n" in i else html.escape(i) for i in self.items
        ]
        if len(items) == 1:
            return f"<p>{items[0]}</p>" if "<pre>" not in items[0] else items[0]
        return f"<ul>{''.join(f'<li>{i}</li>' for i in items)}</ul>"


@dataclass(frozen=True)
class Section:
    """A heading and its content.

    Fields:
        title: the heading; none if it is empty.
        body: its content.
        folded: closed until it is asked for, where the page can do that.
    """

    title: str
    body: Block
    folded: bool = False


@dataclass(frozen=True)
class Page:
    """A title and sections.

    Fields:
        title: the title.
        sections: in their order.
        failed: whether the page is of something that failed.
    """

    title: str
    sections: Sequence[Section] = field(default_factory=list)
    failed: bool = False

    def markdown(self) -> str:
        r"""The page as Markdown.

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
        lines = [f"# {self.title}", ""]
        for section in self.sections:
            if section.folded:
                lines += ["<details>", f"<summary>{_plain(section.title)}</summary>", ""]
            elif section.title:
                lines += [f"## {section.title}", ""]
            lines += [*section.body.markdown(), ""]
            lines += ["</details>", ""] if section.folded else []
        return "\n".join(lines)

    def html(self) -> str:
        """The page as HTML, without anything to load."""
        parts = []
        for section in self.sections:
            title, body = html.escape(_bare(section.title)), section.body.html()
            if section.folded:
                parts.append(f"<details><summary>{title}</summary>{body}</details>")
            else:
                parts.append(f"<h2>{title}</h2>{body}" if title else body)
        state = " class='failed'" if self.failed else ""
        title = html.escape(self.title)
        return (
            "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
            "<meta name='viewport' content='width=device-width'>"
            f"<title>{title}</title><style>{_STYLE}</style></head>\n"
            f"<body><h1{state}>{title}</h1>\n" + "\n".join(parts) + "\n</body></html>\n"
        )


def _cell(text: object) -> str:
    """A text in a row of a Markdown table: `<br>` between lines, no character that ends the row."""
    escaped = html.escape(str(text), quote=False).replace("|", "\\|").replace("`", "\\`")
    return escaped.replace("*", "\\*").replace("\n", "<br>")


def _bare(title: str) -> str:
    return title.replace("`", "")


def _plain(title: str) -> str:
    return html.escape(_bare(title))
