"""Functions of Python that make a text of a number which is known at run time only.

PyTorch gives the name of a symbol (`u0`) for it: as a key of a dict, or compared with another text,
it is a wrong answer, not an error.  In rewritten code such a text depends on the number.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.diagnostics.catalogue import export_forms as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.exporter.capture.source.conversions import Conversions
from onnxwright.exporter.capture.source.functions import MACHINERY
from onnxwright.exporter.places import STDLIB, line_of


@dataclass
class Texts:
    """The uses of texts of unknown numbers.

    Fields:
        functions: the functions, by their code.
        places: the files and lines.
    """

    functions: Conversions = field(default_factory=dict)
    places: dict[tuple[str, int], None] = field(default_factory=dict)

    def warn(self) -> None:
        """Warn of each (OW885)."""
        for place in self.places:
            warn(messages.TextOfNumber(span=line_of(*place)))


@contextmanager
def texts_recorded() -> Iterator[Texts]:
    """While it lasts, functions that use the text of an unknown number are recorded.

    Yields:
        The functions.  Texts of errors and of calls whose result nobody reads, such as `print` and
        `warnings.warn`, do not count.
    """
    found = Texts()
    before: Callable[[torch.SymInt], str] = torch.SymInt.__str__

    def text(self: torch.SymInt) -> str:
        frame = sys._getframe(1)
        place = frame.f_code.co_filename, frame.f_lineno
        if not _is_of_a_library(place[0]) and free_unbacked_symbols(self) and _is_used(*place):
            found.functions.setdefault(frame.f_code, frame)
            found.places.setdefault(place)
        return before(self)

    torch.SymInt.__str__ = text  # type: ignore[method-assign,unused-ignore]
    try:
        yield found
    finally:
        torch.SymInt.__str__ = before  # type: ignore[method-assign,unused-ignore]


def _is_of_a_library(file: str) -> bool:
    own = file.startswith(STDLIB) and "site-packages" not in file
    return own or file.startswith(MACHINERY)


def _is_used(file: str, line: int) -> bool:
    """Whether the statement of a line does something with a text."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return True
    statement: ast.stmt | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            if statement is None or node.lineno >= statement.lineno:
                statement = node
    if isinstance(statement, (ast.Raise, ast.Assert)):
        return False
    return not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call))
