"""Models in which ONNX Runtime would read a length or an element that a tensor does not have.

Some kernels read it without asking whether it is there, and end the process.  A model of which that
is known is refused.  Where the shape of such an input is not known before the run, nodes before it
read the same first: where it is not there, the runtime fails with an error that names the operator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from typing import Any, NamedTuple

import onnx
from onnx import helper, inliner

from onnxwright.eager.ort import sessions
from onnxwright.ir.model_inference import infer_model
from onnxwright.ir.proto_graphs import nodes_of, subgraphs_of
from onnxwright.ir.validation.damage import quoted
from onnxwright.ir.validation.nodes import plain_attributes, versions_of
from onnxwright.operators import facts

_FIRST_VERSION = 7  # Add broadcasts from this version of the standard opset on
_SMALL = 1024  # bytes of initializers whose values inference may ask for
_NAME = re.compile(
    r"onnxwright: (input \d+ of .*? (?:has fewer than \d+ ax[ei]s|has no elements.*? run))"
)

_OLD = "which ONNX Runtime before 1.27 cannot run"
_NO_ELEMENTS = f"has no elements, {_OLD}"
LEFT_OUT = f"is left out, {_OLD}"

Shape = tuple[int | None, ...]
Shapes = dict[str, Shape | None]


class Need(NamedTuple):
    """What a kernel reads of an input, and ends the process where it is not there.

    Fields:
        place: which input.
        rank: the fewest axes.
        elements: whether it has to have elements.
        required: whether it may not be left out.
    """

    place: int
    rank: int
    elements: bool
    required: bool

    def missing(self, shape: Shape | None) -> str | None:
        """What an input of this shape lacks; None where it is not known to lack anything."""
        if shape is not None and len(shape) < self.rank:
            return f"has {_axes(len(shape))}, and it takes {self.rank} or more"
        return _NO_ELEMENTS if self.elements and shape is not None and 0 in shape else None

    def is_met(self, shape: Shape | None) -> bool:
        """Whether an input of this shape is known to have it."""
        if self.rank and (shape is None or len(shape) < self.rank):
            return False
        return not self.elements or (shape is not None and all(shape))


class UnreadableError(Exception):
    """A model for which ONNX Runtime would end the process.

    Attributes:
        node: the node for which it would.
    """

    def __init__(self, text: str, node: onnx.NodeProto) -> None:
        super().__init__(text)
        self.node = node


def needs(op_type: str, domain: str, attributes: Mapping[str, Any], count: int) -> list[Need]:
    """What the installed runtime reads of the inputs of an operator without asking.

    Args:
        attributes: those of the call.
        count: how many inputs the call has.

    Example:
        >>> [need.rank for need in needs("ReverseSequence", "", {}, 2)]
        [2, 1]
    """
    record = facts(op_type, domain)
    ranks = record.least_ranks
    least = ranks(attributes) if callable(ranks) else ranks
    unasked = record.reads_unasked if sessions.is_old() else None
    read = unasked.inputs if unasked is not None else ()
    elements = unasked is not None and unasked.elements
    places = range(max(count, *(n + 1 for n in read)) if read else count)
    every = [Need(n, least[n] if n < len(least) else 0, elements, n in read) for n in places]
    return [need for need in every if need.rank or need.elements or need.required]


def with_rank_guards(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model that fails with an error where ONNX Runtime would end the process.

    Args:
        model: a model, checked for the runtime; it stays as it is.

    Returns:
        The model itself where the shapes of all inputs that matter are known; else another one,
        without functions where one of them has such an input.

    Raises:
        UnreadableError: an input is known not to have what a kernel reads of it.

    Example:
        >>> from onnx import parser
        >>> head = '<ir_version: 10, opset_import: ["" : 17]> g '
        >>> model = parser.parse_model(
        ...     head + "(float[N] x) => (float y) { y = DFT <axis = 0> (x) }"
        ... )
        >>> with_rank_guards(model) is model
        True
        >>> model.graph.input[0].type.tensor_type.ClearField("shape")
        >>> [node.op_type for node in with_rank_guards(model).graph.node]
        ['Shape', 'Constant', 'Gather', 'Add', 'Sub', 'Reshape', 'DFT']
    """
    if versions_of(model).get("", 0) < _FIRST_VERSION:
        return model
    in_functions = any(_needs(node) for f in model.functions for node in nodes_of(f.node))
    if not in_functions and not any(_unknown(model.graph, {})):
        return model
    if in_functions:
        inlined = inliner.inline_local_functions(model)
    else:
        inlined = onnx.ModelProto()
        inlined.CopyFrom(model)
    light = _light(inlined)
    inferred = infer_model(light)
    typed = (light if inferred is None else inferred).graph
    if not any(_unknown(inlined.graph, {}, typed)):
        return model
    _guard(inlined.graph, {}, typed, _Names(inlined))
    return inlined


