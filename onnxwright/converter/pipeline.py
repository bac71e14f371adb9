"""The stages from a Python function to IR, and why they stand in this order.

`front` runs those that need no values, once for each function; `lower.lower_function` and
`lower.lower_main` run the rest for each compilation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import CodeType, FunctionType
from typing import Any, cast
from weakref import WeakKeyDictionary

from onnxwright.converter import hir
from onnxwright.converter.analyze.liveness import liveness
from onnxwright.converter.capture import capture
from onnxwright.converter.frame import check_names
from onnxwright.converter.normalize.exact_exits import exact_exits
from onnxwright.converter.normalize.single_exit import normalize
from onnxwright.converter.parse import Parsed, parse
from onnxwright.diagnostics.diagnostic import Sink

# Stage, what it gives, and why it stands where it does.
STAGES: tuple[tuple[str, str, str], ...] = (
    ("capture", "function -> SourceUnit", "everything else reads its text and columns"),
    ("parse", "ast -> HIR", "first, so that all that is unsupported is reported together"),
    ("normalize.exact_exits", "HIR -> HIR", "in exact functions only, before exits become flags"),
    (
        "normalize.loop_exits",
        "HIR -> HIR",
        "before single_exit: a return in a loop becomes one after",
    ),
    ("normalize.single_exit", "HIR -> HIR", "before liveness: afterwards only branches and loops"),
    ("analyze.liveness", "HIR -> HIR", "after the passes: they move statements between branches"),
    ("frame.check_names", "HIR -> HIR", "each time: names outside are read when compiling"),
    ("lower", "HIR -> IR", "static choices, assignment and types need values: all happen here"),
    ("reconcile", "IR -> IR", "after lowering: only then are all operators and types known"),
    ("ir.verify", "IR -> IR", "last, on what is given out"),
)


@dataclass(frozen=True)
class Front:
    """A function after the stages that need no values: parsed, normalized, with liveness.

    `chains` are the names and dotted names it reads, among which its opset is found.
    """

    parsed: Parsed
    body: hir.Block
    chains: tuple[hir.Name | hir.Attribute, ...]


# By the code they were made from, and gone with it: a file that is loaded anew leaves nothing.
_fronts: WeakKeyDictionary[CodeType, dict[tuple[Any, ...], Front]] = WeakKeyDictionary()


def _nobody() -> None:
    """Stands for the function in a kept front, which would keep its code alive."""


def front(function: FunctionType, source: str | None = None, *, exact: bool = False) -> Front:
    """The front end's result for a function, made once for each code object.

    `exact` is for Python that stands for a given model.

    Raises:
        ScriptError: everything in it that cannot be said in ONNX, and every unknown name, at once.
    """
    # NOTE: code objects of two files may be equal.
    kept = _fronts.setdefault(function.__code__, {})
    key = (function.__code__.co_filename, source, exact)
    found = kept.get(key)
    sink = Sink()
    if found is None:
        parsed = parse(capture(function, source), sink)
        plain = exact_exits(parsed.body) if exact else parsed.body
        body = liveness(normalize(plain))
        found = Front(parsed, body, tuple(_chains(body)))
        if not sink.errors:
            unit = replace(parsed.unit, function=cast("FunctionType", _nobody))
            kept[key] = replace(found, parsed=replace(parsed, unit=unit))
    unit = found.parsed.unit
    own = replace(
        found.parsed, unit=unit if unit.function is function else _rebound(found, function)
    )
    check_names(own, found.body, sink)
    sink.raise_if_any()
    return replace(found, parsed=own)


def _chains(node: Any) -> Iterator[hir.Name | hir.Attribute]:
    """Every name, and every dotted name, in a body."""
    if isinstance(node, tuple):
        for item in node:
            yield from _chains(item)
        return
    if isinstance(node, (hir.Name, hir.Attribute)):
        yield node
    for child in hir.children(node):
        yield from _chains(child)


def _rebound(found: Front, function: FunctionType) -> Any:
    """The same source for another function object of the same code (closures, reloads)."""
    return replace(found.parsed.unit, function=function)
