"""What is to be shown of a model, as plain data: blocks of steps with types, weights and places.

The listing, the picture and the summary all read this, so that they agree.  A model is untrusted
input: every text in here is printable (`clean`), whatever the model's names hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import onnx

from onnxwright.ir.loading import open_model
from onnxwright.ir.model_inference import infer_model
from onnxwright.ir.preview import FEW, as_text, from_type, tensor_preview
from onnxwright.ir.text import clean, short
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType

ORIGIN = "onnxwright.origin"
_LONG = 1 << 18  # elements of a vector from which on it is not a shape


@dataclass(frozen=True, slots=True)
class Weight:
    """A tensor that the model holds: its name, type, size in bytes, and its first elements."""

    name: str
    type: TensorType
    nbytes: int
    external: bool
    preview: str

    @property
    def count(self) -> int:
        """How many elements it has."""
        total = 1
        for dim in self.type.shape or ():
            total *= dim if isinstance(dim, int) else 1
        return total


@dataclass(frozen=True, slots=True)
class Step:
    """One node.

    Fields:
        op: its operator, with the domain where it is not the standard one.
        name: the node's name.
        inputs, outputs: names of values; an empty one is absent.
        attributes: name and text, subgraphs excluded.
        blocks: its subgraphs, by attribute name.
        origin: `file:line:col` of the Python that made it; empty where that is not known.
        callee: the key of the model's function that it calls, else None.
        node: the NodeProto.
    """

    op: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]
    blocks: tuple[tuple[str, Block], ...]
    origin: str
    callee: str | None
    node: Any = field(compare=False, repr=False)

    @property
    def place(self) -> str:
        """The origin without folders and end, such as `model.py:12`."""
        file, _, rest = self.origin.partition(":")
        if len(file) == 1 and rest[:1] in "/\\":  # a drive letter
            drive, _, rest = rest.partition(":")
            file += drive
        return f"{Path(file.replace(chr(92), '/')).name}:{rest.split(':')[0]}" if rest else file


@dataclass(frozen=True, slots=True)
class Block:
    """A graph, a subgraph or a function.

    Fields:
        kind: "graph", "subgraph" or "function".
        name: its name.
        inputs, outputs: names of values.
        attributes: the attribute parameters of a function.
        weights: what it holds.
        steps: its nodes, in order.
        types: types of values by name, those of the blocks around included.
    """

    kind: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[str, ...]
    weights: tuple[Weight, ...]
    steps: tuple[Step, ...]
    types: Mapping[str, OnnxType] = field(compare=False, repr=False)

    def typed(self, name: str) -> str:
        """A value with its type, as it is written after a parameter."""
        kind = self.types.get(name)
        return f"{name}: {clean(str(kind))}" if kind is not None else name

    def all_steps(self) -> Iterator[Step]:
        """Every node, those of subgraphs after the node that has them."""
        for step in self.steps:
            yield step
            for _, block in step.blocks:
                yield from block.all_steps()

    def all_weights(self) -> Iterator[Weight]:
        """Every weight, those of subgraphs too."""
        yield from self.weights
        for step in self.steps:
            for _, block in step.blocks:
                yield from block.all_weights()


@dataclass(frozen=True, slots=True)
class View:
    """A model, a function or a graph to be shown.

    Fields:
        title: its name.
        facts: the lines above it: versions, producer.
        opsets: domain -> version.
        main: the main graph, or the function.
        functions: the functions of the model, by key.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    opsets: Mapping[str, int]
    main: Block
    functions: Mapping[str, Block]

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The main graph and the functions."""
        return (self.main, *self.functions.values())

    def all_steps(self) -> Iterator[Step]:
        """Every node of every block."""
        for block in self.blocks:
            yield from block.all_steps()


def read(model: Any) -> onnx.ModelProto | onnx.FunctionProto:
    """What is to be shown, as a proto; external data stays where it is.

    Args:
        model: a model of any kind (see `ow.load`), or a FunctionProto or GraphProto, also of
            `onnx_ir`; a script that is not a model by itself is a function.

    Returns:
        The model or function.

    Raises:
        ModelError: it is damaged.
        ModelTypeError: it is none of these (OW752).

    Example:
        >>> read(onnx.GraphProto(name="g")).graph.name
        'g'
    """
    opened = open_model(model, defined=False, parts="taken").proto
    return onnx.ModelProto(graph=opened) if isinstance(opened, onnx.GraphProto) else opened


def view(model: Any) -> View:
    """What is to be shown of a model.

    Args:
        model: as for `read`.

    Raises:
        TypeError: it cannot be shown.

    Example:
        >>> from onnx import parser
        >>> shown = view(parser.parse_graph("g (float[2] x) => (float[2] y) { y = Relu(x) }"))
        >>> shown.main.steps[0].op, shown.main.typed("x")
        ('Relu', 'x: FLOAT[2]')
    """
    proto = read(model)
    opsets = {clean(o.domain or "ai.onnx"): o.version for o in proto.opset_import}
    if isinstance(proto, onnx.FunctionProto):
        block = _function(proto, frozenset())
        return View(block.name, (), opsets, block, {})
    keys = frozenset(_key(f.domain, f.name, f.overload) for f in proto.functions)
    infos = inferred(proto)
    main = _graph(proto.graph, "graph", infos.graph, {}, keys)
    functions = {_key(f.domain, f.name, f.overload): _function(f, keys) for f in proto.functions}
    facts = [("ir version", str(proto.ir_version))] if proto.ir_version else []
    for label, value in (
        ("producer", f"{proto.producer_name} {proto.producer_version}".strip()),
        ("domain", proto.domain),
        ("model version", str(proto.model_version) if proto.model_version else ""),
        ("doc", proto.doc_string or proto.graph.doc_string),
    ):
        if value:
            facts.append((label, short(clean(value), 200)))
    return View(main.name, tuple(facts), opsets, main, functions)


def inferred(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the types ONNX infers; large weights are left out of the copy.

    Returns:
        A copy with types; the model itself where nothing can be inferred.
    """
    slimmed = slim(proto)
    return infer_model(slimmed, data_prop=True) or proto


