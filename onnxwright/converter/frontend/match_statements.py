"""`match` rewritten as `if` and `elif`, in Python's syntax tree.

Values, `None`, `True` and `False`, alternatives, names, guards, and sequences where the subject is
a tuple or a list that is written out: `match (a, b)`.  Classes (`case float(v)`) become
`isinstance` where the caller can read it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass


class UnsupportedPatternError(Exception):
    """A pattern that no comparison says.

    Args:
        node: the pattern.
        construct: what it is.
    """

    def __init__(self, node: ast.pattern, construct: str) -> None:
        super().__init__(construct)
        self.node = node
        self.construct = construct


@dataclass
class _Test:
    """When a pattern matches: an expression, None where it always does, and what it binds then."""

    test: ast.expr | None
    binds: dict[str, ast.expr]


def as_ifs(node: ast.Match, *, classes: bool = False) -> list[ast.stmt]:
    r"""A `match` statement in terms of `if`.

    Args:
        classes: whether `isinstance` may stand for a class.

    Returns:
        Statements that do the same; those that compute the subject come first.

    Raises:
        UnsupportedPatternError: a pattern cannot be said by comparisons.

    Source:
        Python language reference, 8.6 "The match statement".

    Example:
        >>> tree = ast.parse("match x:\n  case 1 | 2: y = 0\n  case n if n > 5: y = n")
        >>> print(ast.unparse(as_ifs(tree.body[0])))
        if x == 1 or x == 2:
            y = 0
        else:
            n = x
            if n > 5:
                y = n
    """
    for pattern in (p for case in node.cases for p in ast.walk(case.pattern)):
        if isinstance(pattern, ast.MatchClass) and not (classes and _is_plain(pattern)):
            raise UnsupportedPatternError(pattern, "a class in a `case`")
    before: list[ast.stmt] = []
    subject = _held(node.subject, before)
    return before + _chain(subject, node.cases)


def _held(subject: ast.expr, before: list[ast.stmt]) -> ast.expr:
    """An expression that can be read several times; what must be computed once gets a name."""
    if isinstance(subject, (ast.Name, ast.Constant)):
        return subject
    if isinstance(subject, (ast.Tuple, ast.List)):
        if not any(isinstance(item, ast.Starred) for item in subject.elts):
            items = [_held(item, before) for item in subject.elts]
            return ast.copy_location(type(subject)(items, ast.Load()), subject)
    name = f"_subject_{subject.lineno}_{subject.col_offset}"
    target = ast.copy_location(ast.Name(name, ast.Store()), subject)
    before.append(ast.copy_location(ast.Assign([target], subject), subject))
    return ast.copy_location(ast.Name(name, ast.Load()), subject)


def _chain(subject: ast.expr, cases: list[ast.match_case]) -> list[ast.stmt]:
    if not cases:
        return []
    case, *others = cases
    first_test = _pattern(case.pattern, subject)
    bind: list[ast.stmt] = [
        ast.copy_location(ast.Assign([_name(name, ast.Store(), case.pattern)], value), case.pattern)
        for name, value in first_test.binds.items()
    ]
    if first_test.test is None:
        if case.guard is None:
            return bind + case.body
        rest = _chain(subject, others)
        return [*bind, ast.copy_location(ast.If(case.guard, case.body, rest), case.guard)]
    test = first_test.test
    if case.guard is not None:
        test = _joined(ast.And(), [test, _Replaced(first_test.binds).visit(case.guard)], case.guard)
    rest = _chain(subject, others)
    return [ast.copy_location(ast.If(test, bind + case.body, rest), case.pattern)]


def _pattern(pattern: ast.pattern, subject: ast.expr) -> _Test:
    if isinstance(pattern, ast.MatchValue):
        return _Test(_compared(subject, ast.Eq(), pattern.value, pattern), {})
    if isinstance(pattern, ast.MatchSingleton):
        constant = ast.copy_location(ast.Constant(pattern.value), pattern)
        return _Test(_compared(subject, ast.Is(), constant, pattern), {})
    if isinstance(pattern, ast.MatchAs):
        test = _Test(None, {}) if pattern.pattern is None else _pattern(pattern.pattern, subject)
        if pattern.name is not None:
            test.binds[pattern.name] = subject
        return test
    if isinstance(pattern, ast.MatchOr):
        return _alternatives(pattern, subject)
    if isinstance(pattern, ast.MatchSequence):
        return _sequence(pattern, subject)
    if isinstance(pattern, ast.MatchClass):
        return _instance(pattern, subject)
    raise UnsupportedPatternError(pattern, "a mapping in a `case`")


# Classes of which a pattern may name the object itself: `case float(value)`.
_WITH_VALUE = ("bool", "bytearray", "bytes", "dict", "float", "frozenset", "int", "list", "set",
               "str", "tuple")  # fmt: skip


def _is_plain(pattern: ast.MatchClass) -> bool:
    """Whether a pattern asks for a class, and for nothing of the object but itself."""
    if pattern.kwd_patterns:
        return False
    of_itself = isinstance(pattern.cls, ast.Name) and pattern.cls.id in _WITH_VALUE
    return len(pattern.patterns) <= int(of_itself)


def _instance(pattern: ast.MatchClass, subject: ast.expr) -> _Test:
    arguments = [subject, pattern.cls]
    test = ast.copy_location(
        ast.Call(_name("isinstance", ast.Load(), pattern), arguments, []), pattern
    )
    if not pattern.patterns:
        return _Test(test, {})
    inner = _pattern(pattern.patterns[0], subject)
    tests: list[ast.expr] = [test, *([inner.test] if inner.test is not None else [])]
    return _Test(_joined(ast.And(), tests, pattern), inner.binds)


def _alternatives(pattern: ast.MatchOr, subject: ast.expr) -> _Test:
    inner = [_pattern(p, subject) for p in pattern.patterns]
    if any(f.binds for f in inner):
        raise UnsupportedPatternError(pattern, "a name in an alternative of a `case`")
    tests = [f.test for f in inner if f.test is not None]
    if len(tests) < len(inner):
        return _Test(None, {})
    return _Test(_joined(ast.Or(), tests, pattern), {})


def _sequence(pattern: ast.MatchSequence, subject: ast.expr) -> _Test:
    if not isinstance(subject, (ast.Tuple, ast.List)):
        raise UnsupportedPatternError(
            pattern, "a sequence in a `case` of a subject that is not written as a tuple or list"
        )
    stars = [n for n, p in enumerate(pattern.patterns) if isinstance(p, ast.MatchStar)]
    least = len(pattern.patterns) - len(stars)
    spare = len(subject.elts) - least
    never = ast.copy_location(ast.Constant(value=False), pattern)
    if spare < 0 or (spare and not stars):
        return _Test(never, {})
    tests: list[ast.expr] = []
    binds: dict[str, ast.expr] = {}
    items = iter(subject.elts)
    for one in pattern.patterns:
        if isinstance(one, ast.MatchStar):
            rest = [next(items) for _ in range(spare)]
            if one.name is not None:
                binds[one.name] = ast.copy_location(ast.List(rest, ast.Load()), one)
            continue
        test = _pattern(one, next(items))
        binds.update(test.binds)
        if test.test is not None:
            tests.append(test.test)
    if not tests:
        return _Test(None, binds)
    return _Test(_joined(ast.And(), tests, pattern), binds)


def _compared(subject: ast.expr, operator: ast.cmpop, value: ast.expr, at: ast.pattern) -> ast.expr:
    return ast.copy_location(ast.Compare(subject, [operator], [value]), at)


def _joined(operator: ast.boolop, tests: list[ast.expr], at: ast.AST) -> ast.expr:
    if len(tests) == 1:
        return tests[0]
    return ast.copy_location(ast.BoolOp(operator, tests), at)


def _name(name: str, context: ast.expr_context, at: ast.AST) -> ast.expr:
    return ast.copy_location(ast.Name(name, context), at)


class _Replaced(ast.NodeTransformer):
    """A guard with what the pattern binds in place of the names: it is read before they exist."""

    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.values.get(node.id, node)
