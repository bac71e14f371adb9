"""`assert_onnx_proto_equal(a, b)`: two protos have the same fields, names of values included."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

# Lists whose order says nothing, by the name of the field, and what one entry is known by.
_UNORDERED: dict[str, Callable[[Any], Any]] = {
    "opset_import": lambda entry: entry.domain,
    "value_info": lambda entry: entry.name,
    "functions": lambda entry: (entry.domain, entry.name, entry.overload),
}
_SHOWN = 60


def assert_onnx_proto_equal(
    actual: Any, expected: Any, ignore_initializer_value_proto: bool = False
) -> None:
    """Assert that two protos of ONNX hold the same in every field.

    A field that is not set is equal to one that holds its default. The order of `opset_import`,
    `value_info` and `functions` does not matter. For the same model under other names of its
    intermediate values there is `assert_isomorphic`.

    Args:
        actual, expected: a ModelProto, a GraphProto, a NodeProto or any other of one kind.
        ignore_initializer_value_proto: types of initializers that only `actual` has in
            `value_info` do not matter.

    Raises:
        AssertionError: they differ; the message has the path of each field that does.
        TypeError: one of the two is not a proto.

    Source:
        onnxscript.testing.assert_onnx_proto_equal; onnx.proto.

    Example:
        >>> import onnx
        >>> a = onnx.helper.make_node("Relu", ["x"], ["y"])
        >>> b = onnx.helper.make_node("Relu", ["x"], ["z"])
        >>> assert_onnx_proto_equal(a, a)
        >>> assert_onnx_proto_equal(a, b)
        Traceback (most recent call last):
            ...
        AssertionError: the protos differ:
          output[0]: 'y' != 'z'
    """
    for value in (actual, expected):
        if not _is_proto(value):
            kind = type(value).__name__
            raise TypeError(f"a proto of ONNX is compared, not an object of type {kind}")
    differences = list(_differences(actual, expected, "", ignore_initializer_value_proto))
    if differences:
        raise AssertionError("\n  ".join(["the protos differ:", *differences]))


def _differences(a: Any, b: Any, path: str, lenient: bool) -> Iterator[str]:
    """The fields in which two values differ, as text."""
    if type(a) is not type(b):
        yield f"{path or 'they'}: {type(a).__name__} != {type(b).__name__}"
    elif _is_proto(a):
        names = {field.name: None for field, _ in (*a.ListFields(), *b.ListFields())}
        for name in sorted(names):
            inner = f"{path}.{name}" if path else name
            left, right = getattr(a, name), getattr(b, name)
            if name in _UNORDERED:
                extra = {tensor.name for tensor in a.initializer} if _has_types(a, lenient) else ()
                yield from _unordered(left, right, inner, _UNORDERED[name], lenient, extra)
            elif _is_list(left):
                yield from _ordered(left, right, inner, lenient)
            else:
                yield from _differences(left, right, inner, lenient)
    elif a != b and not (isinstance(a, float) and math.isnan(a) and math.isnan(b)):
        yield f"{path}: {_shown(a)} != {_shown(b)}"


def _is_proto(value: Any) -> bool:
    return hasattr(type(value), "DESCRIPTOR")


def _has_types(proto: Any, lenient: bool) -> bool:
    return lenient and "initializer" in proto.DESCRIPTOR.fields_by_name


def _is_list(value: Any) -> bool:
    return not isinstance(value, (str, bytes)) and isinstance(value, Sequence)


def _ordered(a: Sequence[Any], b: Sequence[Any], path: str, lenient: bool) -> Iterator[str]:
    for n, (left, right) in enumerate(zip(a, b, strict=False)):
        yield from _differences(left, right, f"{path}[{n}]", lenient)
    if len(a) != len(b):
        yield f"{path}: {len(a)} entries != {len(b)} entries"


def _unordered(
    a: Sequence[Any],
    b: Sequence[Any],
    path: str,
    key: Callable[[Any], Any],
    lenient: bool,
    may_be_extra: Any,
) -> Iterator[str]:
    """Differences of lists whose entries are known by a key."""
    left, right = ({key(entry): entry for entry in entries} for entries in (a, b))
    for name in {**left, **right}:
        inner = f"{path}[{name!r}]"
        if name not in right:
            if path.rpartition(".")[2] != "value_info" or name not in may_be_extra:
                yield f"{inner}: only in the actual proto"
        elif name not in left:
            yield f"{inner}: only in the expected proto"
        else:
            yield from _differences(left[name], right[name], inner, lenient)
    for entries, names, which in ((a, left, "actual"), (b, right, "expected")):
        if len(entries) != len(names):
            yield f"{path}: an entry is twice in the {which} proto"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