def slim(proto: onnx.ModelProto, limit: int = 1024) -> onnx.ModelProto:
    """A copy in which initializers of more than `limit` bytes are inputs without data."""
    slimmed = onnx.ModelProto()
    slimmed.ir_version = max(proto.ir_version, 4)
    slimmed.opset_import.extend(proto.opset_import)
    slimmed.functions.extend(proto.functions)
    graph = slimmed.graph
    graph.name = proto.graph.name or "g"
    graph.node.extend(proto.graph.node)
    graph.input.extend(proto.graph.input)
    graph.output.extend(proto.graph.output)
    graph.value_info.extend(proto.graph.value_info)
    present = {i.name for i in proto.graph.input}
    for tensor in proto.graph.initializer:
        if tensor.data_location != onnx.TensorProto.EXTERNAL and tensor.ByteSize() <= limit:
            graph.initializer.append(tensor)
        elif tensor.name not in present:
            info = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            graph.input.append(info)
    return slimmed


def _key(domain: str, name: str, overload: str = "") -> str:
    return clean(".".join(filter(None, (domain, name, overload))))


def _graph(
    graph: onnx.GraphProto,
    kind: str,
    infos: onnx.GraphProto,
    around: Mapping[str, OnnxType],
    functions: frozenset[str],
) -> Block:
    types = dict(around)
    weights = []
    for tensor in graph.initializer:
        weight = weight_of(tensor)
        weights.append(weight)
        types[weight.name] = weight.type
    for sparse in graph.sparse_initializer:
        inner = weight_of(sparse.values)
        weights.append(inner)
        types[inner.name] = TensorType(inner.type.dtype, tuple(sparse.dims))
    for source in (infos, graph):
        for info in (*source.value_info, *source.output, *source.input):
            info_type = from_type(info.type)
            if info_type is not None:
                types[clean(info.name)] = info_type
    # Inference keeps the order and number of nodes.
    nodes = infos.node if len(infos.node) == len(graph.node) else graph.node
    held = {w.name for w in weights}
    return Block(
        kind,
        clean(graph.name),
        tuple(n for n in (clean(i.name) for i in graph.input) if n not in held),
        tuple(clean(o.name) for o in graph.output),
        (),
        tuple(weights),
        tuple(
            _step(node, typed, types, functions)
            for node, typed in zip(graph.node, nodes, strict=True)
        ),
        types,
    )


