"""`diff(a, b)`: what was added, removed, changed and rewired between two models."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import onnx

from onnxwright.ir.content import (
    attribute_kind,
    attribute_value,
    properties,
    same_attribute,
    same_tensor,
    same_type,
)
from onnxwright.ir.same import as_proto
from onnxwright.ir.wiring import Scope, Unit, Wire, normal_domain, wire
from onnxwright.testing.alignment import align
from onnxwright.testing.diff_page import page
from onnxwright.testing.isomorphism import _load

Kind = Literal["added", "removed", "changed", "rewired"]
_MARK = {"added": "+", "removed": "-", "changed": "~", "rewired": ">"}


@dataclass(frozen=True)
class Change:
    """One difference.

    Attributes:
        kind: added, removed, changed or rewired (a node that reads something else).
        what: of what: node, input, output, initializer, function, value, fact.
        name: its name.
        where: the graphs around it, outermost first.
        left, right: what each side has; empty where it has nothing.
        details: the parts that differ, a line each.
    """

    kind: Kind
    what: str
    name: str
    where: tuple[str, ...] = ()
    left: str = ""
    right: str = ""
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A line of the side-by-side view: a node of each side, or of one."""

    kind: str
    left: str
    right: str
    details: tuple[str, ...] = ()


@dataclass
class Diff:
    """The differences of two models.

    Attributes:
        changes: the differences.
        rows: for each graph, its nodes side by side.
        same: how many nodes are the same in both.

    Example:
        >>> from onnx import parser
        >>> text = "g (float[2] x) => (float[2] y) { a = %s(x) y = Neg(a) }"
        >>> found = diff(parser.parse_graph(text % "Relu"), parser.parse_graph(text % "Abs"))
        >>> bool(found), [(c.kind, c.what, c.name) for c in found.changes]
        (True, [('removed', 'node', 'Relu'), ('added', 'node', 'Abs'), ('rewired', 'node', 'Neg')])
    """

    changes: list[Change] = field(default_factory=list)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    same: int = 0

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __str__(self) -> str:
        return self.text()

    def summary(self) -> str:
        """How many differences of which kind, in one line."""
        if not self.changes:
            return f"no difference ({_count(self.same, 'node')})"
        counts = Counter((c.kind, c.what) for c in self.changes)
        parts = [f"{_count(n, what)} {kind}" for (kind, what), n in counts.items()]
        return f"{', '.join(parts)}; {_count(self.same, 'node')} the same"

    def text(self, limit: int | None = None) -> str:
        """The differences as lines: `+` added, `-` removed, `~` changed, `>` rewired.

        Args:
            limit: the number of differences to show.
        """
        lines = [self.summary()]
        where: tuple[str, ...] | None = None
        shown = self.changes if limit is None else self.changes[:limit]
        for change in shown:
            if change.where != where:
                where = change.where
                lines.append(" > ".join(where) + ":" if where else "model:")
            lines += _lines(change)
        if len(shown) < len(self.changes):
            lines.append(f"... and {len(self.changes) - len(shown)} more")
        return "\n".join(lines)

    def data(self) -> list[dict[str, Any]]:
        """The differences as plain data."""
        return [asdict(change) for change in self.changes]

    def json(self) -> str:
        """The differences as JSON."""
        return json.dumps(self.data(), indent=2)

    def html(self, title: str = "Difference of two models") -> str:
        """A page with both models side by side; it needs nothing but a browser."""
        return page(title, self.summary(), self)

    def _repr_html_(self) -> str:
        return page("", self.summary(), self, whole=False)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _lines(change: Change) -> list[str]:
    mark = _MARK[change.kind]
    if change.kind in ("added", "removed"):
        lines = [f"  {mark} {change.what} {change.left or change.right or change.name}"]
    else:
        lines = [f"  {mark} {change.what} {change.name}"]
    return lines + [f"      {detail}" for detail in change.details]


def diff(a: Any, b: Any) -> Diff:
    """Compare two models, functions or graphs.

    Nodes are matched by what they do and by their names; of those that match, changed attributes
    and inputs are reported, with the rest as added or removed.

    Args:
        a, b: ModelProto, FunctionProto, GraphProto, the same of `onnx_ir`, a script, or a path of a
            model file.

    Returns:
        The differences; false where there are none, `str()` of it is a text, `.data()` and
        `.json()` are data, `.html()` is a page.

    Raises:
        TypeError: one of the two is none of these, or they are of different kinds.

    Example:
        >>> from onnx import parser
        >>> text = "g (float[2] x) => (float[2] y) { y = Softmax<axis = %d>(x) }"
        >>> print(diff(parser.parse_graph(text % 0), parser.parse_graph(text % 1)))
        1 node changed; 0 nodes the same
        graph `g`:
          ~ node Softmax
              attribute axis: 0 -> 1
    """
    left, right = as_proto(_load(a)), as_proto(_load(b))
    if type(left) is not type(right):
        raise TypeError(f"{type(left).__name__} and {type(right).__name__} cannot be compared")
    found = Diff()
    if isinstance(left, onnx.ModelProto) and isinstance(right, onnx.ModelProto):
        _models(found, left, right)
    else:
        _scopes(found, wire(left), wire(right), ())
    return found


