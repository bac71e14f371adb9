"""Models written down to the last detail: what a graph says beside its computation.

Python made from a model gives its `Details`; then every call becomes one node just as written, and
names, types, descriptions and metadata are those of the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import onnx
import onnx_ir as ir

from onnxwright.converter.lower.context import Context, Script, VerbatimPlan
from onnxwright.converter.lower.functions import Lowered, input_type, lower_function, lower_main
from onnxwright.ir import adapters
from onnxwright.ir.builder import ORIGIN
from onnxwright.ir.initializers import add_initializers
from onnxwright.ir.names import Namer
from onnxwright.ir.serialize import fill_graph
from onnxwright.types.annotations import AttributeSpec, ValueSpec, parse_annotation
from onnxwright.types.initializers import Initializer
from onnxwright.types.kinds import OnnxType
from onnxwright.types.signature import EMPTY


@dataclass(frozen=True)
class Details:
    """What a graph or function says beside its computation, by the Python names in its script.

    Values and nodes without a name of their own go by their place: `#3` is the fourth node (each
    node is counted before those of its graphs) and its first output, `#3:1` its second output,
    `#3.0` the first input of its graph, `#3.body` that graph.

    Attributes:
        name: the name of the graph; the script's by default.
        doc_string: its description; the script's docstring by default.
        metadata: its `metadata_props`.
        opset_imports: versions of the domains it uses; found from its calls by default.
        names: the ONNX name of a value, where it is not the Python name.
        types: types of values: an annotation such as `FLOAT["N", 3]`, or a serialized TypeProto.
        values: `doc_string` and `metadata` of values.
        node_names: the name of the node that makes a value.
        numbered: nodes are named after their operator and place (`Add_3`), as compiling does.
        origins: for each node in order where it was written, `line:column`, or `-`, by file.
        nodes: `doc_string`, `metadata` and `extra` of the node that makes a value.
        graphs: `name`, `doc_string`, `metadata` and `extra` of a nested function's graph.
        absent: outputs that a node does not make though a later one is made.
        initializers: initializers that nothing reads.
        shared: equal constants are one node, as they are when compiling as usual.
        copies: results that a graph does not make itself get an Identity, as they do when compiling
            as usual.
        loops: for each `for` and `while` in order how its Loop is made, where the statement does
            not say it: `carried` (names in order), `first` and `again` (its condition before the
            first iteration: "true", "absent" or a name; and after each: "identity", "same" or
            "true").
        extra: a serialized part of the GraphProto or FunctionProto that no other field holds.
    """

    name: str | None = None
    doc_string: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    opset_imports: Mapping[str, int] | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    node_names: Mapping[str, str] = field(default_factory=dict)
    nodes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    graphs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    absent: Iterable[str] = ()
    initializers: Iterable[Initializer] = ()
    numbered: bool = False
    origins: Iterable[tuple[str, str]] = ()
    shared: bool = False
    copies: bool = False
    loops: Iterable[Mapping[str, Any]] = ()
    extra: bytes = b""

    @property
    def plan(self) -> VerbatimPlan:
        """What lowering must know of it."""
        return VerbatimPlan(self.shared, self.copies, tuple(self.loops), self.names)


@dataclass(frozen=True)
class ModelFacts:
    """What a model says beside its graphs."""

    ir_version: int | None = None
    producer_name: str = ""
    producer_version: str = ""
    model_version: int = 0
    domain: str = ""
    doc_string: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    extra: bytes = b""


def verbatim_function(script: Script, details: Details) -> onnx.FunctionProto:
    """A script as a FunctionProto, one node for each call."""
    context = Context(choose=lambda _: "call", verbatim=True)
    context.plans[script.function] = details.plan
    return _Writer(lower_function(script, context), details).function()


def verbatim_model(
    script: Script,
    details: Details,
    functions: Mapping[Any, Details],
    facts: ModelFacts,
    attributes: Mapping[str, Any],
    input_types: Mapping[str, OnnxType],
) -> onnx.ModelProto:
    """A script and its functions as a model, one node for each call."""
    context = Context(choose=lambda _: "call", verbatim=True)
    for one, its in ((script, details), *functions.items()):
        context.plans[one.function] = its.plan
    main = lower_main(script, context, attributes, input_types)
    proto = onnx.ModelProto()
    _Writer(main, details).graph(proto.graph)
    for callee, its in functions.items():
        key = ("generic", callee.function, callee.domain, callee.name)
        lowered = context.results.get(key)
        if not isinstance(lowered, Lowered):
            lowered = lower_function(callee, context)
        proto.functions.append(_Writer(lowered, its).function())
    imports = details.opset_imports
    if imports is None:
        imports = dict(main.imports)
        for callee in functions:
            imports.setdefault(callee.domain, callee.version)
    for domain, version in imports.items():
        proto.opset_import.add(domain=domain, version=version)
    if facts.ir_version is not None:
        proto.ir_version = facts.ir_version
    for name in ("producer_name", "producer_version", "model_version", "domain", "doc_string"):
        value = getattr(facts, name)
        if value:
            setattr(proto, name, value)
    _entries(proto, facts.metadata)
    proto.MergeFromString(facts.extra)
    return proto


def _annotated(annotation: Any) -> onnx.TypeProto:
    """The type that an annotation says."""
    spec = parse_annotation(annotation)
    if isinstance(spec, ValueSpec) and spec.types:
        return adapters.type_proto(spec.exact or spec.types[0])
    return onnx.TypeProto(tensor_type=onnx.TypeProto.Tensor())


class _Writer:
    """One lowered script as protobuf, with its details."""

    def __init__(self, lowered: Lowered, details: Details) -> None:
        self.lowered = lowered
        self.details = details
        self.final: dict[str, str] = {}
        self.place = 0
        self.origins = [
            f"{file}:{entry}" if entry != "-" else ""
            for file, entries in details.origins
            for entry in entries.split()
        ]

    def graph(self, proto: onnx.GraphProto) -> None:
        """As the main graph of a model, which is filled in."""
        low, details = self.lowered, self.details
        self._body(proto, details.name if details.name is not None else low.script.name)
        returns = low.script.signature.returns or ()
        types: dict[str, OnnxType | None] = {}
        for spec, value in zip(returns, low.outputs, strict=False):
            if isinstance(spec, ValueSpec) and len(spec.types) == 1:
                types[value.name or ""] = spec.exact
        for p in low.script.signature.params:
            if not p.is_attribute:
                types[self.final.get(p.name, p.name)] = input_type(p, exact=True)
        for info in (*proto.input, *proto.output):
            kind = types.get(info.name)
            if kind is not None and not info.HasField("type"):
                info.type.CopyFrom(adapters.type_proto(kind))
        proto.MergeFromString(details.extra)

    def function(self) -> onnx.FunctionProto:
        """As a function."""
        low, script = self.lowered, self.lowered.script
        body = onnx.GraphProto()
        self._body(body, script.name)
        proto = onnx.FunctionProto(name=script.name, domain=script.domain)
        if script.overload:
            proto.overload = script.overload
        if body.doc_string:
            proto.doc_string = body.doc_string
        proto.input.extend(i.name for i in body.input)
        proto.output.extend(o.name for o in body.output)
        proto.node.extend(body.node)
        proto.value_info.extend(body.value_info)
        # A function keeps the types of its inputs and outputs among its value infos.
        for info in (*body.input, *body.output):
            if info.HasField("type") or info.doc_string or len(info.metadata_props):
                proto.value_info.append(info)
        proto.metadata_props.extend(body.metadata_props)
        renamed: dict[str, str] = {}
        kept = {p.name for p in onnx.FunctionProto.FromString(self.details.extra).attribute_proto}
        for p in script.signature.params:
            if isinstance(p.spec, AttributeSpec):
                name = self.details.names.get(p.name, p.name)
                if name != p.name:
                    renamed[p.name] = name
                if name in kept:
                    continue
                if p.default is EMPTY or p.default is None:
                    proto.attribute.append(name)
                else:
                    attribute = adapters.attribute(name, p.default, p.spec.kind)
                    proto.attribute_proto.append(ir.to_proto(attribute))
        if renamed:
            _rename_references(proto.node, renamed)
        imports = self.details.opset_imports
        for domain, version in (low.imports if imports is None else imports).items():
            proto.opset_import.add(domain=domain, version=version)
        proto.MergeFromString(self.details.extra)
        return proto

    # -- the body ----------------------------------------------------------------------------------

    def _body(self, graph: onnx.GraphProto, name: str) -> None:
        low, details = self.lowered, self.details
        recorder = low.recorder
        held = {value: python for python, value in reversed(recorder.name_owner.items())}
        for scope in recorder.scopes[:1]:
            for n, unread in enumerate(details.initializers):
                value = ir.Value(name=unread.onnx_name or f"initializer_{n}")
                scope.initializers[value] = unread
        places: dict[str, ir.Value] = {}
        _note_places(low.nodes, places, 0)
        self._name_values(held, places)
        graph.name = name
        fill_graph(graph, low.inputs, low.outputs, low.nodes)
        doc = details.doc_string if details.doc_string is not None else (low.doc or "")
        if doc:
            graph.doc_string = doc
        _entries(graph, details.metadata)
        self._infos = self._value_infos()
        self._facts_of = _by_place(details.nodes, self.final)
        self._names_of = _by_place(details.node_names, self.final)
        self._absent = {self.final.get(n, n) for n in details.absent}
        add_initializers(graph, recorder.scopes[0].initializers)
        self._finish(graph)

    def _name_values(self, held: Mapping[ir.Value, str], places: Mapping[str, ir.Value]) -> None:
        """Each value under its ONNX name; what sugar made under a name of its own."""
        details, recorder = self.details, self.lowered.recorder
        declared: dict[ir.Value, Any] = dict(recorder.scopes[0].initializers)
        for _, scope in recorder.graphs.values():
            declared.update(scope.initializers)
        names_by_value: dict[ir.Value, str] = {}
        for value in dict.fromkeys((*recorder.types, *declared)):
            python = held.get(value)
            array = declared.get(value)
            if array is not None and array.onnx_name is not None:
                names_by_value[value] = array.onnx_name
            elif python is not None:
                names_by_value[value] = details.names.get(python, python)
            if python is not None and value in names_by_value:
                self.final[python] = names_by_value[value]
        for key, value in places.items():
            if key in details.names:
                names_by_value[value] = details.names[key]
        outputs = dict.fromkeys(self.lowered.outputs)
        names = Namer()
        for name in (*names_by_value.values(), *details.names.values()):
            names.unique(name)
        for n, value in enumerate(outputs):
            hint = "output" if len(outputs) == 1 else f"output_{n}"
            if value not in names_by_value and value not in recorder.aliases:
                names_by_value[value] = names.unique(hint)
        for value in dict.fromkeys((*recorder.types, *declared)):
            value.type, value.shape = None, None
            chosen_name = names_by_value.get(value)
            value.name = chosen_name if chosen_name is not None else names.unique(_hint(value))
        for key, value in places.items():
            self.final[key] = value.name or ""
        for alias, value in recorder.aliases.items():
            alias.name = value.name

    def _value_infos(self) -> dict[str, onnx.ValueInfoProto]:
        details = self.details
        infos: dict[str, onnx.ValueInfoProto] = {}
        protos: dict[int, onnx.TypeProto] = {}  # by annotation; `details` keeps these alive
        for python in dict.fromkeys((*details.types, *details.values)):
            name = self.final.get(python, python)
            declared = details.types.get(python)
            if declared is None:
                info = onnx.ValueInfoProto(name=name)
            elif isinstance(declared, bytes):
                info = onnx.ValueInfoProto(name=name, type=onnx.TypeProto.FromString(declared))
            else:
                proto = protos.get(id(declared))
                if proto is None:
                    proto = protos[id(declared)] = _annotated(declared)
                info = onnx.ValueInfoProto(name=name, type=proto)
            infos[name] = info
            facts = details.values.get(python)
            if facts:
                if facts.get("doc_string"):
                    info.doc_string = facts["doc_string"]
                _entries(info, facts.get("metadata", {}))
        return infos

    def _finish(self, graph: onnx.GraphProto) -> None:
        """Put the details on a graph and on those inside it."""
        del graph.value_info[:]
        seen: set[str] = set()
        for info in (*graph.input, *graph.output):
            info.ClearField("type")
            declared = self._infos.get(info.name)
            if declared is not None:
                info.CopyFrom(declared)
            seen.add(info.name)
        for name in (t.name for t in graph.initializer):
            self._note(graph, name, seen)
        for node in graph.node:
            outputs = list(node.output)
            place = f"#{self.place}"
            self._finish_node(node, place)
            self.place += 1
            for name in outputs:
                self._note(graph, name, seen)
            if self._absent and self._absent.intersection(outputs):
                del node.output[:]
                node.output.extend("" if name in self._absent else name for name in outputs)
            for attr in sorted(node.attribute, key=_is_else):
                for inner in (attr.g, *attr.graphs) if attr.type in (5, 10) else ():
                    if inner.name in self.lowered.recorder.graphs:
                        self._finish_inner(inner, f"{place}.{attr.name}")

    def _finish_node(self, node: onnx.NodeProto, place: str) -> None:
        first = node.output[0] if node.output else place
        facts = self._facts_of.get(place) or self._facts_of.get(first, {})
        usual = f"{node.op_type}_{self.place}" if self.details.numbered else ""
        node.name = self._names_of.get(place) or self._names_of.get(first, usual)
        if facts.get("doc_string"):
            node.doc_string = facts["doc_string"]
        if self.place < len(self.origins) and self.origins[self.place]:
            _entries(node, {ORIGIN: self.origins[self.place]})
        if facts:
            _entries(node, facts.get("metadata", {}))
            node.MergeFromString(facts.get("extra", b""))

    def _note(self, graph: onnx.GraphProto, name: str, seen: set[str]) -> None:
        info = self._infos.get(name)
        if info is not None and name not in seen:
            graph.value_info.append(info)
            seen.add(name)

    def _finish_inner(self, graph: onnx.GraphProto, place: str) -> None:
        key = graph.name
        _, scope = self.lowered.recorder.graphs[key]
        usual = self.lowered.recorder.branch_of.get(key)
        facts = self.details.graphs.get(place if usual else key, {})
        graph.name = facts.get("name", usual or key)
        if facts.get("doc_string"):
            graph.doc_string = facts["doc_string"]
        _entries(graph, facts.get("metadata", {}))
        graph.MergeFromString(facts.get("extra", b""))
        add_initializers(graph, scope.initializers)
        self._finish(graph)


def _note_places(nodes: Iterable[ir.Node], places: dict[str, ir.Value], count: int) -> int:
    """Values by the place of the node that makes them, or whose graph they go into."""
    for node in nodes:
        here = f"#{count}"
        count += 1
        for n, value in enumerate(node.outputs):
            places[f"{here}:{n}" if n else here] = value
        for attr in sorted(node.attributes.values(), key=_is_else):
            if attr.is_ref() or attr.type not in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS):
                continue
            graphs = [attr.as_graph()] if attr.type is ir.AttributeType.GRAPH else attr.as_graphs()
            for graph in graphs:
                for n, value in enumerate(graph.inputs):
                    places.setdefault(f"{here}.{n}", value)
                count = _note_places(graph, places, count)
    return count


def _is_else(attr: Any) -> bool:
    """The branch that is counted last, whatever its position among the attributes."""
    return bool(attr.name == "else_branch")


def _by_place(table: Mapping[str, Any], final: Mapping[str, str]) -> dict[str, Any]:
    """Facts by the place of a node, or by the ONNX name of what it makes."""
    return {n if n.startswith("#") else final.get(n, n): facts for n, facts in table.items()}


def _hint(value: ir.Value) -> str:
    producer = value.producer()
    return value.name or "value" if producer is None else producer.op_type.lower()


def _rename_references(nodes: Iterable[onnx.NodeProto], renamed: Mapping[str, str]) -> None:
    """References to attribute parameters by their ONNX names."""
    for node in nodes:
        for attr in node.attribute:
            if attr.ref_attr_name in renamed:
                attr.ref_attr_name = renamed[attr.ref_attr_name]
            for inner in (attr.g, *attr.graphs) if attr.type in (5, 10) else ():
                _rename_references(inner.node, renamed)


def _entries(proto: Any, metadata: Mapping[str, str]) -> None:
    for key, value in metadata.items():
        proto.metadata_props.add(key=key, value=value)