def _function(function: onnx.FunctionProto, functions: frozenset[str]) -> Block:
    types: dict[str, OnnxType] = {}
    for info in function.value_info:
        kind = from_type(info.type)
        if kind is not None:
            types[clean(info.name)] = kind
    attributes = [clean(a) for a in function.attribute]
    attributes += [f"{clean(p.name)}={attribute_text(p)}" for p in function.attribute_proto]
    return Block(
        "function",
        _key(function.domain, function.name, function.overload),
        tuple(clean(i) for i in function.input),
        tuple(clean(o) for o in function.output),
        tuple(attributes),
        (),
        tuple(_step(node, node, types, functions) for node in function.node),
        types,
    )


def _step(
    node: onnx.NodeProto,
    typed: onnx.NodeProto,
    types: Mapping[str, OnnxType],
    functions: frozenset[str],
) -> Step:
    attributes, blocks = [], []
    for attribute, with_types in zip(node.attribute, typed.attribute, strict=True):
        name = clean(attribute.name)
        if attribute.type == onnx.AttributeProto.GRAPH:
            inner = _graph(attribute.g, "subgraph", with_types.g, types, functions)
            blocks.append((name, inner))
        elif attribute.type == onnx.AttributeProto.GRAPHS:
            for n, graph in enumerate(attribute.graphs):
                inner = _graph(graph, "subgraph", with_types.graphs[n], types, functions)
                blocks.append((f"{name}[{n}]", inner))
        else:
            attributes.append((name, attribute_text(attribute)))
    key = _key(node.domain, node.op_type, node.overload)
    standard = node.domain in ("", "ai.onnx")
    return Step(
        clean(node.op_type) if standard else _key(node.domain, node.op_type),
        clean(node.name),
        tuple(clean(i) for i in node.input),
        tuple(clean(o) for o in node.output),
        tuple(attributes),
        tuple(blocks),
        next((clean(p.value) for p in node.metadata_props if p.key == ORIGIN), ""),
        key if key in functions else None,
        node,
    )


def weight_of(tensor: onnx.TensorProto) -> Weight:
    """What is to be shown of a tensor that the model holds."""
    kind = TensorType(_dtype(tensor.data_type), tuple(tensor.dims))
    external = tensor.data_location == onnx.TensorProto.EXTERNAL
    weight = Weight(clean(tensor.name), kind, 0, external, "")
    count = weight.count
    if kind.dtype is DType.STRING:
        nbytes = sum(map(len, tensor.string_data))
    else:
        nbytes = (count * kind.dtype.bits + 7) // 8 if kind.dtype is not None else 0
    preview = "" if external else tensor_preview(tensor, count)
    return Weight(weight.name, kind, nbytes, external, preview)


@lru_cache(maxsize=64)
def _dtype(number: int) -> DType | None:
    try:
        return DType(number) if number else None
    except ValueError:
        return None


def attribute_text(attribute: onnx.AttributeProto) -> str:
    """The value of an attribute that is not a graph, in short.

    Returns:
        Text such as `1`, `[1, 2]`, `'linear'`, `FLOAT[2] [0.5, 1]`, or `@axis` for a reference
        to an attribute of the function.

    Example:
        >>> attribute_text(onnx.helper.make_attribute("pads", [0, 1]))
        '[0, 1]'
    """
    if attribute.ref_attr_name:
        return f"@{clean(attribute.ref_attr_name)}"
    kinds = onnx.AttributeProto
    kind = attribute.type
    if kind == kinds.INT:
        return str(attribute.i)
    if kind == kinds.FLOAT:
        return f"{attribute.f:.6g}"
    if kind == kinds.STRING:
        return short(repr(clean(as_text(attribute.s))))
    if kind in (kinds.INTS, kinds.FLOATS, kinds.STRINGS):
        values: Any = {kinds.INTS: attribute.ints, kinds.FLOATS: attribute.floats}.get(
            kind, attribute.strings
        )
        shown = [
            f"{v:.6g}" if kind == kinds.FLOATS else repr(clean(as_text(v)))
            if kind == kinds.STRINGS else str(v)
            for v in values[:FEW]
        ]  # fmt: skip
        return short(f"[{', '.join(shown)}{', ...' if len(values) > FEW else ''}]")
    if kind == kinds.TENSOR:
        weight = weight_of(attribute.t)
        return f"{weight.type} {weight.preview}".strip()
    if kind == kinds.TYPE_PROTO:
        return clean(str(from_type(attribute.tp)))
    return onnx.AttributeProto.AttributeType.Name(kind).lower() if kind else "?"


__all__ = [
    "Block", "Step", "View", "Weight", "attribute_text", "clean", "inferred", "read", "short",
    "slim", "view",
]  # fmt: skip
