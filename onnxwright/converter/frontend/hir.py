"""The small tree between Python's AST and the IR: frozen nodes, each with a span.

It holds only what is supported.  Passes build new trees and never change one; a pass that puts
facts on a statement (`live_out`) does so in a field made for it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Union, get_args

from onnxwright.diagnostics.span import Span

# -- expressions -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Name:
    """A name that is read."""

    span: Span
    id: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, string, `None`, `...`, or a value put there by a pass."""

    span: Span
    value: object


@dataclass(frozen=True, slots=True)
class Attribute:
    """`value.name`."""

    span: Span
    value: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Subscript:
    """`value[index]`."""

    span: Span
    value: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class SliceExpr:
    """`lower:upper:step` between square brackets."""

    span: Span
    lower: Expr | None
    upper: Expr | None
    step: Expr | None


@dataclass(frozen=True, slots=True)
class Display:
    """`(a, b)`, `[a, b]` or `{a, b}`; kind is `tuple`, `list` or `set`."""

    span: Span
    kind: str
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class DictDisplay:
    """`{k: v}`; a key of None means `**v`."""

    span: Span
    keys: tuple[Expr | None, ...]
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Unary:
    """A unary operator, named as in the module `operator`."""

    span: Span
    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    """A binary operator, named as in the module `operator`; `inplace` in `left op= right`."""

    span: Span
    op: str
    left: Expr
    right: Expr
    inplace: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """`first op rest op rest ...`; `is`, `is_not`, `in`, `not_in` beside the usual ones."""

    span: Span
    first: Expr
    ops: tuple[str, ...]
    rest: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Logic:
    """`and` / `or` of two or more operands."""

    span: Span
    op: str
    operands: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Conditional:
    """`then if test else orelse`."""

    span: Span
    test: Expr
    then: Expr
    orelse: Expr


@dataclass(frozen=True, slots=True)
class Star:
    """`*value` in a call or a display."""

    span: Span
    value: Expr


@dataclass(frozen=True, slots=True)
class Call:
    """A call; a keyword of None means `**value`."""

    span: Span
    func: Expr
    args: tuple[Expr, ...]
    keywords: tuple[tuple[str | None, Expr], ...]


@dataclass(frozen=True, slots=True)
class Walrus:
    """`name := value`."""

    span: Span
    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Format:
    """An f-string: text and (expression, conversion, format) parts."""

    span: Span
    parts: tuple[str | tuple[Expr, str, Expr | None], ...]


@dataclass(frozen=True, slots=True)
class Clause:
    """`for target in iterable if tests` of a comprehension."""

    target: Target
    iterable: Expr
    tests: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Comprehension:
    """A list, set, dict or generator comprehension."""

    span: Span
    kind: str
    element: Expr
    value: Expr | None
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a local function; `annotation` is the text of its annotation, if any."""

    span: Span
    name: str
    kind: str
    default: Expr | None
    annotation: str | None = None


@dataclass(frozen=True, slots=True)
class LocalFunction:
    """A nested `def` or a `lambda`."""

    span: Span
    name: str
    params: tuple[Parameter, ...]
    body: Block


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A piece of Python's own tree that passes move about without looking inside.

    It is an expression, or a statement that decides nothing (then it is the value of an
    `Evaluate`).  The lowering to ONNX never sees one: the exporter's rewriting of PyTorch programs
    makes them, so that both use the same passes.

    Fields:
        node: the piece, a node of the module `ast`.
        read: the names it reads, in order.
        bound: the names it binds.
        captured: the names that functions defined in it take from around them.
    """

    span: Span
    node: object
    read: tuple[str, ...] = ()
    bound: tuple[str, ...] = ()
    captured: tuple[str, ...] = ()


Expr = Union[
    Name, Literal, Attribute, Subscript, SliceExpr, Display, DictDisplay, Unary, Binary, Comparison,
    Logic, Conditional, Star, Call, Walrus, Format, Comprehension, LocalFunction, Verbatim,
]  # fmt: skip

# -- targets ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NameTarget:
    """A name that is bound."""

    span: Span
    id: str


@dataclass(frozen=True, slots=True)
class TupleTarget:
    """Names that are bound to the parts of a value; `star` is the position of `*rest`."""

    span: Span
    items: tuple[Target, ...]
    star: int | None = None