def failed_guard(text: str) -> str | None:
    """What a message of ONNX Runtime says of a tensor with too few axes.

    Returns:
        Which input of which operator, None where it is about something else.

    Example:
        >>> failed_guard("Gather node. Name:'onnxwright: input 1 of DFT has fewer than 1 axis'")
        'input 1 of DFT has fewer than 1 axis'
    """
    match = _NAME.search(text)
    return None if match is None else match[1]


def _needs(node: onnx.NodeProto) -> list[Need]:
    """What a kernel reads of the inputs of a node.

    Raises:
        UnreadableError: it reads one that the node does not have.
    """
    record = facts(node.op_type, node.domain)
    if not record.least_ranks and record.reads_unasked is None:
        return []
    needed = needs(node.op_type, node.domain, plain_attributes(node), len(node.input))
    connected = [need for need in needed if need.place < len(node.input) and node.input[need.place]]
    for need in needed:
        if need.required and need not in connected:
            raise UnreadableError(f"input {need.place} of {_called(node)} {LEFT_OUT}", node)
    return connected


def _axes(count: int) -> str:
    return f"{count} {'axis' if count == 1 else 'axes'}"


def _called(node: onnx.NodeProto) -> str:
    return f"{node.op_type} {quoted(node.name)}" if node.name else node.op_type


def _unknown(
    graph: onnx.GraphProto, around: Shapes, typed: onnx.GraphProto | None = None
) -> Iterator[str]:
    """The inputs in a graph and its subgraphs of which is read what they may not have.

    Args:
        typed: the same graph with types that were inferred; without it, only those of the inputs
            of the main graph are known, which the runtime checks.
    """
    shapes = _shapes(graph, around, typed)
    for place, node in enumerate(graph.node):
        for need in _needs(node):
            if not need.is_met(shapes.get(node.input[need.place])):
                yield node.input[need.place]
        others = repeat(None) if typed is None else subgraphs_of(typed.node[place])
        for inner, other in zip(subgraphs_of(node), others, strict=False):
            yield from _unknown(inner, shapes, other)


def _shapes(graph: onnx.GraphProto, around: Shapes, typed: onnx.GraphProto | None) -> Shapes:
    """The shapes of the values that a graph reads and makes, None where they are not known."""
    shapes = dict(around)
    shapes.update((name, None) for node in graph.node for name in node.output)
    shapes.update((info.name, None) for info in graph.input)
    infos: Iterable[onnx.ValueInfoProto] = () if around else graph.input
    if typed is not None:
        infos = (*typed.input, *typed.value_info, *typed.output)
    for info in infos:
        tensor = info.type.tensor_type
        if info.type.HasField("tensor_type") and tensor.HasField("shape"):
            shapes[info.name] = tuple(
                d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim
            )
    shapes.update((tensor.name, tuple(tensor.dims)) for tensor in graph.initializer)
    shapes.update((t.values.name, tuple(t.dims)) for t in graph.sparse_initializer)
    return shapes


