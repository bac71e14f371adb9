"""The stages from a Python function to IR, and the reasons for their order.

`front` runs those that need no values, once for each function; `lower.functions.lower_function` and
`lower_main` beside it run the rest for each compilation.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import CodeType, FunctionType
from typing import Any, Union, cast
from weakref import ref

from onnxwright.converter.analyze.liveness import liveness
from onnxwright.converter.frontend import hir
from onnxwright.converter.frontend.capture import SourceUnit, capture
from onnxwright.converter.frontend.depth import DEPTH_LIMIT, depth_of, room_for
from onnxwright.converter.frontend.names import bound_in, target_names
from onnxwright.converter.frontend.outer_names import OuterNames, check_names
from onnxwright.converter.frontend.parse import Parsed, parse
from onnxwright.converter.normalize.single_exit import normalize
from onnxwright.converter.normalize.verbatim_exits import verbatim_exits
from onnxwright.diagnostics.catalogue import control_flow as messages
from onnxwright.diagnostics.diagnostic import Sink, fail

# Stage, what it gives, and the reason for its position.
STAGES: tuple[tuple[str, str, str], ...] = (
    ("frontend.capture", "function -> SourceUnit", "everything else reads its text and columns"),
    ("frontend.parse", "ast -> HIR", "first, so that all that is unsupported is reported together"),
    (
        "normalize.verbatim_exits",
        "HIR -> HIR",
        "decompiled scripts only, before exits become flags",
    ),
    (
        "normalize.loop_exits",
        "HIR -> HIR",
        "before single_exit: a return in a loop becomes one after",
    ),
    ("normalize.single_exit", "HIR -> HIR", "before liveness: afterwards only branches and loops"),
    ("analyze.liveness", "HIR -> HIR", "after the passes: they move statements between branches"),
    (
        "frontend.outer_names.check_names",
        "HIR -> HIR",
        "each time: names outside are read when compiling",
    ),
    (
        "lower.functions.lower_function",
        "HIR -> IR",
        "static choices, assignment and types need values: all happen here",
    ),
    ("lower.reconcile", "IR -> IR", "after lowering: only then are all operators and types known"),
    ("ir.verify", "IR -> IR", "last, on what is given out"),
)


@dataclass(frozen=True)
class Front:
    """A function after the stages that need no values: parsed, normalized, with liveness.

    `own_names` are its parameters and every name it binds; `chains` are the names and dotted names
    it takes from around it: its opset is among them.
    """

    parsed: Parsed
    body: hir.Block
    own_names: frozenset[str]
    chains: tuple[hir.Name | hir.Attribute, ...]


# By the identity of the code they were made from, and gone with it: a file that is loaded anew
# leaves nothing.  Code objects are compared by value, and those of two files may be equal.
_fronts: dict[int, tuple[ref[CodeType], dict[tuple[Any, ...], Front]]] = {}


def _kept_for(code: CodeType) -> dict[tuple[Any, ...], Front]:
    """The fronts of a code object."""
    number = id(code)
    fronts = _fronts.get(number)
    if fronts is None or fronts[0]() is not code:
        fronts = _fronts[number] = (ref(code, lambda _: _fronts.pop(number, None)), {})
    return fronts[1]


# Where a syntax tree keeps what was made from it.
_FRONTS = "_ow_fronts"


def _fronts_of(unit: SourceUnit) -> dict[tuple[str, bool], Front]:
    """The fronts of a definition, by name and whether they are lowered verbatim.

    `capture` gives the same tree for the same text of the same file, and has compared it with the
    code: as long as it does, nothing that the front end reads has changed.
    """
    kept: dict[tuple[str, bool], Front] | None = getattr(unit.node, _FRONTS, None)
    if kept is None:
        kept = {}
        setattr(unit.node, _FRONTS, kept)
    return kept


def _nobody() -> None:
    """Placeholder for the function in a cached front, which would keep its code alive."""


def front(function: FunctionType, source: str | None = None, *, verbatim: bool = False) -> Front:
    """The front end's result for a function, made once for each code object.

    `verbatim` is for decompiled scripts.

    Raises:
        ScriptError: everything in it that cannot be said in ONNX, and every unknown name, at once.
    """
    kept = _kept_for(function.__code__)
    key = (source, verbatim)
    stages = kept.get(key)
    sink = Sink()
    if stages is None:
        unit = capture(function, source)
        stages = _fronts_of(unit).get((function.__name__, verbatim))
        if stages is not None:
            stages = _with_unit(stages, replace(unit, function=cast("FunctionType", _nobody)))
    if stages is None:
        try:
            stages = _front(unit, sink, verbatim=verbatim)
        except RecursionError:
            depth = depth_of(unit.node)
            if depth > DEPTH_LIMIT:
                what = "the expressions of this function"
                fail(messages.NestedTooDeep(what=what, limit=DEPTH_LIMIT, span=unit.span))
            sink = Sink()
            with room_for(depth):
                stages = _front(unit, sink, verbatim=verbatim)
        if not sink.errors:
            unit = replace(stages.parsed.unit, function=cast("FunctionType", _nobody))
            stages = _with_unit(stages, unit)
            # Without the node that it is kept on: both would wait for the garbage collector.
            alone = replace(unit, node=cast("ast.FunctionDef", None))
            _fronts_of(unit)[function.__name__, verbatim] = _with_unit(stages, alone)
    if not sink.errors:
        kept[key] = stages
    unit = stages.parsed.unit
    own = replace(
        stages.parsed, unit=unit if unit.function is function else _rebound(stages, function)
    )
    if not _all_known(stages.chains, function):
        with room_for(own.depth):
            check_names(own, stages.body, sink)
    sink.raise_if_any()
    return replace(stages, parsed=own)


def _with_unit(stages: Front, unit: SourceUnit) -> Front:
    """What the front end gave for the same text, as that of another unit."""
    return replace(stages, parsed=replace(stages.parsed, unit=unit))


def _all_known(chains: Iterable[hir.Name | hir.Attribute], function: FunctionType) -> bool:
    """Whether every name that a function takes from around it has a value there."""
    outer = OuterNames(function)
    return all(
        name.id in outer or name.id.startswith(hir.INTERNAL)
        for name in chains
        if isinstance(name, hir.Name)
    )


def _front(unit: SourceUnit, sink: Sink, *, verbatim: bool) -> Front:
    """The stages from source to liveness."""
    parsed = parse(unit, sink)
    plain = verbatim_exits(parsed.body) if verbatim else parsed.body
    inner = parsed.has_functions
    body = liveness(normalize(plain, has_functions=inner), has_functions=inner)
    local = frozenset((*parsed.params, *bound_in(body)))
    return Front(parsed, body, local, tuple(_chains(body, local)))


_Chains = list[Union[hir.Name, hir.Attribute]]


def _chains(block: hir.Block, local: frozenset[str]) -> _Chains:
    """Every name, and every dotted name, that a body takes from around it."""
    chains: _Chains = []
    for statement in block:
        _add_chains(statement, local, chains)
    return chains


def _add_chains(node: Any, local: frozenset[str], chains: _Chains) -> None:
    if isinstance(node, hir.LocalFunction):
        own = {p.name for p in node.params} | set(bound_in(node.body))
        for p in node.params:
            if p.default is not None:
                _add_chains(p.default, local, chains)
        local |= own
    elif isinstance(node, hir.Comprehension):
        local |= {n for clause in node.clauses for n in target_names(clause.target)}
    elif isinstance(node, (hir.Name, hir.Attribute)):
        root: Any = node
        while isinstance(root, hir.Attribute):
            root = root.value
        if not (isinstance(root, hir.Name) and root.id in local):
            chains.append(node)
    for child in hir.children(node):
        if type(child) is not hir.Name:
            _add_chains(child, local, chains)
        elif child.id not in local:
            chains.append(child)


def _rebound(front: Front, function: FunctionType) -> Any:
    """The same source for another function object of the same code (closures, reloads)."""
    return replace(front.parsed.unit, function=function)
