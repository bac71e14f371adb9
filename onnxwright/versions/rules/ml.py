"""Versions of the operators of ai.onnx.ml."""

from __future__ import annotations

from typing import Any

from onnxwright.semantics.ops import Ops
from onnxwright.types.dtypes import DType
from onnxwright.versions.call import Call, Refused, down, up

_ML = "ai.onnx.ml"


@up(2, "LabelEncoder", domain=_ML)
def classes_become_keys_and_values(op: Ops, call: Call) -> Any:
    """The list of classes is a table in one direction, which depends on the input's type.

    Source: ai.onnx.ml LabelEncoder 1 and 2.
    """
    classes = list(call.attr("classes_strings", ()))
    numbers = list(range(len(classes)))
    if call.dtype(0) is DType.STRING:
        table = {"keys_strings": classes, "values_int64s": numbers,
                 "default_int64": call.attr("default_int64", -1)}  # fmt: skip
    else:
        table = {"keys_int64s": numbers, "values_strings": classes,
                 "default_string": call.attr("default_string", "_Unused")}  # fmt: skip
    return call.same(op, None, table)


@down(2, "LabelEncoder", domain=_ML)
def keys_and_values_become_classes(op: Ops, call: Call) -> Any:
    """A table between strings and 0 .. n-1 is a list of classes.

    Source: ai.onnx.ml LabelEncoder 1 and 2.
    """
    attributes: dict[str, Any] = {}
    if call.has_attr("keys_strings") and call.has_attr("values_int64s"):
        pairs = dict(zip(call.attr("values_int64s"), call.attr("keys_strings"), strict=True))
        attributes["default_int64"] = call.attr("default_int64", -1)
    elif call.has_attr("keys_int64s") and call.has_attr("values_strings"):
        pairs = dict(zip(call.attr("keys_int64s"), call.attr("values_strings"), strict=True))
        attributes["default_string"] = call.attr("default_string", "_Unused")
    else:
        raise Refused("version 1 maps only between strings and whole numbers")
    if sorted(pairs) != list(range(len(pairs))):
        raise Refused("version 1 numbers its classes 0, 1, 2, ...")
    attributes["classes_strings"] = [pairs[n] for n in range(len(pairs))]
    return call.same(op, None, attributes)
