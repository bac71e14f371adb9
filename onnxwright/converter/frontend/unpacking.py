"""Targets that unpack: `a, b`, `(a, *rest)`, `[a, (b, c)]`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from onnxwright.converter.frontend import hir
from onnxwright.diagnostics.span import Span


def unpacking_target(
    node: ast.Tuple | ast.List, span: Span, target: Callable[[ast.expr], hir.Target | None]
) -> hir.TupleTarget | None:
    """A target of several names.

    Args:
        node: of Python's tree.
        target: reads one of its items; None for what it cannot read.

    Returns:
        The target; None if one of its items cannot be read.
    """
    star = None
    items: list[hir.Target] = []
    for n, item in enumerate(node.elts):
        if isinstance(item, ast.Starred):
            star, item = n, item.value
        item_target = target(item)
        if item_target is None:
            return None
        items.append(item_target)
    return hir.TupleTarget(span, tuple(items), star)
