"""Functions of a model by what a user calls them: `domain.name`, an identifier, a script."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import onnx
import onnx_ir as ir

from onnxwright.diagnostics.catalogue import model_tools as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.nested import all_nodes
from onnxwright.types.roles import Script

Key = tuple[str, str, str]


def selected_functions(model: ir.Model, selection: Iterable[Any]) -> set[Key]:
    """The functions of a model that a user names.

    Args:
        model: the model.
        selection: names, `domain.name`, identifiers (domain, name[, overload]), scripts or
            functions.

    Returns:
        Their identifiers; a name selects all functions that have it.

    Raises:
        ModelToolError: there is no such function (OW876).
    """
    entries = [selection] if isinstance(selection, str) else list(selection)
    return {key for one in entries for key in _matching(one, list(model.functions))}


def selected_callees(model: ir.Model, entry: Any) -> list[Key]:
    """The functions and custom operators of a model that a user names.

    Args:
        model: the model.
        entry: as one of those of `selected_functions`.

    Returns:
        Their identifiers.

    Raises:
        ModelToolError: there is no such function or operator (OW876).
    """
    holders: list[ir.Graph | ir.Function] = [model.graph, *model.functions.values()]
    called = [n.op_identifier() for h in holders for n in all_nodes(h) if n.domain]
    return _matching(entry, list(dict.fromkeys([*model.functions, *called])))


def shown(key: Key) -> str:
    """An identifier as text: `domain.name`, and the overload where it has one."""
    domain, name, overload = key
    return ".".join(filter(None, (domain, name))) + (f":{overload}" if overload else "")


def _matching(asked: Any, keys: list[Key]) -> list[Key]:
    if isinstance(asked, (Script, ir.Function, onnx.FunctionProto)):
        f: Any = asked
        asked = (f.domain, f.name, f.overload)
    if isinstance(asked, (tuple, list)) and 2 <= len(asked) <= 3:
        key = (*asked, "")[:3]
        matches = [k for k in keys if k == key]
    else:
        matches = [k for k in keys if str(asked) in (k[1], shown(k))]
    if not matches:
        name = asked if isinstance(asked, str) else shown((*map(str, asked), "")[:3])  # type: ignore[arg-type]
        names = [shown(key) for key in keys]
        close = difflib.get_close_matches(name, names, 1)
        fail(messages.UnknownValue(
            kind="function", name=name,
            names=f"its functions are {', '.join(names[:20])}" if names else "it has no functions",
            suggestion=close[0] if close else None,
        ))  # fmt: skip
    return matches
