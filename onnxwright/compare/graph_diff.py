"""Compares two models graph by graph and records what differs, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

import onnx

from onnxwright.compare.changes import Change, Diff, Kind, Row, counted
from onnxwright.compare.constant_digests import Content, contents
from onnxwright.compare.descriptions import (
    change_of,
    name_of,
    show,
    source,
    tensor_words,
    type_words,
    value_of,
)
from onnxwright.compare.equality import properties, same_attribute, same_type
from onnxwright.compare.initializer_matching import Constants
from onnxwright.compare.node_alignment import align
from onnxwright.compare.node_fingerprints import Matching
from onnxwright.compare.node_origin import place_of, rules_of
from onnxwright.compare.proto_graph import (
    Body,
    ProtoGraph,
    ProtoNode,
    ProtoValue,
    link_graph,
    normal_domain,
)

Where = tuple[str, ...]
Folders = tuple["str | None", "str | None"]


def compare(left: onnx.ModelProto | Body, right: onnx.ModelProto | Body, folders: Folders) -> Diff:
    """The differences of two models, two functions or two graphs.

    Args:
        folders: where the external data of each is; None where that is not known.
    """
    comparison = Diff()
    if not isinstance(left, onnx.ModelProto) or not isinstance(right, onnx.ModelProto):
        assert not isinstance(left, onnx.ModelProto)
        assert not isinstance(right, onnx.ModelProto)
        _Bodies(comparison, link_graph(left), link_graph(right), folders).run()
        return comparison
    _facts(comparison, left, right)
    _Bodies(comparison, link_graph(left.graph), link_graph(right.graph), folders).run()
    _functions(comparison, left, right, folders)
    return comparison


def matched(a: ProtoGraph, b: ProtoGraph, folders: Folders) -> Mapping[ProtoNode, ProtoNode]:
    """Match the nodes of two graphs, subgraphs included.

    Args:
        folders: where the external data of each is.

    Returns:
        Node of the first -> node of the second.
    """
    work = _Bodies(Diff(), a, b, folders)
    list(work.align())
    return work.matching.nodes


def _facts(diff: Diff, a: onnx.ModelProto, b: onnx.ModelProto) -> None:
    for name in ("ir_version", "producer_name", "producer_version", "domain", "model_version",
                 "doc_string"):  # fmt: skip
        _fact(diff, name, getattr(a, name), getattr(b, name))
    imports = [{e.domain or "ai.onnx": e.version for e in m.opset_import} for m in (a, b)]
    _entries(diff, "opset", *imports)
    _entries(diff, "metadata", properties(a.metadata_props), properties(b.metadata_props))


def _fact(diff: Diff, name: str, left: object, right: object) -> None:
    if left != right:
        shown = [_brief("nothing" if x is None else x) for x in (left, right)]
        detail = " -> ".join(shown)
        one, other = ("" if x is None else str(x) for x in (left, right))
        diff.changes.append(Change("changed", "fact", name, (), one, other, (detail,)))


def _brief(value: object) -> str:
    text = value if value == "nothing" else repr(value)
    text = str(text)
    return text if len(text) <= 200 else f"{text[:197]}..."


def _entries(
    diff: Diff, what: str, left: Mapping[str, object], right: Mapping[str, object]
) -> None:
    for key in [*left, *(k for k in right if k not in left)]:
        _fact(diff, f"{what} {key}", left.get(key), right.get(key))


def _functions(diff: Diff, a: onnx.ModelProto, b: onnx.ModelProto, folders: Folders) -> None:
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
            shown = f"{name} of {counted(len(held.node), 'node')}"
            diff.changes.append(Change(kind, "function", name, (), *_sides(kind, shown)))
            continue
        label = f"function `{name}`"
        _Bodies(diff, link_graph(one, label=label), link_graph(other, label=label), folders).run()


def _sides(kind: str, text: str) -> tuple[str, str]:
    return ("", text) if kind == "added" else (text, "")


class _Bodies:
    """Two graphs or functions with everything inside them."""

    def __init__(self, diff: Diff, a: ProtoGraph, b: ProtoGraph, folders: Folders) -> None:
        self.diff, self.folders = diff, folders
        self.a, self.b = a, b
        ones, others = contents(a, folders[0]), contents(b, folders[1])
        self.contents: dict[ProtoValue, Content] = {**ones, **others}
        kinds = [{(w.name, c.dtype, c.dims) for w, c in side.items()} for side in (ones, others)]
        self.matching = Matching(self.contents, frozenset(n for n, _, _ in kinds[0] & kinds[1]))
        self.constants: dict[ProtoGraph, Constants] = {}
        self.pairs: dict[ProtoValue, ProtoValue] = {}
        self.back: dict[ProtoValue, ProtoValue] = {}
        self.moved: dict[ProtoValue, ProtoValue] = {}

    def run(self) -> None:
        """Match everything, then note the differences."""
        graphs = list(self.align())
        for a, b, _ in graphs:
            constants = Constants(a, b, self.matching.nodes, self.contents)
            self.pairs.update(constants.pairs)
            self.back.update(constants.back)
            self.moved.update(constants.moved)
            self.constants[a] = constants
        for a, b, where in graphs:
            self._graph(a, b, where)

    def align(self) -> Iterator[tuple[ProtoGraph, ProtoGraph, Where]]:
        """Match the nodes of every graph; each pair of graphs, with where it is."""
        return self._align(self.a, self.b, ())

    def _align(
        self, a: ProtoGraph, b: ProtoGraph, outer: Where
    ) -> Iterator[tuple[ProtoGraph, ProtoGraph, Where]]:
        where = (*outer, a.label)
        for x, y in _alike(a, b, "inputs"):
            if y is not None:
                self.matching.pair_values(x, y)
        align(a, b, self.matching)
        yield a, b, where
        for node in a.nodes:
            partner = self.matching.nodes.get(node)
            if partner is None:
                continue
            for name, graphs in node.subgraphs.items():
                for inner, other in zip(graphs, partner.subgraphs.get(name, []), strict=False):
                    around = (*where, f"node {', '.join(node.proto.output)}") if _many(a, node) \
                        else where  # fmt: skip
                    yield from self._align(inner, other, around)

    def _graph(self, a: ProtoGraph, b: ProtoGraph, where: Where) -> None:
        rows: list[Row] = []
        self._values("input", a, b, where, rows)
        self._values("output", a, b, where, rows)
        if a.outputs and isinstance(a.proto, onnx.FunctionProto):
            self._attributes_of_functions(a, b, where)
        self._results(a, b, where)
        self._nodes(a, b, where, rows)
        self._initializers(a, b, where, rows)
        self.diff.rows[" > ".join(where)] = rows

    def _note(self, change: Change, rows: list[Row] | None = None) -> None:
        self.diff.changes.append(change)
        if rows is not None:
            word = "" if change.what == "node" else f"{change.what} "
            left, right = (f"{word}{x}" if x else "" for x in (change.left, change.right))
            rows.append(Row(change.kind, left, right, change.details, change.place))

    # -- values that no node makes ---------------------------------------------------------------

    def _values(
        self, what: str, a: ProtoGraph, b: ProtoGraph, where: Where, rows: list[Row]
    ) -> None:
        right = b.inputs if what == "input" else b.outputs
        pairs = _alike(a, b, f"{what}s")
        moved = _moved(pairs, right)
        taken = Counter(y for _, y in pairs if y is not None)
        for x, y in pairs:
            shown = f"{x.name}: {type_words(x)}"
            if y is None:
                self._note(Change("removed", what, x.name, where, shown), rows)
                continue
            details = [moved[x]] if x in moved else []
            if x.name != y.name and len(where) == 1:
                details.append(f"name: {x.name} -> {y.name}")
            if not _same_info(x, y):
                details.append(f"type: {type_words(x)} -> {type_words(y)}")
            if details:
                other = f"{y.name}: {type_words(y)}"
                self._note(
                    Change("changed", what, x.name, where, shown, other, tuple(details)), rows
                )
        for y in right:
            taken[y] -= 1
            if taken[y] < 0:
                shown = f"{y.name}: {type_words(y)}"
                self._note(Change("added", what, y.name, where, "", shown), rows)

    def _results(self, a: ProtoGraph, b: ProtoGraph, where: Where) -> None:
        """Outputs that another node makes, or an input or initializer."""
        for x, y in _alike(a, b, "outputs"):
            if y is not None and not self._same(x, y) and not self._unmatched(x, y):
                detail = f"from: {source(x)} -> {source(y)}"
                self._note(Change("rewired", "output", x.name, where, x.name, y.name, (detail,)))

    def _unmatched(self, x: ProtoValue, y: ProtoValue) -> bool:
        """Whether the nodes that produce them are reported as removed and added."""
        return (x.producer is not None and x.producer not in self.matching.nodes) and (
            y.producer is not None and y.producer not in self.matching.back
        )

    def _attributes_of_functions(self, a: ProtoGraph, b: ProtoGraph, where: Where) -> None:
        one, other = a.proto, b.proto
        assert isinstance(one, onnx.FunctionProto)
        assert isinstance(other, onnx.FunctionProto)
        ones, others = ({**dict.fromkeys(p.attribute, "required"),
                         **{x.name: value_of(x) for x in p.attribute_proto}}
                        for p in (one, other))  # fmt: skip
        for name in [*ones, *(n for n in others if n not in ones)]:
            left, right = ones.get(name, "not there"), others.get(name, "not there")
            if left != right:
                detail = f"{left} -> {right}"
                self._note(Change("changed", "attribute", name, where, left, right, (detail,)))

    # -- nodes -----------------------------------------------------------------------------------

    def _nodes(self, a: ProtoGraph, b: ProtoGraph, where: Where, rows: list[Row]) -> None:
        waiting = [u for u in b.nodes if u not in self.matching.back and not self._is_moved(u)]
        waiting.reverse()
        for node in a.nodes:
            partner = self.matching.nodes.get(node)
            if partner is None:
                if not self._is_moved(node):
                    self._note(Change("removed", "node", name_of(node), where, show(node), "", (),
                                      place_of(node.proto)), rows)  # fmt: skip
                continue
            while waiting and waiting[-1].number < partner.number:
                self._added(waiting.pop(), where, rows)
            self._pair(node, partner, where, rows)
        while waiting:
            self._added(waiting.pop(), where, rows)

    def _is_moved(self, node: ProtoNode) -> bool:
        return len(node.outputs) == 1 and node.outputs[0] in self.moved

    def _added(self, node: ProtoNode, where: Where, rows: list[Row]) -> None:
        place = place_of(node.proto)
        self._note(Change("added", "node", name_of(node), where, "", show(node), (), place,
                          rules_of(node.proto)), rows)  # fmt: skip

    def _pair(self, a: ProtoNode, b: ProtoNode, where: Where, rows: list[Row]) -> None:
        facts = [*_attributes(a, b), *_described(a, b)]
        values = list(self._inputs(a, b))
        if not facts and not values:
            self.diff.same += 1
            rows.append(Row("same", show(a), show(b)))
            return
        kind: Kind = "changed" if facts else "rewired"
        rules = () if rules_of(a.proto) == rules_of(b.proto) else rules_of(b.proto)
        self._note(Change(kind, "node", name_of(a), where, show(a), show(b), (*facts, *values),
                          place_of(a.proto), rules), rows)  # fmt: skip

    def _inputs(self, a: ProtoNode, b: ProtoNode) -> Iterable[str]:
        for n in range(max(len(a.inputs), len(b.inputs))):
            x = a.inputs[n] if n < len(a.inputs) else None
            y = b.inputs[n] if n < len(b.inputs) else None
            if not self._same(x, y):
                yield f"input {n}: {source(x)} -> {source(y)}"

    def _same(self, x: ProtoValue | None, y: ProtoValue | None) -> bool:
        """Whether two values match."""
        if x is None or y is None:
            return x is y
        content = self.contents.get(x)
        if content is not None or y in self.contents:
            return self._same_constant(x, y, content)
        if x.producer is not None and y.producer is not None:
            place = x.producer.outputs.index(x) == y.producer.outputs.index(y)
            return place and self.matching.nodes.get(x.producer) is y.producer
        if x.producer is not None or y.producer is not None:
            return False
        mark = self.matching.marks.get(x)
        return mark == self.matching.marks.get(y) if mark is not None else x.name == y.name

    def _same_constant(self, x: ProtoValue, y: ProtoValue, content: Content | None) -> bool:
        """Constants that are reported elsewhere count as the same, as do equal ones."""
        if self.pairs.get(x) is y or (
            x.producer is not None and self.matching.nodes.get(x.producer) is y.producer
        ):
            return True
        both = (x in self.pairs and y in self.back) or (
            x.producer in self.matching.nodes and y.producer in self.matching.back
        )
        return content is not None and content == self.contents.get(y) and not both

    # -- initializers ----------------------------------------------------------------------------

    def _initializers(self, a: ProtoGraph, b: ProtoGraph, where: Where, rows: list[Row]) -> None:
        for x in a.initializers:
            y = self.pairs.get(x)
            if y is not None:
                self._tensors(x, y, where, rows)
            else:
                self._lone(x, "removed", where, rows)
        for y in b.initializers:
            if y not in self.back:
                self._lone(y, "added", where, rows)

    def _lone(self, x: ProtoValue, kind: Kind, where: Where, rows: list[Row]) -> None:
        shown = f"{x.name}: {tensor_words(x.tensor)}"
        other = self.moved.get(x)
        if other is None:
            self._note(Change(kind, "initializer", x.name, where, *_sides(kind, shown)), rows)
            return
        node = f"{other.name} = Constant()"
        sides = (shown, node) if kind == "removed" else (node, shown)
        detail = "initializer -> Constant node" if kind == "removed" else \
            "Constant node -> initializer"  # fmt: skip
        if x.name != other.name:
            detail += f", {' -> '.join(s.split(':')[0].split(' = ')[0] for s in sides)}"
        name = x.name if kind == "removed" else other.name
        self._note(Change("changed", "initializer", name, where, *sides, (detail,)), rows)

    def _tensors(self, x: ProtoValue, y: ProtoValue, where: Where, rows: list[Row]) -> None:
        left, right = (f"{w.name}: {tensor_words(w.tensor)}" for w in (x, y))
        same = self.contents.get(x) == self.contents.get(y)
        if same and x.name == y.name:
            return
        if same:
            detail = f"name: {x.name} -> {y.name}"
            self._note(Change("renamed", "initializer", x.name, where, left, right, (detail,)),
                       rows)  # fmt: skip
            return
        details = [f"name: {x.name} -> {y.name}"] if x.name != y.name else []
        if isinstance(x.tensor, onnx.TensorProto) and isinstance(y.tensor, onnx.TensorProto):
            folders = (self.folders[0] or "", self.folders[1] or "")
            details.append(change_of(x.tensor, y.tensor, folders))
        else:
            details.append("other numbers")
        self._note(Change("changed", "initializer", x.name, where, left, right, tuple(details)),
                   rows)  # fmt: skip


def _many(graph: ProtoGraph, node: ProtoNode) -> bool:
    """Whether the operator of a node with subgraphs occurs more than once in its graph."""
    alike = (u for u in graph.nodes if u.subgraphs and u.key == node.key)
    return sum(1 for _ in islice(alike, 2)) > 1


def _alike(a: ProtoGraph, b: ProtoGraph, what: str) -> list[tuple[ProtoValue, ProtoValue | None]]:
    """Inputs or outputs by name; by place in bodies, or where there are as many of other names."""
    left: list[ProtoValue] = getattr(a, what)
    right: list[ProtoValue] = getattr(b, what)
    by_name: dict[str, list[ProtoValue]] = {}
    for w in reversed(right):
        by_name.setdefault(w.name, []).append(w)
    inside = a.owner is not None
    if len(left) == len(right) and (inside or any(w.name not in by_name for w in left)):
        return list(zip(left, right, strict=True))
    return [(w, by_name[w.name].pop() if by_name.get(w.name) else None) for w in left]


def _moved(
    pairs: list[tuple[ProtoValue, ProtoValue | None]], right: list[ProtoValue]
) -> dict[ProtoValue, str]:
    """Of what is on both sides: the places of what comes in another order there."""
    both = [(x, y) for x, y in pairs if y is not None]
    order = sorted((y for _, y in both), key=right.index)
    return {
        x: f"place: {n} -> {order.index(y)}" for n, (x, y) in enumerate(both) if order[n] is not y
    }


def _same_info(x: ProtoValue, y: ProtoValue) -> bool:
    one = x.info.type if x.info is not None else onnx.TypeProto()
    other = y.info.type if y.info is not None else onnx.TypeProto()
    return same_type(one, other)


def _attributes(a: ProtoNode, b: ProtoNode) -> Iterable[str]:
    ones = {x.name: x for x in a.proto.attribute}
    others = {x.name: x for x in b.proto.attribute}
    for name in [*ones, *(n for n in others if n not in ones)]:
        x, y = ones.get(name), others.get(name)
        if x is None or y is None or not same_attribute(x, y, ("", "")):
            attribute = x if y is None else y if x is None else None
            same = attribute is not None and _is_default(a, attribute)
            note = " (which means the same)" if same else ""
            yield f"attribute {name}: {value_of(x)} -> {value_of(y)}{note}"


def _is_default(node: ProtoNode, attribute: onnx.AttributeProto) -> bool:
    """Whether an attribute has the value that it has where it is not given."""
    try:
        schema = onnx.defs.get_schema(node.proto.op_type, node.key[0])
    except onnx.defs.SchemaError:
        return False
    schema_attribute = schema.attributes.get(attribute.name)
    if schema_attribute is None or not schema_attribute.default_value.type:
        return False
    return same_attribute(schema_attribute.default_value, attribute, ("", ""))


def _described(a: ProtoNode, b: ProtoNode) -> list[str]:
    lines = []
    if a.proto.doc_string != b.proto.doc_string:
        words = (_brief(a.proto.doc_string), _brief(b.proto.doc_string))
        lines.append(f"doc string: {' -> '.join(words)}")
    if a.key != b.key:
        lines.append(f"operator: {name_of(a)} -> {name_of(b)}")
    return lines