@dataclass(frozen=True, slots=True)
class ItemTarget:
    """`container[index] = ...`: binds a changed copy of a container or tensor to its name.

    `path` has the indices before the last one: `x[0][1] = ...`.
    """

    span: Span
    id: str
    index: Expr
    path: tuple[Expr, ...] = ()


Target = Union[NameTarget, TupleTarget, ItemTarget]

# -- statements ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assign:
    """Bind targets to a value.

    `annotation` is the text of an annotation, if any; `declared` are the names among the targets
    that a statement before annotates (`y: FLOAT["N"]` without a value), with those texts.
    """

    span: Span
    targets: tuple[Target, ...]
    value: Expr
    annotation: str | None = None
    declared: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class If:
    """A branch; `live_out` are the names read after it, in order of first binding."""

    span: Span
    test: Expr
    then: Block
    orelse: Block
    live_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class For:
    """A `for` loop.

    `broken` names the flag that stops the loop once it is true; `carried` are the names whose
    values go from one iteration to the next or out of the loop.  `keep` is for verbatim lowering:
    where it is set, `broken` is true as long as the loop continues; `until` is the test of a last
    `break`.
    """

    span: Span
    target: Target
    iterable: Expr
    body: Block
    orelse: Block = ()
    broken: str | None = None
    carried: tuple[str, ...] = ()
    live_out: tuple[str, ...] = ()
    keep: bool = False
    until: Expr | None = None


@dataclass(frozen=True, slots=True)
class While:
    """A `while` loop; fields as in `For`."""

    span: Span
    test: Expr
    body: Block
    orelse: Block = ()
    broken: str | None = None
    carried: tuple[str, ...] = ()
    live_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Break:
    """`break`; removed by the loop-exits pass."""

    span: Span


@dataclass(frozen=True, slots=True)
class Continue:
    """`continue`; removed by the loop-exits pass."""

    span: Span


@dataclass(frozen=True, slots=True)
class Return:
    """`return value`; removed by the single-exit pass."""

    span: Span
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Evaluate:
    """An expression as a statement."""

    span: Span
    value: Expr


@dataclass(frozen=True, slots=True)
class Define:
    """A nested `def`."""

    span: Span
    function: LocalFunction


@dataclass(frozen=True, slots=True)
class Assert:
    """`assert test, message`."""

    span: Span
    test: Expr
    message: Expr | None


@dataclass(frozen=True, slots=True)
class Raise:
    """`raise exception`."""

    span: Span
    exception: Expr | None


@dataclass(frozen=True, slots=True)
class Delete:
    """`del name`."""

    span: Span
    id: str


Statement = Union[
    Assign, If, For, While, Break, Continue, Return, Evaluate, Define, Assert, Raise, Delete
]
Block = tuple[Statement, ...]
Node = Union[Expr, Statement, Target, Clause, Parameter]

# Names that passes make start with this; Python cannot spell them.
INTERNAL = "%"
RESULT = "%result"


def node_fields(kind: type) -> tuple[str, ...]:
    """The fields of a class of nodes that may hold nodes."""
    names = _FIELDS.get(kind)
    if names is None:
        names = _FIELDS[kind] = tuple(f.name for f in fields(kind) if f.name not in _NOT_NODES)
    return names


def children(node: object) -> list[object]:
    """The nodes directly inside a node, in order of evaluation for expressions."""
    found: list[object] = []
    for name in node_fields(type(node)):
        value = getattr(node, name)
        if type(value) is tuple:
            _add_nodes(value, found)
        elif type(value) in NODE_TYPES:
            found.append(value)
    return found


def _add_nodes(items: tuple[object, ...], found: list[object]) -> None:
    for item in items:
        if type(item) is tuple:
            _add_nodes(item, found)
        elif type(item) in NODE_TYPES:
            found.append(item)


NODE_TYPES: frozenset[type] = frozenset(
    (*get_args(Expr), *get_args(Target), *get_args(Statement), Clause, Parameter)
)
_NOT_NODES = frozenset(
    ("span", "id", "name", "op", "ops", "kind", "carried", "live_out", "broken", "keep", "inplace",
     "node", "read", "bound", "captured")
)  # fmt: skip
_FIELDS: dict[type, tuple[str, ...]] = {}
# Expressions without others inside.
LEAVES = frozenset((Name, Literal))
