# ruff: noqa: S311 - nothing is secret here
"""Structured damage: a model of every kind of node, changed in ways that keep it close to a model.

The models are the node tests of onnx (every operator, sequences, optional values, bodies, strings,
quantized types) and the handwritten ones; the changes rewire, retype, move into bodies and
functions, store weights sparse or outside, and give sizes, attributes and metadata odd values.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import onnx
from onnx import AttributeProto, TensorProto, helper

from tests.fuzzing.damage import mutated, sound_models
from tests.fuzzing.rare_structures import RARE
from tests.harness.node_cases import node_cases

Change = Callable[[random.Random, onnx.ModelProto], None]

_NAMES = (
    "",
    "x",
    "y",
    "N",
    "batch size",
    "2*N",
    "N//0",
    "N + -1",
    "\u202e",
    "a.b",
    "if",
    "op",
    "é",
    "-1",
)
_TYPES = tuple(TensorProto.DataType.values())
_SIZES = (0, 1, 2, 3, 7, -1, 1 << 20, 1 << 40, (1 << 63) - 1)
_OPERATORS = ("Add", "Relu", "Reshape", "If", "Loop", "Scan", "Cast", "Concat", "Split", "Shape",
              "QuantizeLinear", "DequantizeLinear", "SequenceAt", "SequenceMap", "Optional",
              "OptionalGetElement", "Constant", "ConstantOfShape", "Identity", "Where", "MatMul",
              "Softmax", "Gather", "Resize", "LSTM", "Attention", "Einsum", "Nonsense")  # fmt: skip


def structured(rng: random.Random) -> onnx.ModelProto:
    """A model with one to five structured changes.

    Args:
        rng: what draws them.
    """
    made = onnx.ModelProto()
    if rng.random() < 0.75:
        made.CopyFrom(rng.choice(node_cases()).model)
    else:
        made.CopyFrom(rng.choice(sound_models()))
    if rng.random() < 0.1:
        made = mutated(rng)
    for _ in range(rng.choice((1, 1, 2, 2, 3, 5))):
        rng.choice(CHANGES)(rng, made)
    return made


def rare(rng: random.Random) -> onnx.ModelProto:
    """A model with changes of what few models have, and sometimes one of the common ones.

    Args:
        rng: what draws them.
    """
    made = onnx.ModelProto()
    made.CopyFrom(rng.choice(node_cases()).model)
    if rng.random() < 0.5:
        made.CopyFrom(rng.choice(sound_models()))
    if not made.functions and rng.random() < 0.5:
        _into_function(rng, made)
    for _ in range(rng.choice((1, 1, 2, 3))):
        rng.choice(RARE)(rng, made)
    if rng.random() < 0.3:
        rng.choice(CHANGES)(rng, made)
    return made


def names_of(model: onnx.ModelProto) -> list[str]:
    """Names of values of the main graph, in order."""
    found = [v.name for v in (*model.graph.input, *model.graph.initializer)]
    found += [name for node in model.graph.node for name in node.output]
    return list(dict.fromkeys(filter(None, found))) or ["x"]


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs) if attribute.type in (5, 10) else ():
                yield from _graphs(body)


def _nodes(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    held = [node for graph in _graphs(model.graph) for node in graph.node]
    return held + [node for function in model.functions for node in function.node]


def _names(model: onnx.ModelProto) -> list[str]:
    return [*names_of(model), *(name for node in _nodes(model) for name in node.input)]


def _rewire(rng: random.Random, model: onnx.ModelProto) -> None:
    nodes = [node for node in _nodes(model) if node.input]
    if nodes:
        node = rng.choice(nodes)
        at = rng.randrange(len(node.input))
        node.input[at] = rng.choice([*_names(model), *_NAMES])


def _rename(rng: random.Random, model: onnx.ModelProto) -> None:
    """One name everywhere, or only where it is defined."""
    old, new = rng.choice(_names(model)), rng.choice([*_NAMES, *_names(model)])
    for node in _nodes(model):
        for names in (node.output, node.input) if rng.random() < 0.7 else (node.output,):
            for n, name in enumerate(names):
                if name == old:
                    names[n] = new
    if rng.random() < 0.7:
        for held in (*model.graph.input, *model.graph.output, *model.graph.initializer):
            if held.name == old:
                held.name = new


def _operator(rng: random.Random, model: onnx.ModelProto) -> None:
    nodes = _nodes(model)
    if nodes:
        node = rng.choice(nodes)
        node.op_type = rng.choice([*_OPERATORS, *(n.op_type for n in nodes)])
        if rng.random() < 0.2:
            node.domain = rng.choice(("", "ai.onnx", "ai.onnx.ml", "com.microsoft", "f", "my.own"))


def _order(rng: random.Random, model: onnx.ModelProto) -> None:
    graph = rng.choice(list(_graphs(model.graph)))
    if len(graph.node) > 1:
        one, two = rng.sample(range(len(graph.node)), 2)
        copy = onnx.NodeProto()
        copy.CopyFrom(graph.node[one])
        graph.node[one].CopyFrom(graph.node[two])
        graph.node[two].CopyFrom(copy)


def _double(rng: random.Random, model: onnx.ModelProto) -> None:
    graph = rng.choice(list(_graphs(model.graph)))
    if graph.node:
        copy = graph.node.add()
        copy.CopyFrom(rng.choice(graph.node))
        if rng.random() < 0.7:
            for n, name in enumerate(copy.output):
                copy.output[n] = name and f"{name}_again"


def _drop(rng: random.Random, model: onnx.ModelProto) -> None:
    graph = rng.choice(list(_graphs(model.graph)))
    field = getattr(graph, rng.choice(("node", "input", "output", "initializer", "value_info")))
    if field:
        del field[rng.randrange(len(field))]


def _arity(rng: random.Random, model: onnx.ModelProto) -> None:
    nodes = _nodes(model)
    if nodes:
        node = rng.choice(nodes)
        names = rng.choice((node.input, node.output))
        if names and rng.random() < 0.4:
            del names[-1]
        else:
            names.append(rng.choice([*_names(model), *_NAMES, "more"]))


def _attribute(rng: random.Random, model: onnx.ModelProto) -> None:
    held = [a for node in _nodes(model) for a in node.attribute]
    if not held:
        return
    attribute = rng.choice(held)
    choice = rng.random()
    if choice < 0.3 and attribute.ints:
        attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(_SIZES)
    elif choice < 0.4:
        attribute.ints.extend(rng.choice(_SIZES) for _ in range(rng.randrange(1, 4)))
    elif choice < 0.6:
        attribute.i = rng.choice((*_SIZES, *_TYPES))
    elif choice < 0.7:
        attribute.type = rng.choice(AttributeProto.AttributeType.values())
    elif choice < 0.8:
        attribute.ref_attr_name = rng.choice(("k", "axis", ""))
    elif choice < 0.9:
        attribute.name = rng.choice(("axis", "to", "body", "value", "then_branch", "é", ""))
    else:
        other = AttributeProto()
        other.CopyFrom(rng.choice(held))  # it may hold the attribute, or be in it
        attribute.CopyFrom(other)


def _number_type(rng: random.Random, model: onnx.ModelProto) -> None:
    """An element type: of a weight whose data stay, or of a value."""
    tensors = [t for graph in _graphs(model.graph) for t in graph.initializer]
    tensors += [a.t for node in _nodes(model) for a in node.attribute if a.type == a.TENSOR]
    values = [v.type.tensor_type for graph in _graphs(model.graph)
              for v in (*graph.input, *graph.output, *graph.value_info)
              if v.type.HasField("tensor_type")]  # fmt: skip
    if tensors and rng.random() < 0.4:
        rng.choice(tensors).data_type = rng.choice(_TYPES)
    elif values:
        rng.choice(values).elem_type = rng.choice(_TYPES)


def _value_type(rng: random.Random, model: onnx.ModelProto) -> None:
    """A sequence, an optional, a map or a sparse tensor in place of a tensor, or the reverse."""
    values = [v for graph in _graphs(model.graph) for v in (*graph.input, *graph.output)]
    if not values:
        return
    value, kind = rng.choice(values), rng.choice(_TYPES)
    before = onnx.TypeProto()
    before.CopyFrom(value.type)
    made = rng.choice((
        helper.make_tensor_type_proto(kind, rng.choice((None, [], ["N"], [2, 3]))),
        helper.make_sequence_type_proto(before),
        helper.make_optional_type_proto(before),
        helper.make_optional_type_proto(helper.make_sequence_type_proto(before)),
        helper.make_map_type_proto(TensorProto.INT64, before),
        helper.make_sparse_tensor_type_proto(kind, [2]),
        onnx.TypeProto(),
    ))  # fmt: skip
    value.type.CopyFrom(made)


def _shape(rng: random.Random, model: onnx.ModelProto) -> None:
    shapes = [v.type.tensor_type.shape for graph in _graphs(model.graph)
              for v in (*graph.input, *graph.output, *graph.value_info)
              if v.type.HasField("tensor_type")]  # fmt: skip
    if not shapes:
        return
    shape = rng.choice(shapes)
    if rng.random() < 0.3 or not shape.dim:
        shape.dim.add(dim_param=rng.choice(_NAMES))
    elif rng.random() < 0.2:
        del shape.dim[-1]
    elif rng.random() < 0.5:
        rng.choice(shape.dim).dim_param = rng.choice(_NAMES)
    else:
        rng.choice(shape.dim).dim_value = rng.choice(_SIZES)


def _weight(rng: random.Random, model: onnx.ModelProto) -> None:
    """A weight with other sizes, sparse, outside of the file, or given for an input."""
    tensors = [t for graph in _graphs(model.graph) for t in graph.initializer]
    choice = rng.random()
    if choice < 0.2 or not tensors:
        name = rng.choice(_names(model))
        count = rng.randrange(4)
        kind = rng.choice((1, 6, 7, 9, 10, 11))
        model.graph.initializer.append(helper.make_tensor(name, kind, [count], [1] * count))
        return
    tensor = rng.choice(tensors)
    if choice < 0.45:
        tensor.dims[:] = [rng.choice(_SIZES) for _ in range(rng.randrange(4))]
    elif choice < 0.7:
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (
            ("location", rng.choice(("outside.bin", "../outside.bin", "", "/dev/zero", "gone"))),
            ("offset", rng.choice(("0", "4", "-1", "1e9", "9" * 30))),
            ("length", rng.choice(("8", "0", "16", "-8", "x"))),
        ):
            if rng.random() < 0.8:
                tensor.external_data.add(key=key, value=value)
    else:
        sparse = model.graph.sparse_initializer.add(dims=tensor.dims)
        sparse.values.CopyFrom(tensor)
        count = rng.randrange(4)
        places = [rng.choice((0, 1, 2, -1, 1 << 40)) for _ in range(count)]
        sparse.indices.CopyFrom(helper.make_tensor("", 7, [count], places))
        if rng.random() < 0.6:
            next(g for g in _graphs(model.graph) if tensor in g.initializer).initializer.remove(
                tensor
            )


def _into_function(rng: random.Random, model: onnx.ModelProto) -> None:
    """A node becomes the call of a function that holds it; some calls fit, some do not."""
    if not model.graph.node:
        return
    node = rng.choice(model.graph.node)
    inner = onnx.NodeProto()
    inner.CopyFrom(node)
    function = model.functions.add(name=rng.choice(("held", "twice", node.op_type)), domain="f")
    function.opset_import.extend(model.opset_import)
    function.input.extend(filter(None, dict.fromkeys(node.input)))
    function.output.extend(filter(None, node.output))
    function.overload = rng.choice(("", "", "", "other"))
    for attribute in list(inner.attribute)[:1]:
        if rng.random() < 0.5:
            function.attribute.append(attribute.name)
            kind, name = attribute.type, attribute.name
            attribute.Clear()
            attribute.name, attribute.type, attribute.ref_attr_name = name, kind, name
    if rng.random() < 0.15:
        inner.op_type, inner.domain = function.name, "f"
    function.node.append(inner)
    node.op_type, node.domain = function.name, "f"
    if all(o.domain != "f" for o in model.opset_import):
        model.opset_import.add(domain="f", version=1)


def _into_body(rng: random.Random, model: onnx.ModelProto) -> None:
    """A node moves into the branches of an If or the body of a Loop."""
    if not model.graph.node:
        return
    node = rng.choice(model.graph.node)
    inner = onnx.NodeProto()
    inner.CopyFrom(node)
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    body = helper.make_graph([inner], "body", [], outputs)
    node.ClearField("attribute")
    node.domain = ""
    del node.input[:]
    if rng.random() < 0.6:
        node.op_type = "If"
        node.input.append(rng.choice(_names(model)))
        node.attribute.append(helper.make_attribute("then_branch", body))
        node.attribute.append(helper.make_attribute("else_branch", body))
        return
    node.op_type = "Loop"
    carried = rng.choice(_names(model))
    node.input.extend([rng.choice((carried, "")), "", carried])
    body.input.append(helper.make_tensor_value_info("i", 7, []))
    body.input.append(helper.make_tensor_value_info("go", 9, []))
    body.input.append(helper.make_empty_tensor_value_info("v"))
    body.output.insert(0, helper.make_tensor_value_info("go", 9, []))
    node.attribute.append(helper.make_attribute("body", body))


def _opset(rng: random.Random, model: onnx.ModelProto) -> None:
    imports = rng.choice([model.opset_import, *(f.opset_import for f in model.functions)])
    choice = rng.random()
    if imports and choice < 0.6:
        rng.choice(imports).version = rng.choice((0, 1, 7, 13, 18, 21, 23, 26, 28, 99, -1))
    elif imports and choice < 0.75:
        del imports[rng.randrange(len(imports))]
    else:
        imports.add(
            domain=rng.choice(("", "ai.onnx", "f", "ai.onnx.ml")), version=rng.choice((1, 18))
        )
    if rng.random() < 0.2:
        model.ir_version = rng.choice((0, 1, 3, 4, 8, 10, 13, 99))


def _metadata(rng: random.Random, model: onnx.ModelProto) -> None:
    keys = ("onnxwright.origin", "pkg.torch.onnx.stack_trace", "namespace", "k", "", "ranges")
    values = (
        "/etc/passwd:1:1-1:9",
        "m.py:0:0",
        "[",
        '{"a": 1}',
        "\x1b[2J",
        "\u202e",
        "9" * 5000,
        "",
    )
    where: list[Any] = [model, model.graph, *model.functions, *_nodes(model), *model.graph.input,
                        *model.graph.initializer]  # fmt: skip
    chosen = rng.choice(where)
    if rng.random() < 0.5:
        chosen.doc_string = rng.choice(values)
    chosen.metadata_props.add(key=rng.choice(keys), value=rng.choice(values))


def _quantized(rng: random.Random, model: onnx.ModelProto) -> None:
    """A value goes through QuantizeLinear and DequantizeLinear of any type."""
    name = rng.choice(names_of(model))
    kind = rng.choice((2, 3, 4, 5, 17, 18, 21, 22, 23, 25, 1))
    scale = rng.choice(([], [1], [2], [2, 2]))
    count = 2 ** len(scale) if 2 in scale else 1
    model.graph.initializer.append(helper.make_tensor("q_scale", 1, scale, [0.5] * count))
    model.graph.initializer.append(helper.make_tensor("q_zero", kind, scale, [0] * count))
    ways = {"axis": rng.choice((0, 1, -1, 5)), "block_size": rng.choice((0, 0, 2, -1))}
    quantize = helper.make_node("QuantizeLinear", [name, "q_scale", "q_zero"], ["q"], **ways)
    back = helper.make_node("DequantizeLinear", ["q", "q_scale", "q_zero"], ["q_back"], **ways)
    for node in _nodes(model):
        for n, read in enumerate(node.input):
            if read == name:
                node.input[n] = "q_back"
    at = rng.randrange(len(model.graph.node) + 1)
    model.graph.node.insert(at, back)
    model.graph.node.insert(at, quantize)


CHANGES: tuple[Change, ...] = (
    _rewire, _rename, _operator, _order, _double, _drop, _arity, _attribute, _number_type,
    _value_type, _shape, _shape, _weight, _weight, _into_function, _into_body, _opset, _metadata,
    _quantized,
)  # fmt: skip