def _models(found: Diff, a: onnx.ModelProto, b: onnx.ModelProto) -> None:
    for name in ("ir_version", "producer_name", "producer_version", "domain", "model_version",
                 "doc_string"):  # fmt: skip
        _fact(found, name, getattr(a, name), getattr(b, name))
    imports = [{e.domain or "ai.onnx": e.version for e in m.opset_import} for m in (a, b)]
    _entries(found, "opset", *imports)
    _entries(found, "metadata", properties(a.metadata_props), properties(b.metadata_props))
    _scopes(found, wire(a.graph), wire(b.graph), ())
    ones, others = (
        {(normal_domain(f.domain), f.name, f.overload): f for f in m.functions} for m in (a, b)
    )
    for key in [*ones, *(k for k in others if k not in ones)]:
        one, other = ones.get(key), others.get(key)
        name = f"{key[0]}::{key[1]}" + (f":{key[2]}" if key[2] else "")
        if one is None or other is None:
            kind: Kind = "added" if one is None else "removed"
            held = other if one is None else one
            assert held is not None
            shown = f"{name} of {_count(len(held.node), 'node')}"
            found.changes.append(Change(kind, "function", name, (), *_sides(kind, shown)))
        else:
            _scopes(found, wire(one, label=f"function `{name}`"),
                    wire(other, label=f"function `{name}`"), ())  # fmt: skip


def _fact(found: Diff, name: str, left: Any, right: Any, where: tuple[str, ...] = ()) -> None:
    if left != right:
        detail = f"{left!r} -> {right!r}"
        found.changes.append(
            Change("changed", "fact", name, where, str(left), str(right), (detail,))
        )


def _entries(found: Diff, what: str, left: dict[str, Any], right: dict[str, Any]) -> None:
    for key in [*left, *(k for k in right if k not in left)]:
        _fact(found, f"{what} {key}", left.get(key), right.get(key))


def _sides(kind: str, text: str) -> tuple[str, str]:
    return ("", text) if kind == "added" else (text, "")


# -- graphs ----------------------------------------------------------------------------------------


def _scopes(found: Diff, a: Scope, b: Scope, outer: tuple[str, ...]) -> None:
    where = (*outer, a.label)
    pairs = align(a, b)
    _values(found, "input", a.inputs, b.inputs, where)
    _values(found, "output", a.outputs, b.outputs, where)
    _initializers(found, a, b, where)
    back = {y: x for x, y in pairs.items()}
    rows: list[Row] = []
    waiting = [u for u in b.units if u not in back]
    places = {unit: n for n, unit in enumerate(b.units)}
    for unit in a.units:
        partner = pairs.get(unit)
        if partner is None:
            shown = show(unit)
            found.changes.append(Change("removed", "node", _name(unit), where, shown, "", ()))
            rows.append(Row("removed", shown, ""))
            continue
        while waiting and places[waiting[0]] < places[partner]:
            rows.append(_added(found, waiting.pop(0), where))
        rows.append(_pair(found, unit, partner, pairs, where))
    rows += [_added(found, unit, where) for unit in waiting]
    found.rows[" > ".join(where)] = rows
    for unit, partner in pairs.items():
        for name, scopes in unit.graphs.items():
            others = partner.graphs.get(name, [])
            for inner, other in zip(scopes, others, strict=False):
                _scopes(found, inner, other, where)


def _added(found: Diff, unit: Unit, where: tuple[str, ...]) -> Row:
    shown = show(unit)
    found.changes.append(Change("added", "node", _name(unit), where, "", shown, ()))
    return Row("added", "", shown)


def _pair(found: Diff, a: Unit, b: Unit, pairs: dict[Unit, Unit], where: tuple[str, ...]) -> Row:
    attributes = list(_attributes(a, b))
    inputs = list(_inputs(a, b, pairs))
    more = _described(a, b)
    details = (*attributes, *more, *inputs)
    if not details:
        found.same += 1
        return Row("same", show(a), show(b))
    kind: Kind = "changed" if attributes or more else "rewired"
    found.changes.append(Change(kind, "node", _name(a), where, show(a), show(b), details))
    return Row(kind, show(a), show(b), details)


def _attributes(a: Unit, b: Unit) -> Iterable[str]:
    ones = {x.name: x for x in a.proto.attribute}
    others = {x.name: x for x in b.proto.attribute}
    for name in [*ones, *(n for n in others if n not in ones)]:
        x, y = ones.get(name), others.get(name)
        if x is None or y is None or not same_attribute(x, y, ("", "")):
            yield f"attribute {name}: {_value(x)} -> {_value(y)}"


def _described(a: Unit, b: Unit) -> list[str]:
    lines = []
    if a.proto.doc_string != b.proto.doc_string:
        lines.append(f"doc string: {a.proto.doc_string!r} -> {b.proto.doc_string!r}")
    if a.key != b.key:
        lines.append(f"operator: {_name(a)} -> {_name(b)}")
    return lines


