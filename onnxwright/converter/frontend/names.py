"""Names that expressions and statements read and bind, in order of evaluation."""

from __future__ import annotations

from collections.abc import Iterable

from onnxwright.converter.frontend import hir


def target_names(target: hir.Target) -> list[str]:
    """The names a target binds, in order."""
    if isinstance(target, hir.TupleTarget):
        return [name for item in target.items for name in target_names(item)]
    return [target.id]


def bound_in(block: Iterable[hir.Statement]) -> list[str]:
    """Every name the statements may bind or delete, in order of first binding."""
    names: dict[str, None] = {}
    for s in block:
        for name in _bound_by(s):
            names.setdefault(name)
    return list(names)


def _bound_by(s: hir.Statement) -> list[str]:
    names: list[str] = []
    if isinstance(s, hir.Assign):
        names += walrus_names(s.value)
        for target in s.targets:
            names += target_names(target)
    elif isinstance(s, hir.If):
        names += walrus_names(s.test) + bound_in(s.then) + bound_in(s.orelse)
    elif isinstance(s, hir.For):
        names += walrus_names(s.iterable) + target_names(s.target) + bound_in(s.body)
    elif isinstance(s, hir.While):
        names += walrus_names(s.test) + bound_in(s.body)
    elif isinstance(s, hir.Define):
        names.append(s.function.name)
    elif isinstance(s, hir.Delete):
        names.append(s.id)
    elif isinstance(s, hir.Evaluate):
        names += walrus_names(s.value)
    return names


def walrus_names(node: object) -> list[str]:
    """Names bound by `:=` inside an expression."""
    if isinstance(node, hir.LocalFunction):
        return []
    if isinstance(node, hir.Verbatim):
        return list(node.bound)
    names: list[str] = []
    for child in hir.children(node):
        if type(child) not in hir.LEAVES:
            names += walrus_names(child)
    return [node.name, *names] if isinstance(node, hir.Walrus) else names


def reads(node: object, bound: set[str] | None = None) -> list[str]:
    """Names an expression reads before it binds them itself, in order of evaluation.

    `bound` collects the names it binds for certain.
    """
    bound = set() if bound is None else bound
    names: dict[str, None] = {}
    _reads(node, bound, names)
    return list(names)


def _reads(node: object, bound: set[str], names: dict[str, None]) -> None:
    if isinstance(node, hir.Name):
        if node.id not in bound:
            names.setdefault(node.id)
    elif type(node) not in _SPECIAL:
        if node is not None:
            for child in hir.children(node):
                if type(child) not in hir.LEAVES:
                    _reads(child, bound, names)
                elif type(child) is hir.Name and child.id not in bound:
                    names.setdefault(child.id)
    elif isinstance(node, hir.Verbatim):
        names.update(dict.fromkeys(name for name in node.read if name not in bound))
        bound |= set(node.bound)
    elif isinstance(node, hir.Walrus):
        _reads(node.value, bound, names)
        bound.add(node.name)
    elif isinstance(node, hir.Logic):
        _reads(node.operands[0], bound, names)
        maybe = set(bound)
        for operand in node.operands[1:]:
            _reads(operand, maybe, names)
    elif isinstance(node, hir.Conditional):
        _reads(node.test, bound, names)
        then, orelse = set(bound), set(bound)
        _reads(node.then, then, names)
        _reads(node.orelse, orelse, names)
        bound |= then & orelse
    elif isinstance(node, hir.Comprehension):
        _comprehension_reads(node, bound, names)
    elif isinstance(node, hir.LocalFunction):
        names.update(dict.fromkeys(name for name in free_names(node) if name not in bound))


# Expressions that bind names, or read some only sometimes.
_SPECIAL = frozenset(
    (hir.Verbatim, hir.Walrus, hir.Logic, hir.Conditional, hir.Comprehension, hir.LocalFunction)
)


def _comprehension_reads(node: hir.Comprehension, bound: set[str], names: dict[str, None]) -> None:
    inner = set(bound)
    for clause in node.clauses:
        _reads(clause.iterable, inner, names)
        inner |= set(target_names(clause.target))
        for test in clause.tests:
            _reads(test, inner, names)
    _reads(node.element, inner, names)
    _reads(node.value, inner, names)


def free_names(function: hir.LocalFunction) -> list[str]:
    """Names a nested function takes from around it."""
    names: dict[str, None] = {}
    own = {p.name for p in function.params} | set(bound_in(function.body))
    for p in function.params:
        _reads(p.default, set(), names)
    for name in block_reads(function.body):
        if name not in own:
            names.setdefault(name)
    return list(names)


def block_reads(block: Iterable[hir.Statement]) -> list[str]:
    """Every name that the statements read anywhere, whoever binds it."""
    names: dict[str, None] = {}
    for s in block:
        if isinstance(s, hir.Define):
            for name in free_names(s.function):
                names.setdefault(name)
            continue
        for child in hir.children(s):
            if isinstance(child, (hir.NameTarget, hir.TupleTarget, hir.ItemTarget)):
                for name in target_reads(child):
                    names.setdefault(name)
            elif _is_statement(child):
                for name in block_reads([child]):  # type: ignore[list-item]
                    names.setdefault(name)
            else:
                for name in reads(child):
                    names.setdefault(name)
        for flag in (getattr(s, "broken", None),):
            if flag:
                names.setdefault(flag)
    return list(names)


def target_reads(target: hir.Target) -> list[str]:
    """Names that binding a target reads: the container and index of an item."""
    if isinstance(target, hir.ItemTarget):
        return [target.id, *(n for part in (*target.path, target.index) for n in reads(part))]
    if isinstance(target, hir.TupleTarget):
        return [name for item in target.items for name in target_reads(item)]
    return []


def _is_statement(node: object) -> bool:
    return isinstance(
        node,
        (hir.Assign, hir.If, hir.For, hir.While, hir.Evaluate, hir.Define, hir.Assert, hir.Raise,
         hir.Delete, hir.Return, hir.Break, hir.Continue),
    )  # fmt: skip


def captured_names(block: Iterable[hir.Statement]) -> set[str]:
    """Names that functions nested in the block take from it (they may be called at any time)."""
    names: set[str] = set()

    def walk(node: object) -> None:
        if isinstance(node, hir.LocalFunction):
            names.update(free_names(node))
        elif isinstance(node, hir.Verbatim):
            names.update(node.captured)
        for child in hir.children(node):
            walk(child)

    for s in block:
        walk(s)
    return names
