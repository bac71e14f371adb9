# ruff: noqa: S311 - nothing is secret here
"""Damage to models: fields of any message changed, and bytes of the file flipped or cut."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import onnx
from google.protobuf.descriptor import FieldDescriptor
from onnx import helper, numpy_helper, parser

_HEAD = '<ir_version: 10, opset_import: ["" : 18, "f" : 1]>'
_MODELS = (
    "g (float[N] x) => (float[N] y) { h = Neg(x) y = Exp(h) }",
    (
        "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, int64[1] k = {0}>"
        " { a = Add(x, w) s = Unsqueeze(a, k) y = Squeeze(s, k) }"
    ),
    (
        "g (float[N] x) => (float[N] y) { y = f.twice(x) }"
        '<domain: "f", opset_import: ["" : 18, "f" : 1]> twice (a) => (c)'
        " { b = f.one(a) c = f.one(b) }"
        '<domain: "f", opset_import: ["" : 18]> one <k = 2> (a) => (c)'
        " { b = Cast<to = 1>(a) c = Relu(b) }"
    ),
    (
        "g (float[N] x) => (float[N] y) { c = Constant<value_int = 1>() b = Cast<to = 9>(c)"
        " y = If(b) <then_branch = t () => (float[N] p) { p = Relu(x) },"
        " else_branch = e () => (float[N] q) { q = Neg(x) }> }"
    ),
    (
        "g (float[N] x) => (float[N] y) { n = Constant<value_int = 3>()"
        " c = Constant<value = bool {1}>() y = Loop(n, c, x)"
        " <body = b (int64 i, bool k, float[N] v) => (bool m, float[N] r)"
        " { m = Identity(k) r = Neg(v) }> }"
    ),
    (
        "g (float[2] x) => (float[M] y) { s = SequenceConstruct(x, x)"
        " y = ConcatFromSequence<axis = 0>(s) }"
    ),
    (
        'g (float[2] x) => (float[2] y) { c = Constant<value_strings = ["a", "b"]>()'
        " y = Relu(x) z = Identity(c) }"
    ),
    (
        "g (float[1,1,4,4] x) => (float[a,b,c,d] y) <float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}>"
        " { y = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x, w) }"
    ),
)
_STRINGS = ("", "x", "y", "w", "a", "\x1b[31m", "\u202e", "é", "../x", "/etc/passwd", "f", "Relu",
            "If", "Loop", "ai.onnx", "N", "1" * 300, "{}", "%s", "{0}\n", "ai.onnx.ml")  # fmt: skip
_INTS = (0, 1, -1, 2, 7, 8, 16, 77, 255, 1 << 31, -(1 << 31), (1 << 63) - 1, -(1 << 63), 1 << 40)


@cache
def sound_models() -> tuple[onnx.ModelProto, ...]:
    """The models that are damaged."""
    made = [parser.parse_model(f"{_HEAD} {text}") for text in _MODELS]
    for n, model in enumerate(made):
        model.metadata_props.add(key="k", value="v")
        for node in model.graph.node:
            node.name = f"n{n}"
            node.metadata_props.add(key="onnxwright.origin", value="model.py:1:1-1:5")
    first = made[1].graph
    for kind in (np.int8, np.float16, np.bool_, np.complex64, np.uint64):
        first.initializer.append(numpy_helper.from_array(np.ones((2, 2), kind), kind.__name__))
    first.initializer.append(helper.make_tensor("strings", 8, [2], [b"a", b"b"]))
    first.initializer.append(helper.make_tensor("small", onnx.TensorProto.INT4, [3], [1, 2, 3]))
    sparse = first.sparse_initializer.add(dims=[4])
    sparse.values.CopyFrom(helper.make_tensor("sparse", 1, [2], [1.0, 2.0]))
    sparse.indices.CopyFrom(helper.make_tensor("i", 7, [2], [0, 3]))
    outside = first.initializer.add(name="outside", data_type=1, dims=[2], data_location=1)
    outside.external_data.add(key="location", value="outside.bin")
    first.value_info.append(helper.make_tensor_sequence_value_info("seq", 1, [2]))
    note = first.quantization_annotation.add(tensor_name="w")
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="w")
    return tuple(made)


def mutated(rng: random.Random) -> onnx.ModelProto:
    """A model with one to four fields damaged."""
    made = onnx.ModelProto()
    made.CopyFrom(rng.choice(sound_models()))
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        messages = list(_messages(made))
        _damage(rng, rng.choice(messages), messages)
    return made


def _messages(message: Any) -> Iterator[Any]:
    yield message
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in value if _repeated(message, field) else (value,):
                yield from _messages(inner)


def _repeated(message: Any, field: Any) -> bool:
    return hasattr(getattr(message, field.name), "append") or hasattr(
        getattr(message, field.name), "add"
    )


def _damage(rng: random.Random, message: Any, messages: list[Any]) -> None:
    held = [f for f, _ in message.ListFields()]
    field = rng.choice(held if held and rng.random() < 0.7 else list(message.DESCRIPTOR.fields))
    if rng.random() < 0.15:
        message.ClearField(field.name)
    elif field.type == FieldDescriptor.TYPE_MESSAGE:
        _damage_messages(rng, message, field, messages)
    elif _repeated(message, field):
        values = getattr(message, field.name)
        choice = rng.random()
        if choice < 0.3 and values:
            values[rng.randrange(len(values))] = _value(rng, field)
        elif choice < 0.5 and values:
            del values[rng.randrange(len(values))]
        elif choice < 0.6 and values:
            values.extend(list(values))
        else:
            values.append(_value(rng, field))
    else:
        setattr(message, field.name, _value(rng, field))


def _damage_messages(rng: random.Random, message: Any, field: Any, messages: list[Any]) -> None:
    same = [m for m in messages if m.DESCRIPTOR is field.message_type]
    source = rng.choice(same) if same and rng.random() < 0.8 else None
    if not _repeated(message, field):
        target = getattr(message, field.name)
        if source is not None and source is not target:
            copy = type(source)()
            copy.CopyFrom(source)
            target.CopyFrom(copy)
        else:
            target.SetInParent()
        return
    values = getattr(message, field.name)
    choice = rng.random()
    if choice < 0.3 and len(values):
        del values[rng.randrange(len(values))]
    elif choice < 0.5 and len(values) > 1:
        one, two = rng.sample(range(len(values)), 2)
        copy = type(values[one])()
        copy.CopyFrom(values[one])
        values[one].CopyFrom(values[two])
        values[two].CopyFrom(copy)
    elif source is not None:
        copy = type(source)()
        copy.CopyFrom(source)
        values.append(copy)
    else:
        values.add()


def _value(rng: random.Random, field: Any) -> Any:
    if field.type == FieldDescriptor.TYPE_STRING:
        return rng.choice(_STRINGS)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return rng.choice((b"", b"\xff\xfe", b"1234", bytes(8), b"\x00" * 64))
    if field.type == FieldDescriptor.TYPE_ENUM:
        return rng.choice(list(field.enum_type.values_by_number))
    if field.type in (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE):
        return rng.choice((0.0, -1.5, float("nan"), float("inf"), 1e30))
    wide = field.type in (FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_UINT64)
    value = rng.choice(_INTS)
    if field.type == FieldDescriptor.TYPE_UINT64:
        return abs(value)
    return value if wide else max(min(value, (1 << 31) - 1), -(1 << 31))


def damaged_bytes(rng: random.Random) -> bytes:
    """The bytes of a model, some of them changed."""
    data = bytearray(rng.choice(sound_models()).SerializeToString())
    for _ in range(rng.choice((1, 1, 2, 5))):
        at, choice = rng.randrange(len(data) or 1), rng.random()
        if choice < 0.5 and data:
            data[at] ^= 1 << rng.randrange(8)
        elif choice < 0.65:
            del data[at:]
        elif choice < 0.8:
            del data[at : at + rng.randrange(1, 9)]
        elif choice < 0.9:
            data[at:at] = rng.randbytes(rng.randrange(1, 9))
        else:
            data[at:at] = data[: rng.randrange(1, 64)]
    return bytes(data)
