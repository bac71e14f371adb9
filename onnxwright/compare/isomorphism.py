"""Whether two graphs, functions or models are the same but for names of intermediate values.

What reaches an output is matched by walking both graphs from their outputs: inputs of a node are
ordered, so every step is forced.  Nodes that reach no output, and the operands of commutative
operators where their order is to be ignored, are matched by colors (a node's whole surroundings,
refined until stable) with backtracking, so the answer is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

import onnx

from onnxwright.compare.color_refinement import Features, refine_colors
from onnxwright.compare.equality import (
    attribute_kind,
    is_plain,
    properties,
    same_attribute,
    same_sparse,
    same_tensor,
    same_type,
)
from onnxwright.compare.proto_graph import ProtoGraph, ProtoNode, ProtoValue
from onnxwright.diagnostics.text import clean
from onnxwright.operators import all_facts

COMMUTATIVE = frozenset(f.name for f in all_facts() if f.commutative and not f.domain)
_STEPS = 2_000_000


@dataclass(frozen=True)
class Strictness:
    """What two models must have in common; each part can be switched off.

    Attributes:
        io_names: names of inputs and outputs of models, graphs and functions.
        initializer_names: names of initializers.
        initializers: the numbers in initializers and constants (their types and shapes always).
        types: types of inputs and outputs.
        value_infos: types written for intermediate values.
        node_names, graph_names, subgraph_names: names of nodes, of the main graph, of subgraphs.
        doc_strings: descriptions of everything.
        metadata: `metadata_props` of everything.
        opset_imports: versions of domains.
        ir_version: the version of the file format.
        producer: name and version of the producer, domain and version of the model.
        functions: model-local functions.
        attributes: attributes of nodes.
        commutative: operands of Add, Mul and the like may be in any order.
        folders: where the external data of the first and of the second is found.
    """

    io_names: bool = True
    initializer_names: bool = True
    initializers: bool = True
    types: bool = True
    value_infos: bool = True
    node_names: bool = False
    graph_names: bool = True
    subgraph_names: bool = False
    doc_strings: bool = True
    metadata: bool = True
    opset_imports: bool = True
    ir_version: bool = True
    producer: bool = True
    functions: bool = True
    attributes: bool = True
    commutative: bool = False
    folders: tuple[str, str] = ("", "")

    @classmethod
    def names(cls) -> list[str]:
        """The parts that can be switched."""
        return [f.name for f in fields(cls)]


@dataclass(frozen=True)
class Mismatch:
    """The first difference found.

    Attributes:
        what: what differs.
        left, right: what each side has.
        where: how it was reached, outermost first.
    """

    what: str
    left: str = ""
    right: str = ""
    where: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [self.what]
        lines += [f"  in {step}" for step in self.where]
        if self.left or self.right:
            lines += [f"  first:  {_short(self.left)}", f"  second: {_short(self.right)}"]
        return "\n".join(map(clean, lines))


def _short(text: str, limit: int = 400) -> str:
    return text if len(text) <= limit else f"{text[: limit - 20]} ... ({len(text)} characters)"


class _ConflictError(Exception):
    """Raised where two things that were to be matched differ."""

    def __init__(self, mismatch: Mismatch) -> None:
        self.mismatch = mismatch


@dataclass
class Isomorphism:
    """Nodes and values of one graph matched with those of another.

    Attributes:
        units: node of the first -> node of the second.
        wires: value of the first -> value of the second.
    """

    units: dict[ProtoNode, ProtoNode] = field(default_factory=dict)
    wires: dict[ProtoValue, ProtoValue] = field(default_factory=dict)


@dataclass
class _Choice:
    trail: int
    todo: list[tuple[Any, Any]]
    options: Iterator[list[tuple[Any, Any]]]


class Matcher:
    """Matches two scopes; raises `_ConflictError` inside, gives a `Mismatch` outside."""

    def __init__(self, a: ProtoGraph, b: ProtoGraph, strict: Strictness) -> None:
        self.a, self.b, self.strict = a, b, strict
        self.forward: dict[Any, Any] = {}
        self.backward: dict[Any, Any] = {}
        self.trail: list[tuple[Any, Any]] = []
        self.todo: list[tuple[Any, Any]] = []
        self.choices: list[_Choice] = []
        self.color: dict[Any, int] | None = None
        self.steps = 0
        self.queue: list[ProtoNode] = []
        self.classes: dict[int, list[ProtoNode]] = {}

    def run(self) -> Mismatch | None:
        """The first difference, or None where the graphs are the same."""
        first: Mismatch | None = None
        try:
            self._start()
        except _ConflictError as conflict:
            return conflict.mismatch
        while True:
            try:
                self._settle()
                if not self._pick():
                    self._finish()
                    return None
            except _ConflictError as conflict:
                first = first or conflict.mismatch
                if not self._backtrack():
                    return first

    def matching(self) -> Isomorphism:
        """What was matched."""
        found = Isomorphism()
        for left, right in self.forward.items():
            if isinstance(left, ProtoNode):
                found.units[left] = right
            elif isinstance(left, ProtoValue):
                found.wires[left] = right
        return found

    # -- the search ------------------------------------------------------------------------------

    def _start(self) -> None:
        self._pair_scopes(self.a, self.b)

    def _settle(self) -> None:
        while self.todo:
            self.steps += 1
            if self.steps > _STEPS:
                raise _ConflictError(Mismatch("the graphs have too many equal parts to decide"))
            left, right = self.todo.pop()
            known = self.forward.get(left)
            if known is not None or right in self.backward:
                if known is not right:
                    raise _ConflictError(self._shared(left, right))
                continue
            self.forward[left] = right
            self.backward[right] = left
            self.trail.append((left, right))
            if isinstance(left, ProtoNode):
                self._units(left, right)
            else:
                self._wires(left, right)

    def _shared(self, left: Any, right: Any) -> Mismatch:
        if isinstance(left, ProtoValue):
            what = "values are shared in one and separate in the other"
            return Mismatch(what, f"`{left.name}`", f"`{right.name}`", _where_wire(left))
        return Mismatch(
            "nodes cannot be matched one to one", _show(left), _show(right), _where(left)
        )

    def _pick(self) -> bool:
        """Choose a pair among what is left over; False where nothing is."""
        left = self._next()
        if left is not None:
            options = self._partners(left)
            first = next(options, None)
            if first is None:
                self._no_partner(left)
            else:
                self.choices.append(_Choice(len(self.trail), list(self.todo), options))
                self.todo.extend(first)
            return True
        for right in self._rest(self.b, self.backward):
            raise _ConflictError(
                Mismatch("the second has a node more", "nothing", _show(right), _where(right))
            )
        return False

    def _next(self) -> ProtoNode | None:
        """A node of the first that is not matched, those nothing reads first."""
        for _ in range(2):
            while self.queue:
                unit = self.queue.pop()
                if unit not in self.forward:
                    return unit
            self.queue = list(self._rest(self.a, self.forward))
        return None

    def _partners(self, left: ProtoNode) -> Iterator[list[tuple[Any, Any]]]:
        """The nodes of the second that may be the partner of a node."""
        color = self._colors()
        scope = self.b if left.scope is self.a else self.forward.get(left.scope)
        if not self.classes:
            for unit in self.b.all_units():
                self.classes.setdefault(color[unit], []).append(unit)
        for right in self.classes.get(color[left], []):
            if right not in self.backward and right.scope is scope:
                yield [(left, right)]

    def _no_partner(self, left: ProtoNode) -> None:
        near = [r for r in self._rest(self.b, self.backward) if r.key == left.key]
        shown = _show(near[0]) if near else "nothing"
        what = "a node that no output depends on has no partner"
        raise _ConflictError(Mismatch(what, _show(left), shown, _where(left)))

    def _rest(self, scope: ProtoGraph, matched: dict[Any, Any]) -> Iterator[ProtoNode]:
        """Nodes not matched yet, those nothing reads first."""
        for unit in reversed(scope.units):
            if unit not in matched and not any(
                any(user not in matched for user, _ in w.uses)
                for w in unit.outputs
                if w is not None
            ):
                yield unit
        for unit in scope.units:
            if unit in matched:
                for scopes in unit.graphs.values():
                    for inner in scopes:
                        yield from self._rest(inner, matched)

    def _colors(self) -> dict[Any, int]:
        if self.color is None:
            strict = self.strict
            symmetric = COMMUTATIVE if strict.commutative else frozenset()
            features = Features(
                strict.io_names,
                strict.initializer_names,
                strict.attributes and strict.initializers,
                symmetric,
            )
            self.color = refine_colors(self.a, self.b, features)
        return self.color

    def _branch(self, options: list[list[tuple[Any, Any]]]) -> None:
        iterator = iter(options)
        first = next(iterator)
        if len(options) > 1:
            self.choices.append(_Choice(len(self.trail), list(self.todo), iterator))
        self.todo.extend(first)

    def _backtrack(self) -> bool:
        while self.choices:
            choice = self.choices[-1]
            while len(self.trail) > choice.trail:
                left, right = self.trail.pop()
                del self.forward[left], self.backward[right]
            following = next(choice.options, None)
            if following is None:
                self.choices.pop()
                continue
            self.todo = [*choice.todo, *following]
            return True
        return False

    def _finish(self) -> None:
        """Initializers that nothing reads, and names of nothing."""
        for scope, other in [(self.a, self.b), *self._inner_pairs()]:
            left = [w for w in scope.initializers if w not in self.forward]
            right = [w for w in other.initializers if w not in self.backward]
            by_name = {w.name: w for w in right}
            for one in left:
                partner = by_name.get(one.name)
                if partner is None and not self.strict.initializer_names:
                    partner = next((r for r in by_name.values() if self._same_init(one, r)), None)
                if partner is None or not self._same_init(one, partner):
                    what = "an initializer that nothing reads differs"
                    shown = "nothing" if partner is None else _tensor(partner)
                    raise _ConflictError(Mismatch(what, _tensor(one), shown, _path(scope)))
                del by_name[partner.name]
            for extra in by_name.values():
                what = "the second has an initializer more"
                raise _ConflictError(Mismatch(what, "nothing", _tensor(extra), _path(other)))

    def _inner_pairs(self) -> list[tuple[ProtoGraph, ProtoGraph]]:
        return [(x, y) for x, y in self.forward.items() if isinstance(x, ProtoGraph)]

    # -- values ----------------------------------------------------------------------------------

    def _wires(self, a: ProtoValue, b: ProtoValue) -> None:
        where = _where_wire(a)
        if (a.scope is None) != (b.scope is None) or (a.scope is None and a.name != b.name):
            self._differ("a name of nothing", f"`{a.name}`", f"`{b.name}`", where)
        if a.input_index != b.input_index:
            self._differ("a value comes from elsewhere", _origin(a), _origin(b), where)
        if (a.tensor is None) != (b.tensor is None):
            self._differ("a value comes from elsewhere", _origin(a), _origin(b), where)
        if a.tensor is not None:
            if self.strict.initializer_names and a.name != b.name:
                self._differ("the name of an initializer", a.name, b.name, where)
            if not self._same_init(a, b):
                self._differ(f"initializer `{a.name}`", _tensor(a), _tensor(b), where)
        if (a.producer is None) != (b.producer is None):
            self._differ("a value comes from elsewhere", _origin(a), _origin(b), where)
        if a.scope is not None and b.scope is not None:
            expected = self.b if a.scope is self.a else self.forward.get(a.scope)
            if expected is not b.scope:
                self._differ("a value comes from another graph", _origin(a), _origin(b), where)
        if a.producer is not None and b.producer is not None:
            places = (_index(a.producer.outputs, a), _index(b.producer.outputs, b))
            if places[0] != places[1]:
                what = f"which output of {a.producer.proto.op_type} is used"
                self._differ(what, str(places[0]), str(places[1]), where)
            self.todo.append((a.producer, b.producer))
        self._info(a, b, where)

    def _same_init(self, a: ProtoValue, b: ProtoValue) -> bool:
        left, right = a.tensor, b.tensor
        if isinstance(left, onnx.TensorProto) and isinstance(right, onnx.TensorProto):
            if self.strict.doc_strings and left.doc_string != right.doc_string:
                return False
            if not self.strict.initializers:
                return left.data_type == right.data_type and list(left.dims) == list(right.dims)
            return same_tensor(left, right, self.strict.folders)
        if isinstance(left, onnx.SparseTensorProto) and isinstance(right, onnx.SparseTensorProto):
            return same_sparse(left, right)
        return False

    def _info(self, a: ProtoValue, b: ProtoValue, where: tuple[str, ...]) -> None:
        strict = self.strict
        outside = a.input_index is not None or a.is_output
        inner = a.scope is not None and a.scope.owner is not None
        left = a.info if a.info is not None else onnx.ValueInfoProto()
        right = b.info if b.info is not None else onnx.ValueInfoProto()
        checked = strict.types if outside and not inner else strict.value_infos
        if checked and not same_type(left.type, right.type):
            # An initializer has a type of its own; to repeat it says nothing.
            repeated = a.tensor is not None and _repeats(left, a) and _repeats(right, b)
            if not repeated and not (is_plain(left.type) and is_plain(right.type)):
                what = f"the type of {_origin(a)}"
                self._differ(what, _type(left.type), _type(right.type), where)
        if strict.doc_strings and left.doc_string != right.doc_string:
            self._differ(
                f"the doc string of {_origin(a)}", left.doc_string, right.doc_string, where
            )
        self._metadata(f"{_origin(a)}", left, right, where)

    def _metadata(self, what: str, a: Any, b: Any, where: tuple[str, ...]) -> None:
        if not self.strict.metadata or not (len(a.metadata_props) or len(b.metadata_props)):
            return
        left, right = properties(a.metadata_props), properties(b.metadata_props)
        if left != right:
            self._differ(f"the metadata of {what}", repr(left), repr(right), where)

    def _differ(self, what: str, left: str, right: str, where: tuple[str, ...]) -> None:
        raise _ConflictError(Mismatch(f"{what} differs", left, right, where))

    # -- nodes -----------------------------------------------------------------------------------

    def _units(self, a: ProtoNode, b: ProtoNode) -> None:
        where = _where(a)
        if a.key != b.key:
            self._differ("an operator", _show(a), _show(b), where)
        for side, left, right in (("input", a.inputs, b.inputs), ("output", a.outputs, b.outputs)):
            shapes = [[x is not None for x in side_values] for side_values in (left, right)]
            if shapes[0] != shapes[1]:
                self._differ(f"the {side}s of {a.proto.op_type}", _show(a), _show(b), where)
        if self.strict.node_names and a.proto.name != b.proto.name:
            self._differ("the name of a node", a.proto.name, b.proto.name, where)
        if self.strict.doc_strings and a.proto.doc_string != b.proto.doc_string:
            what = f"the doc string of {a.proto.op_type}"
            self._differ(what, a.proto.doc_string, b.proto.doc_string, where)
        self._metadata(a.proto.op_type, a.proto, b.proto, where)
        left_devices, right_devices = (
            [d.SerializeToString(deterministic=True) for d in p.device_configurations]
            for p in (a.proto, b.proto)
        )
        if left_devices != right_devices:
            self._differ(f"the devices of {a.proto.op_type}", "", "", where)
        self._attributes(a, b, where)
        self.todo.extend((x, y) for x, y in zip(a.outputs, b.outputs) if x is not None)
        if self.strict.commutative and a.key[0] == "" and a.key[1] in COMMUTATIVE:
            self._operands(a, b)
        else:
            self.todo.extend((x, y) for x, y in zip(a.inputs, b.inputs) if x is not None)

    def _operands(self, a: ProtoNode, b: ProtoNode) -> None:
        """The operands of a commutative operator, in every order that the colors allow."""
        color = self._colors()
        orders: list[list[tuple[Any, Any]]] = [[]]
        taken: list[set[int]] = [set()]
        for x in a.inputs:
            grown, grown_taken = [], []
            for order, used in zip(orders, taken):
                for place, y in enumerate(b.inputs):
                    if place not in used and color[x] == color[y]:
                        grown.append([*order, (x, y)])
                        grown_taken.append({*used, place})
                        if len(grown) > 720:
                            break
            orders, taken = grown, grown_taken
        if not orders:
            self._differ("the operands", _show(a), _show(b), _where(a))
        self._branch(orders)

    def _attributes(self, a: ProtoNode, b: ProtoNode, where: tuple[str, ...]) -> None:
        left = {x.name: x for x in a.proto.attribute}
        right = {x.name: x for x in b.proto.attribute}
        if self.strict.attributes:
            for name in [*left, *(n for n in right if n not in left)]:
                x, y = left.get(name), right.get(name)
                what = f"attribute `{name}` of {a.proto.op_type}"
                if x is None or y is None or not self._same_attribute(x, y):
                    self._differ(what, _attribute(x), _attribute(y), where)
        for name, scopes in a.graphs.items():
            others = b.graphs.get(name, [])
            if len(scopes) != len(others):
                what = f"attribute `{name}` of {a.proto.op_type}"
                self._differ(what, f"{len(scopes)} graphs", f"{len(others)} graphs", where)
            for inner, other in zip(scopes, others):
                self._pair_scopes(inner, other)

    def _same_attribute(self, x: onnx.AttributeProto, y: onnx.AttributeProto) -> bool:
        if self.strict.doc_strings and x.doc_string != y.doc_string:
            return False
        if not self.strict.initializers and attribute_kind(x) == attribute_kind(y) == 4:
            return x.t.data_type == y.t.data_type and list(x.t.dims) == list(y.t.dims)
        return same_attribute(x, y, self.strict.folders)

    # -- graphs ----------------------------------------------------------------------------------

    def _pair_scopes(self, a: ProtoGraph, b: ProtoGraph) -> None:
        where, strict = _path(a), self.strict
        top = a is self.a
        if not top:
            self.forward[a] = b
            self.backward[b] = a
            self.trail.append((a, b))
        for what, left, right in (
            ("inputs", a.inputs, b.inputs),
            ("outputs", a.outputs, b.outputs),
        ):
            names = [[w.name for w in side] for side in (left, right)]
            if len(left) != len(right) or (top and strict.io_names and names[0] != names[1]):
                self._differ(f"the {what}", ", ".join(names[0]), ", ".join(names[1]), where)
            self.todo.extend(zip(left, right))
        if strict.doc_strings and a.proto.doc_string != b.proto.doc_string:
            self._differ("the doc string", a.proto.doc_string, b.proto.doc_string, where)
        self._metadata("the graph", a.proto, b.proto, where)
        named = strict.graph_names if top else strict.subgraph_names
        if named and a.proto.name != b.proto.name:
            self._differ("the name of the graph", a.proto.name, b.proto.name, where)


# -- words -----------------------------------------------------------------------------------------


def _index(values: list[ProtoValue | None], value: ProtoValue) -> int:
    return next(n for n, v in enumerate(values) if v is value)


def _show(unit: ProtoNode) -> str:
    p = unit.proto
    name = f"{p.domain}::{p.op_type}" if p.domain else p.op_type
    return f"{', '.join(p.output)} = {name}({', '.join(p.input)})"


def _origin(w: ProtoValue) -> str:
    if w.scope is None:
        return f"`{w.name}`, which nothing makes"
    if w.tensor is not None:
        return f"initializer `{w.name}`"
    if w.producer is not None:
        return f"`{w.name}`, made by {w.producer.proto.op_type}"
    return f"input `{w.name}`"


def _path(scope: ProtoGraph) -> tuple[str, ...]:
    steps: list[str] = []
    current: ProtoGraph | None = scope
    while current is not None:
        steps.append(current.label)
        current = current.outer
    return tuple(reversed(steps))


def _where(unit: ProtoNode) -> tuple[str, ...]:
    name = f" `{unit.proto.name}`" if unit.proto.name else ""
    return (*_path(unit.scope), f"node {unit.number}{name}: {_show(unit)}")


def _where_wire(w: ProtoValue) -> tuple[str, ...]:
    if w.producer is not None:
        return _where(w.producer)
    return _path(w.scope) if w.scope is not None else ()


def _tensor(w: ProtoValue) -> str:
    t = w.tensor
    if isinstance(t, onnx.TensorProto):
        kind = onnx.TensorProto.DataType.Name(t.data_type)
        if _count(t) <= 16 and t.data_location != onnx.TensorProto.EXTERNAL:
            return f"`{w.name}` {kind}{list(t.dims)} {_numbers(t)}"
        return f"`{w.name}` {kind}{list(t.dims)}"
    return f"`{w.name}`, sparse" if t is not None else f"`{w.name}`"


def _count(t: onnx.TensorProto) -> int:
    total = 1
    for d in t.dims:
        total *= d
    return total


def _numbers(t: onnx.TensorProto) -> str:
    try:
        return str(onnx.numpy_helper.to_array(t).tolist())
    except (ValueError, TypeError):
        return ""


def _repeats(info: onnx.ValueInfoProto, w: ProtoValue) -> bool:
    """Whether what is written of an initializer's type is nothing, or what its tensor says."""
    if is_plain(info.type) or not isinstance(w.tensor, onnx.TensorProto):
        return True
    own = onnx.helper.make_tensor_type_proto(w.tensor.data_type, list(w.tensor.dims))
    return same_type(info.type, own)


def _type(proto: onnx.TypeProto) -> str:
    if proto.WhichOneof("value") is None:
        return "no type"
    return onnx.helper.printable_type(proto)


def _attribute(attr: onnx.AttributeProto | None) -> str:
    if attr is None:
        return "not there"
    try:
        return str(onnx.helper.printable_attribute(attr))
    except (ValueError, TypeError):
        return attr.name


__all__ = ["COMMUTATIVE", "Isomorphism", "Matcher", "Mismatch", "Strictness"]
