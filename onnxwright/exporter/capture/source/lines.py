"""Where in the tree of a function the statement of a line stands."""

from __future__ import annotations

import ast

_Blocks = list[list[ast.stmt]]


def places_of(node: ast.AST, line: int) -> list[tuple[list[ast.stmt], int]]:
    """The blocks and the first place in each of the innermost statements of a line.

    Args:
        node: a function; a line that was copied is there several times.
        line: counted from 1.
    """
    found: list[tuple[list[ast.stmt], int]] = []
    for child in ast.walk(node):
        for block in _blocks(child):
            for n, s in enumerate(block):
                if _first_line(s) == line and not any(True for _ in _blocks(s)):
                    found.append((block, n))
                    break
    place = place_of(node, line)
    return found or ([place] if place is not None else [])


def covers(node: ast.AST, line: int) -> bool:
    """Whether a statement of a function stands on a line.

    Args:
        node: the function.
        line: counted from 1.
    """
    return place_of(node, line) is not None


def place_of(node: ast.AST, line: int) -> tuple[list[ast.stmt], int] | None:
    """The block and the place in it of the innermost statement of a line.

    Args:
        node: a function.
        line: counted from 1.

    Returns:
        The block, and the index of the statement in it; None if no statement has the line.
    """
    found = None
    for child in ast.walk(node):
        for block in _blocks(child):
            for n, s in enumerate(block):
                if _first_line(s) <= line <= (s.end_lineno or s.lineno):
                    found = block, n  # `ast.walk` gives outer statements first
    return found


def _blocks(node: ast.AST) -> _Blocks:
    blocks = [getattr(node, name, None) for name in ("body", "orelse", "finalbody")]
    found = [b for b in blocks if isinstance(b, list) and b]
    # The `if` of an `elif` stands where nothing can be inserted before it.
    return [b for b in found if not (isinstance(node, ast.If) and _is_elif(node, b))]


def _is_elif(node: ast.If, block: list[ast.stmt]) -> bool:
    first = block[0]
    same = block is node.orelse and len(block) == 1 and isinstance(first, ast.If)
    return same and first.col_offset == node.col_offset


def _first_line(s: ast.stmt) -> int:
    decorators = getattr(s, "decorator_list", [])
    return int(min([s.lineno, *(d.lineno for d in decorators)]))
