"""Models in which ONNX Runtime finds out at run time that a tensor has too few axes.

Some kernels read a length without asking whether there is one, and end the process.  Where the rank
of such an input is not known before the run, nodes before it read that length first: where there is
none, the runtime fails with an error that names the operator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import repeat

import onnx
from onnx import helper, inliner

from onnxwright.ir.model_inference import infer_model
from onnxwright.ir.proto_graphs import nodes_of, subgraphs_of
from onnxwright.ir.validation.damage import quoted
from onnxwright.ir.validation.nodes import plain_attributes, versions_of
from onnxwright.operators import facts

_FIRST_VERSION = 7  # Add broadcasts from this version of the standard opset on
_SMALL = 1024  # bytes of initializers whose values inference may ask for
_NAME = re.compile(r"onnxwright: (input \d+ of .*? has fewer than \d+ (?:axis|axes))")

Ranks = dict[str, int | None]


def with_rank_guards(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model that fails with an error where ONNX Runtime would end the process.

    Args:
        model: a model, checked for the runtime; it stays as it is.

    Returns:
        The model itself where the ranks of all inputs that matter are known; else another one,
        without functions where one of them has such an input.

    Example:
        >>> from onnx import parser
        >>> head = '<ir_version: 10, opset_import: ["" : 17]> g '
        >>> known = parser.parse_model(
        ...     head + "(float[N] x) => (float y) { y = DFT <axis = 0> (x) }"
        ... )
        >>> with_rank_guards(known) is known
        True
        >>> known.graph.input[0].type.tensor_type.ClearField("shape")
        >>> [node.op_type for node in with_rank_guards(known).graph.node]
        ['Constant', 'Shape', 'Gather', 'Add', 'Sub', 'Reshape', 'DFT']
    """
    if versions_of(model).get("", 0) < _FIRST_VERSION:
        return model
    in_functions = any(_least(node) for f in model.functions for node in nodes_of(f.node))
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
    """
    match = _NAME.search(text)
    return None if match is None else match[1]


def _least(node: onnx.NodeProto) -> list[tuple[int, int]]:
    """The inputs that a kernel reads a length of, with the axes that they need."""
    ranks = facts(node.op_type, node.domain).least_ranks
    if callable(ranks):
        ranks = ranks(plain_attributes(node))
    return [
        (n, rank)
        for n, (rank, name) in enumerate(zip(ranks, node.input, strict=False))
        if rank and name
    ]


def _unknown(
    graph: onnx.GraphProto, around: Ranks, typed: onnx.GraphProto | None = None
) -> Iterator[str]:
    """The inputs in a graph and its subgraphs whose ranks matter and are not known.

    Args:
        typed: the same graph with types that were inferred; without it, only those of the inputs
            of the main graph are known, which the runtime checks.
    """
    ranks = _ranks(graph, around, typed)
    for place, node in enumerate(graph.node):
        for n, _ in _least(node):
            if ranks.get(node.input[n]) is None:
                yield node.input[n]
        others = repeat(None) if typed is None else subgraphs_of(typed.node[place])
        for inner, other in zip(subgraphs_of(node), others, strict=False):
            yield from _unknown(inner, ranks, other)


def _ranks(graph: onnx.GraphProto, around: Ranks, typed: onnx.GraphProto | None) -> Ranks:
    """The ranks of the values that a graph reads and makes, None where they are not known."""
    ranks = dict(around)
    ranks.update((name, None) for node in graph.node for name in node.output)
    ranks.update((info.name, None) for info in graph.input)
    infos: Iterable[onnx.ValueInfoProto] = () if around else graph.input
    if typed is not None:
        infos = (*typed.input, *typed.value_info, *typed.output)
    for info in infos:
        tensor = info.type.tensor_type
        if info.type.HasField("tensor_type") and tensor.HasField("shape"):
            ranks[info.name] = len(tensor.shape.dim)
    ranks.update((tensor.name, len(tensor.dims)) for tensor in graph.initializer)
    ranks.update((t.values.name, len(t.dims)) for t in graph.sparse_initializer)
    return ranks


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


def _guard(graph: onnx.GraphProto, around: Ranks, typed: onnx.GraphProto, names: _Names) -> None:
    """Put nodes that read a length before each node that needs it."""
    ranks = _ranks(graph, around, typed)
    nodes: list[onnx.NodeProto] = []
    for node, other in zip(graph.node, typed.node, strict=True):
        for inner, typed_graph in zip(subgraphs_of(node), subgraphs_of(other), strict=True):
            _guard(inner, ranks, typed_graph, names)
        for n, rank in _least(node):
            if ranks.get(node.input[n]) is None:
                where = f"{node.op_type} {quoted(node.name)}" if node.name else node.op_type
                axes = f"{rank} {'axis' if rank == 1 else 'axes'}"
                text = f"onnxwright: input {n} of {where} has fewer than {axes}"
                nodes += _guards(node, n, rank, text, names)
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)


def _guards(
    node: onnx.NodeProto, n: int, rank: int, text: str, names: _Names
) -> list[onnx.NodeProto]:
    """Nodes that give an input of a node unchanged, and fail where it has too few axes."""
    place, shape, length, more, same, value = (names.new() for _ in range(6))
    source = node.input[n]
    node.input[n] = value
    make = helper.make_node
    return [
        make("Constant", [], [place], value=helper.make_tensor("", 7, [1], [rank - 1])),
        make("Shape", [source], [shape]),
        make("Gather", [shape, place], [length], name=text),
        # The shape again, so that nothing may run before the length is read.
        make("Add", [shape, length], [more]),
        make("Sub", [more, length], [same]),
        make("Reshape", [source, same], [value]),
    ]
