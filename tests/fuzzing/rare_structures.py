# ruff: noqa: S311 - nothing is secret here
"""Structured changes of what few models have: devices, training, overloads, defaults, captures."""

from __future__ import annotations

import random
from typing import Any

import onnx
from onnx import AttributeProto, TensorProto, helper

_TEXTS = ("", "x", "y", "w", "é", "\u202e", "a b", "1" * 200)
_NUMBERS = (0, 1, 2, -1, 7, 1 << 40)


def devices(rng: random.Random, model: onnx.ModelProto) -> None:
    """Device configurations of the model and of a node; they fit each other or not."""
    if rng.random() < 0.7:
        entry = model.configuration.add(num_devices=rng.choice((0, 1, 2, -1)))
        entry.name = rng.choice(("two", *_TEXTS))
        entry.device.extend(rng.choices(_TEXTS, k=rng.randrange(3)))
    if model.graph.node:
        node = rng.choice(model.graph.node)
        given = node.device_configurations.add()
        given.configuration_id = rng.choice(("two", "other", ""))
        if rng.random() < 0.6:
            spec = given.sharding_spec.add()
            spec.tensor_name = rng.choice([*node.input, *node.output, *_TEXTS])
            spec.device.extend(rng.choices(_NUMBERS, k=rng.randrange(3)))
            dim = spec.sharded_dim.add(axis=rng.choice(_NUMBERS))
            dim.simple_sharding.add(dim_param=rng.choice(_TEXTS), num_shards=rng.choice(_NUMBERS))
    if rng.random() < 0.7:
        model.ir_version = rng.choice((10, 11, 12))


def training(rng: random.Random, model: onnx.ModelProto) -> None:
    """Training information: graphs that hold, read or lack what they name."""
    info = model.training_info.add()
    for graph in (info.initialization, info.algorithm):
        if rng.random() < 0.7:
            graph.CopyFrom(model.graph)
            graph.name = rng.choice(_TEXTS)
    for bindings in (info.initialization_binding, info.update_binding):
        for _ in range(rng.randrange(3)):
            bindings.add(key=rng.choice(_TEXTS), value=rng.choice(_TEXTS))


def annotation(rng: random.Random, model: onnx.ModelProto) -> None:
    """Quantization annotations of values that exist or not, with keys that are known or not."""
    names = [*(v.name for v in model.graph.input), *(n for x in model.graph.node for n in x.output)]
    note = model.graph.quantization_annotation.add(tensor_name=rng.choice([*names, *_TEXTS]))
    for _ in range(rng.randrange(4)):
        note.quant_parameter_tensor_names.add(
            key=rng.choice(("SCALE_TENSOR", "ZERO_POINT_TENSOR", "", "other")),
            value=rng.choice([*names, *_TEXTS]),
        )


def overloads(rng: random.Random, model: onnx.ModelProto) -> None:
    """A function again under another overload, called or not; sometimes with another signature."""
    if not model.functions:
        return
    made = model.functions.add()
    made.CopyFrom(rng.choice(model.functions))
    made.overload = rng.choice(("", "a", "b", "é"))
    if rng.random() < 0.3 and made.output:
        made.output.append(made.output[0])
    if rng.random() < 0.3 and made.input:
        del made.input[-1]
    calls = [n for n in model.graph.node if (n.domain, n.op_type) == (made.domain, made.name)]
    for node in calls:
        if rng.random() < 0.6:
            node.overload = rng.choice((made.overload, "missing"))


def defaults(rng: random.Random, model: onnx.ModelProto) -> None:
    """Attribute parameters of functions with defaults of any kind, read inside or not."""
    if not model.functions:
        return
    function = rng.choice(model.functions)
    name = rng.choice(("k", "alpha", "to", "axis", "value", "body"))
    graph = helper.make_graph([], "g", [], [])
    value: Any = rng.choice((
        1, 1.5, "text", [1, 2], [0.5], ["a"], helper.make_tensor("t", 1, [2], [1.0, 2.0]), graph,
    ))  # fmt: skip
    function.attribute_proto.append(helper.make_attribute(name, value))
    if function.node:
        node = rng.choice(function.node)
        read = node.attribute.add(name=rng.choice((name, "axis", "to")), ref_attr_name=name)
        read.type = rng.choice((function.attribute_proto[-1].type, AttributeProto.INT))
    for node in model.graph.node:
        if node.op_type == function.name and rng.random() < 0.5:
            node.attribute.append(helper.make_attribute(name, rng.choice((1, 1.5, "text"))))


def captures(rng: random.Random, model: onnx.ModelProto) -> None:
    """A body reads a value of the graph around it, or a name of the body hides one."""
    bodies = [a.g for n in model.graph.node for a in n.attribute if a.type == AttributeProto.GRAPH]
    if not bodies:
        return
    body = rng.choice(bodies)
    outer = [v.name for v in (*model.graph.input, *model.graph.initializer)]
    outer += [name for n in model.graph.node for name in n.output if name]
    if not outer:
        return
    name = rng.choice(outer)
    choice = rng.random()
    if choice < 0.4 and body.node:
        node = rng.choice(body.node)
        node.input.append(name) if not node.input else node.input.__setitem__(0, name)
    elif choice < 0.6:
        body.input.append(helper.make_tensor_value_info(name, 1, None))
    elif choice < 0.8:
        body.initializer.append(helper.make_tensor(name, TensorProto.FLOAT, [1], [2.0]))
    elif body.output:
        body.output[0].name = name
    else:
        body.node.append(helper.make_node("Identity", [name], [f"{name}_inside"]))


def inner_types(rng: random.Random, model: onnx.ModelProto) -> None:
    """Types declared for values inside functions and graphs, true or false."""
    holders: list[Any] = [model.graph, *model.functions]
    holder = rng.choice(holders)
    names = [name for n in holder.node for name in (*n.output, *n.input) if name]
    if names:
        kind = rng.choice((1, 6, 7, 8, 9, 10, 16, 22))
        shape = rng.choice((None, [], ["N"], [2], [-1], [2, 3]))
        made = helper.make_tensor_value_info(rng.choice(names), kind, shape)
        if rng.random() < 0.2:
            made.type.CopyFrom(helper.make_sequence_type_proto(made.type))
        holder.value_info.append(made)


RARE = (devices, training, annotation, overloads, defaults, captures, captures, inner_types)