def _light(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model for inference: large initializers are inputs, and no shape is taken on trust.

    The runtime checks the shapes of inputs alone.
    """
    light = onnx.ModelProto(ir_version=max(model.ir_version, 4))
    light.opset_import.extend(model.opset_import)
    graph = light.graph
    graph.name = model.graph.name
    for field in ("node", "input", "output", "sparse_initializer"):
        getattr(graph, field).extend(getattr(model.graph, field))
    _drop_shapes(graph.output)
    for node in nodes_of(graph.node):
        for inner in subgraphs_of(node):
            del inner.value_info[:]
            _drop_shapes(inner.input)
            _drop_shapes(inner.output)
    inputs = {info.name for info in graph.input}
    for tensor in model.graph.initializer:
        if not tensor.external_data and tensor.ByteSize() <= _SMALL:
            graph.initializer.append(tensor)
        elif tensor.name not in inputs:
            info = helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
            graph.input.append(info)
    return light


def _drop_shapes(infos: Iterable[onnx.ValueInfoProto]) -> None:
    for info in infos:
        if info.type.HasField("tensor_type"):
            info.type.tensor_type.ClearField("shape")


class _Names:
    """Names that no value of a model has."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.count = 0
        self.head = "onnxwright_rank"
        taken = {
            name for node in nodes_of(model.graph.node) for name in (*node.output, *node.input)
        }
        while any(name.startswith(self.head) for name in taken):
            self.head += "_"

    def new(self) -> str:
        """Another name."""
        self.count += 1
        return f"{self.head}_{self.count}"


def _guard(graph: onnx.GraphProto, around: Shapes, typed: onnx.GraphProto, names: _Names) -> None:
    """Put nodes that read a length or an element before each node that needs it.

    Raises:
        UnreadableError: an input is known not to have it.
    """
    shapes = _shapes(graph, around, typed)
    nodes: list[onnx.NodeProto] = []
    for node, other in zip(graph.node, typed.node, strict=True):
        for inner, typed_graph in zip(subgraphs_of(node), subgraphs_of(other), strict=True):
            _guard(inner, shapes, typed_graph, names)
        for need in _needs(node):
            shape = shapes.get(node.input[need.place])
            missing = need.missing(shape)
            what = f"input {need.place} of {_called(node)}"
            if missing is not None:
                raise UnreadableError(f"{what} {missing}", node)
            if not need._replace(elements=False).is_met(shape):
                text = f"onnxwright: {what} has fewer than {_axes(need.rank)}"
                nodes += _guards(node, need.place, need.rank, text, names)
            if not need._replace(rank=0).is_met(shape):
                text = f"onnxwright: {what} {_NO_ELEMENTS}"
                nodes += _guards(node, need.place, 0, text, names)
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)


def _guards(
    node: onnx.NodeProto, n: int, rank: int, text: str, names: _Names
) -> list[onnx.NodeProto]:
    """Nodes that give an input unchanged, and fail where it has too few axes; 0: no elements."""
    place, shape, length, more, same, value = (names.new() for _ in range(6))
    source = node.input[n]
    node.input[n] = value
    make = helper.make_node

    def numbers(name: str, number: int) -> onnx.NodeProto:
        return make("Constant", [], [name], value=helper.make_tensor("", 7, [1], [number]))

    if not rank:
        size, none, index = (names.new() for _ in range(3))
        read = [
            numbers(place, 0),
            make("Size", [source], [size]),
            make("Equal", [size, place], [none]),
            make("Cast", [none], [index], to=7),
            make("Gather", [place, index], [length], name=text),
        ]
    else:
        read = [
            numbers(place, rank - 1),
            make("Gather", [shape, place], [length], name=text),
        ]
    return [
        make("Shape", [source], [shape]),
        *read,
        # The shape again, so that nothing may run before the length is read.
        make("Add", [shape, length], [more]),
        make("Sub", [more, length], [same]),
        make("Reshape", [source, same], [value]),
    ]