def _inputs(a: Unit, b: Unit, pairs: dict[Unit, Unit]) -> Iterable[str]:
    for n in range(max(len(a.inputs), len(b.inputs))):
        x = a.inputs[n] if n < len(a.inputs) else None
        y = b.inputs[n] if n < len(b.inputs) else None
        if not _same_wire(x, y, pairs):
            yield f"input {n}: {_source(x)} -> {_source(y)}"


def _same_wire(x: Wire | None, y: Wire | None, pairs: dict[Unit, Unit]) -> bool:
    if x is None or y is None:
        return x is y
    if x.producer is not None and y.producer is not None:
        if x.producer.scope.owner is not None and x.producer not in pairs:
            return x.producer.key == y.producer.key
        place = x.producer.outputs.index(x) == y.producer.outputs.index(y)
        inside = x.producer.scope is next(iter(pairs)).scope if pairs else True
        if not inside:  # made in a graph around this one, where it is compared
            return place and x.producer.key == y.producer.key
        return place and pairs.get(x.producer) is y.producer
    if x.producer is not None or y.producer is not None:
        return False
    return x.name == y.name or (x.input_index is not None and x.input_index == y.input_index)


def _source(w: Wire | None) -> str:
    if w is None:
        return "nothing"
    made = f" of {w.producer.proto.op_type}" if w.producer is not None else ""
    return f"`{w.name}`{made}"


def _values(
    found: Diff, what: str, left: list[Wire], right: list[Wire], where: tuple[str, ...]
) -> None:
    by_name = {w.name: w for w in right}
    pairs = [(w, by_name.get(w.name)) for w in left]
    if len(left) == len(right) and any(y is None for _, y in pairs):
        pairs = list(zip(left, right, strict=True))
        by_name = {}
    for x, y in pairs:
        if y is None:
            shown = f"{x.name}: {_type(x)}"
            found.changes.append(Change("removed", what, x.name, where, shown, ""))
            continue
        by_name.pop(y.name, None)
        details = []
        if x.name != y.name and len(where) == 1:
            details.append(f"name: {x.name} -> {y.name}")
        if not _same_info(x, y):
            details.append(f"type: {_type(x)} -> {_type(y)}")
        if details:
            found.changes.append(
                Change("changed", what, x.name, where, _type(x), _type(y), tuple(details))
            )
    for y in by_name.values():
        shown = f"{y.name}: {_type(y)}"
        found.changes.append(Change("added", what, y.name, where, "", shown))


def _same_info(x: Wire, y: Wire) -> bool:
    one = x.info.type if x.info is not None else onnx.TypeProto()
    other = y.info.type if y.info is not None else onnx.TypeProto()
    return same_type(one, other)


def _type(w: Wire) -> str:
    if w.info is None or w.info.type.WhichOneof("value") is None:
        return "no type"
    return str(onnx.helper.printable_type(w.info.type))


def _initializers(found: Diff, a: Scope, b: Scope, where: tuple[str, ...]) -> None:
    ones, others = ({w.name: w.tensor for w in s.initializers} for s in (a, b))
    for name in [*ones, *(n for n in others if n not in ones)]:
        x, y = ones.get(name), others.get(name)
        if x is None or y is None:
            kind: Kind = "added" if x is None else "removed"
            shown = f"{name}: {_tensor(x if y is None else y)}"
            found.changes.append(Change(kind, "initializer", name, where, *_sides(kind, shown)))
        elif isinstance(x, onnx.TensorProto) and isinstance(y, onnx.TensorProto):
            if same_tensor(x, y):
                continue
            left, right = _tensor(x), _tensor(y)
            detail = f"{left} -> {right}" if left != right else f"other numbers in {left}"
            found.changes.append(
                Change("changed", "initializer", name, where, left, right, (detail,))
            )


def _tensor(t: Any) -> str:
    if not isinstance(t, onnx.TensorProto):
        return "sparse"
    kind = onnx.TensorProto.DataType.Name(t.data_type)
    return f"{kind}[{', '.join(map(str, t.dims))}]"


def _name(unit: Unit) -> str:
    p = unit.proto
    shown = f"{p.domain}::{p.op_type}" if p.domain else p.op_type
    return f"{shown} `{p.name}`" if p.name else shown


def _value(attr: onnx.AttributeProto | None) -> str:
    if attr is None:
        return "not there"
    if attr.ref_attr_name:
        return f"@{attr.ref_attr_name}"
    kind = attribute_kind(attr)
    if kind == onnx.AttributeProto.TENSOR:
        return _tensor(attr.t)
    if kind in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS):
        return "a graph"
    value = attribute_value(attr)
    text = value.decode(errors="replace") if isinstance(value, bytes) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def show(unit: Unit) -> str:
    """A node on one line."""
    p = unit.proto
    name = f"{p.domain}::{p.op_type}" if p.domain else p.op_type
    given = ", ".join(f"{x.name}={_value(x)}" for x in p.attribute)
    shown = f"<{given}>" if given else ""
    return f"{', '.join(p.output)} = {name}{shown}({', '.join(p.input)})"


__all__ = ["Change", "Diff", "Row", "diff", "show"]
