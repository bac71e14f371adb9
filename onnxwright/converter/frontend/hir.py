"""The small tree between Python's AST and the IR: frozen nodes, each with a span.

It holds only what is supported.  Passes build new trees and never change one; a pass that puts
facts on a statement (`live_out`) does so in a field made for it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Union, get_args

from onnxwright.diagnostics.span import Span


@dataclass(frozen=True, slots=True)
class Node:
    """What every node has: its place in the source."""

    span: Span


# -- expressions -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A name that is read."""

    id: str


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A number, string, `None`, `...`, or a value put there by a pass."""

    value: object


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """`value.name`."""

    value: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Subscript(Node):
    """`value[index]`."""

    value: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class SliceExpr(Node):
    """`lower:upper:step` between square brackets."""

    lower: Expr | None
    upper: Expr | None
    step: Expr | None


@dataclass(frozen=True, slots=True)
class Display(Node):
    """`(a, b)`, `[a, b]` or `{a, b}`; kind is `tuple`, `list` or `set`."""

    kind: str
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class DictDisplay(Node):
    """`{k: v}`; a key of None means `**v`."""

    keys: tuple[Expr | None, ...]
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """A unary operator, named as in the module `operator`."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """A binary operator, named as in the module `operator`; `inplace` in `left op= right`."""

    op: str
    left: Expr
    right: Expr
    inplace: bool = False


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """`first op rest op rest ...`; `is`, `is_not`, `in`, `not_in` beside the usual ones."""

    first: Expr
    ops: tuple[str, ...]
    rest: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """`and` / `or` of two or more operands."""

    op: str
    operands: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """`then if test else orelse`."""

    test: Expr
    then: Expr
    orelse: Expr


@dataclass(frozen=True, slots=True)
class Star(Node):
    """`*value` in a call or a display."""

    value: Expr


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call; a keyword of None means `**value`."""

    func: Expr
    args: tuple[Expr, ...]
    keywords: tuple[tuple[str | None, Expr], ...]


@dataclass(frozen=True, slots=True)
class Walrus(Node):
    """`name := value`."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Format(Node):
    """An f-string: text and (expression, conversion, format) parts."""

    parts: tuple[str | tuple[Expr, str, Expr | None], ...]


@dataclass(frozen=True, slots=True)
class Clause:
    """`for target in iterable if tests` of a comprehension."""

    target: Target
    iterable: Expr
    tests: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Comprehension(Node):
    """A list, set, dict or generator comprehension."""

    kind: str
    element: Expr
    value: Expr | None
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """A parameter of a local function; `annotation` is the text of its annotation, if any."""

    name: str
    kind: str
    default: Expr | None
    annotation: str | None = None


@dataclass(frozen=True, slots=True)
class LocalFunction(Node):
    """A nested `def` or a `lambda`."""

    name: str
    params: tuple[Parameter, ...]
    body: Block


@dataclass(frozen=True, slots=True)
class Verbatim(Node):
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
class NameTarget(Node):
    """A name that is bound."""

    id: str


@dataclass(frozen=True, slots=True)
class TupleTarget(Node):
    """Names that are bound to the parts of a value; `star` is the position of `*rest`."""

    items: tuple[Target, ...]
    star: int | None = None


@dataclass(frozen=True, slots=True)
class ItemTarget(Node):
    """`container[index] = ...`: binds a changed copy of a container or tensor to its name.

    `path` has the indices before the last one: `x[0][1] = ...`.
    """

    id: str
    index: Expr
    path: tuple[Expr, ...] = ()


Target = Union[NameTarget, TupleTarget, ItemTarget]

# -- statements ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """Bind targets to a value.

    `annotation` is the text of an annotation, if any; `declared` are the names among the targets
    that a statement before annotates (`y: FLOAT["N"]` without a value), with those texts.
    """

    targets: tuple[Target, ...]
    value: Expr
    annotation: str | None = None
    declared: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class If(Node):
    """A branch; `live_out` are the names read after it, in order of first binding."""

    test: Expr
    then: Block
    orelse: Block
    live_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class For(Node):
    """A `for` loop.

    `broken` names the flag that stops the loop once it is true; `carried` are the names whose
    values go from one iteration to the next or out of the loop.  `keep` is for verbatim lowering:
    where it is set, `broken` is true as long as the loop continues; `until` is the test of a last
    `break`.
    """

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
class While(Node):
    """A `while` loop; fields as in `For`."""

    test: Expr
    body: Block
    orelse: Block = ()
    broken: str | None = None
    carried: tuple[str, ...] = ()
    live_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Break(Node):
    """`break`; removed by the loop-exits pass."""


@dataclass(frozen=True, slots=True)
class Continue(Node):
    """`continue`; removed by the loop-exits pass."""


@dataclass(frozen=True, slots=True)
class Return(Node):
    """`return value`; removed by the single-exit pass."""

    value: Expr | None


@dataclass(frozen=True, slots=True)
class Evaluate(Node):
    """An expression as a statement."""

    value: Expr


@dataclass(frozen=True, slots=True)
class Define(Node):
    """A nested `def`."""

    function: LocalFunction


@dataclass(frozen=True, slots=True)
class Assert(Node):
    """`assert test, message`."""

    test: Expr
    message: Expr | None


@dataclass(frozen=True, slots=True)
class Raise(Node):
    """`raise exception`."""

    exception: Expr | None


@dataclass(frozen=True, slots=True)
class Delete(Node):
    """`del name`."""

    id: str


Statement = Union[
    Assign, If, For, While, Break, Continue, Return, Evaluate, Define, Assert, Raise, Delete
]
Block = tuple[Statement, ...]

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
    nodes: list[object] = []
    for name in node_fields(type(node)):
        value = getattr(node, name)
        if type(value) is tuple:
            _add_nodes(value, nodes)
        elif type(value) in NODE_TYPES:
            nodes.append(value)
    return nodes


def _add_nodes(items: tuple[object, ...], nodes: list[object]) -> None:
    for item in items:
        if type(item) is tuple:
            _add_nodes(item, nodes)
        elif type(item) in NODE_TYPES:
            nodes.append(item)


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
