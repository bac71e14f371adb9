"""A Python file that is edited in place: names replaced, imports split, imports added."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

_Node = TypeVar("_Node", bound=ast.AST)


@dataclass(frozen=True, order=True)
class Note:
    """A place that needs a look.

    Fields:
        line: its line, from 1.
        text: what is different there.
    """

    line: int
    text: str


@dataclass(frozen=True)
class Migrated:
    """What came of a file.

    Fields:
        text: the new text; the old one where nothing changes.
        notes: places that mean something else here, or have no counterpart.
    """

    text: str
    notes: tuple[Note, ...]


class Source:
    """A file, its syntax tree, and the edits to it; offsets are those of its UTF-8 bytes.

    Attributes:
        tree: the syntax tree.
    """

    def __init__(self, text: str) -> None:
        self.tree = ast.parse(text)
        self._data = text.encode()
        # The lines of Python, which are not those of `str.splitlines`.
        ends = [m.end() for m in re.finditer(rb"\r\n|\r|\n", self._data)]
        self._starts = [0, *ends]
        self._edits: dict[tuple[int, int], str] = {}
        self._inserted: dict[int, list[str]] = {}
        self._notes: set[Note] = set()
        self._needed: dict[str, int] = {}

    def nodes(self, kind: type[_Node]) -> Iterator[_Node]:
        """All nodes of a class."""
        return (node for node in ast.walk(self.tree) if isinstance(node, kind))

    def span(self, node: ast.expr | ast.stmt | ast.alias) -> tuple[int, int]:
        """Where the text of a node begins and ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def text(self, node: ast.expr) -> str:
        """The text of a node as the file has it."""
        return self.between(*self.span(node))

    def between(self, start: int, end: int) -> str:
        """The text between two offsets."""
        return self._data[start:end].decode()

    def remaining_names(self) -> frozenset[str]:
        """The names that the file reads where nothing is replaced."""
        spans = list(self._edits)
        return frozenset(
            node.id
            for node in self.nodes(ast.Name)
            if not any(start <= self.span(node)[0] < end for start, end in spans)
        )

    def remove_names(self, node: ast.ImportFrom, gone: Sequence[ast.alias]) -> None:
        """Take names out of an import; with its last name the line goes, too."""
        if len(gone) < len(node.names):
            self.move_names(node, gone)
            return
        start, end = self.span(node)
        line = re.compile(rb"[ \t]*(;[ \t]*|\r\n|\r|\n)?").match(self._data, end)
        assert line is not None
        self.replace(start, line.end(), "")

    def uses(self, name: str) -> Iterator[list[ast.Attribute]]:
        """The chains of attributes on a name: for `name.a.b`, the nodes of `name.a` and of all."""
        inner = {id(n.value): n for n in self.nodes(ast.Attribute)}
        for node in self.nodes(ast.Name):
            if node.id == name:
                chain = []
                at = inner.get(id(node))
                while at is not None:
                    chain.append(at)
                    at = inner.get(id(at))
                if chain:
                    yield chain

    def bound_names(self) -> frozenset[str]:
        """Every name that the file binds, in any scope."""
        names = {n.id for n in self.nodes(ast.Name) if isinstance(n.ctx, ast.Store)}
        names |= {n.arg for n in self.nodes(ast.arg)}
        names |= {a.asname or a.name.split(".")[0] for a in self.nodes(ast.alias)}
        definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        names |= {n.name for n in self.nodes(ast.stmt) if isinstance(n, definitions)}
        return frozenset(names)

    def note(self, node: ast.AST, text: str) -> None:
        """Say something of a place."""
        self._notes.add(Note(getattr(node, "lineno", 1), text))

    def replace(self, start: int, end: int, text: str) -> None:
        """Put a text in the place of another."""
        self._edits[(start, end)] = text

    def replace_name(self, node: ast.expr | ast.alias, old: str, new: str) -> None:
        """Replace the dotted name that a node begins with."""
        start, _ = self.span(node)
        self.replace(start, start + len(old), new)

    def replace_module(self, node: ast.ImportFrom, old: str, new: str) -> None:
        """Replace the module, or its first parts, of `from module import ...`."""
        start, end = self.span(node)
        match = re.compile(rb"from[\s\\]+").match(self._data, start, end)
        assert match is not None
        self.replace(match.end(), match.end() + len(old), new)

    def move_names(
        self, node: ast.Import | ast.ImportFrom, moved: Sequence[ast.alias], *instead: str
    ) -> None:
        """Take some of the names of an import out of it, and put other statements before it.

        Where all names are moved, the other statements take its place.
        """
        start, end = self.span(node)
        kept = [a for a in node.names if a not in moved]
        if not kept:
            self.replace(start, end, self._between(start).join(instead))
            return
        spans = [self.span(a) for a in node.names]
        last = node.names.index(kept[-1])
        for number, alias in enumerate(node.names):
            if alias in moved and number < last:
                self.replace(spans[number][0], spans[number + 1][0], "")
        if last + 1 < len(spans):
            self.replace(spans[last][1], spans[-1][1], "")
        between = self._between(start)
        self._inserted.setdefault(start, []).extend(text + between for text in instead)

    def need(self, statement: str, node: ast.expr) -> None:
        """Ask for an import at the top of the file, before a node that needs it."""
        start, _ = self.span(node)
        self._needed[statement] = min(start, self._needed.get(statement, start))

    def result(self) -> Migrated:
        """The new text and the notes."""
        for statement, before in self._needed.items():
            self._add_import(statement, before)
        parts: list[str] = []
        at = 0
        for place in sorted({*self._inserted, *(start for start, _ in self._edits)}):
            parts += [self._data[at:place].decode(), *self._inserted.get(place, ())]
            at = place
            for (start, end), text in self._edits.items():
                if start == place:
                    parts.append(text)
                    at = end
        parts.append(self._data[at:].decode())
        return Migrated("".join(parts), tuple(sorted(self._notes)))

    def _between(self, start: int) -> str:
        """What comes between a new statement and the one at an offset: a new line where it can."""
        line = max(s for s in self._starts if s <= start)
        indent = self._data[line:start].decode()
        return "; " if indent.strip() else self._newline() + indent

    def _newline(self) -> str:
        match = re.search(rb"\r\n|\r|\n", self._data)
        return match[0].decode() if match else "\n"

    def _add_import(self, statement: str, before: int) -> None:
        """Add an import after the docstring and the imports at the top that come before a place."""
        for node in self.tree.body:
            start, end = self.span(node)
            changed = any(start <= place < end for place, _ in self._edits)
            if ast.unparse(node) == statement and end <= before and not changed:
                return
        anchor = None
        for number, node in enumerate(self.tree.body):
            if self.span(node)[1] > before:
                break
            docstring = not number and isinstance(node, ast.Expr)
            if isinstance(node, (ast.Import, ast.ImportFrom)) or (
                docstring and isinstance(getattr(node, "value", None), ast.Constant)
            ):
                anchor = node
        if anchor is None:
            first = self.tree.body[0]
            decorators = getattr(first, "decorator_list", [])
            line = min([first.lineno, *(d.lineno for d in decorators)])
            place = self._starts[line - 1]
            is_definition = isinstance(first, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            blank = self._newline() * (3 if is_definition else 1)
            self._inserted.setdefault(place, []).append(statement + blank)
            return
        _, end = self.span(anchor)
        rest = re.compile(rb"[ \t]*(#[^\r\n]*)?(\r\n|\r|\n)").match(self._data, end)
        if rest is None:
            self._inserted.setdefault(end, []).insert(0, f"; {statement}")
        else:
            text = statement + self._newline()
            self._inserted.setdefault(rest.end(), []).insert(0, text)
