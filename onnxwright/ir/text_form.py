"""Models in ONNX's text form (`.onnxtxt`), refused where the text is not the model.

The printer of some versions of onnx writes six digits of a number, or element types that its parser
does not know; so each text is read back.  Descriptions and metadata of nodes and values are not in
the text form, and are not compared.
"""

from __future__ import annotations

import struct
import warnings
from typing import Any, NoReturn

import onnx
from onnx import numpy_helper, serialization

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import loading as messages
from onnxwright.diagnostics.text import clean

# What the text form has of the model alone: words about a part, which change no result.
_WORDS = {"doc_string", "metadata_props"}
_SHOWN = 200


def as_text(proto: onnx.ModelProto) -> bytes:
    """A model in ONNX's text form.

    Raises:
        ModelError: the text would be another model (OW754).

    Example:
        >>> model = onnx.parser.parse_model(
        ...     "<ir_version: 10> g (float x) => (float y) {y = Relu(x)}"
        ... )
        >>> b"Relu" in as_text(model)
        True
    """
    form = serialization.registry.get("onnxtxt")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The onnxtxt format is experimental")
            text: bytes | str = form.serialize_proto(proto)
            read = form.deserialize_proto(text, onnx.ModelProto())
    except Exception as error:  # noqa: BLE001 - the printer and the parser have their own
        _refuse("the model", f"its text cannot be read back: {_words_of(error)}", error)
    different = _difference(proto, read, "the model")
    if different is not None:
        _refuse(different, "what is read back from the text differs")
    return text.encode() if isinstance(text, str) else text


def _refuse(where: str, what: str, error: BaseException | None = None) -> NoReturn:
    """Raise the user's error for a model that the text form does not hold."""
    message = messages.TextNotExact(where=where, what=what, span=user_span())
    raise message.error(message) from error


def _words_of(error: BaseException) -> str:
    """What onnx says, on one line; its parser's errors are bytes."""
    words = error.args[0] if error.args else ""
    if isinstance(words, bytes):
        words = words.decode(errors="replace")
    return clean(" ".join(str(words).split()) or type(error).__name__)[:_SHOWN]


def _difference(written: Any, read: Any, where: str) -> str | None:
    """The first part of a message that is not the same bit by bit in another one; None: no part."""
    where = _named(written, where)
    if isinstance(written, onnx.TensorProto) and not written.external_data:
        return None if _data(written) == _data(read) else where
    for field in written.DESCRIPTOR.fields:
        if field.name in _WORDS and not isinstance(written, onnx.ModelProto):
            continue
        ours, theirs = _values(written, field), _values(read, field)
        if len(ours) != len(theirs):
            return f"{where} ({field.name})"
        for one, other in zip(ours, theirs, strict=True):
            if field.message_type:
                difference = _difference(one, other, where)
            else:
                difference = None if _bits(one) == _bits(other) else f"{where} ({field.name})"
            if difference is not None:
                return difference
    return None


def _values(message: Any, field: Any) -> list[Any]:
    """What a field holds; a number or text that is not set is its default."""
    value = getattr(message, field.name)
    if hasattr(value, "append"):
        return list(value)
    if field.message_type or field.containing_oneof:
        return [value] if message.HasField(field.name) else []
    return [value]


def _named(part: Any, where: str) -> str:
    """A part of a model by its kind and name, as far as it has a name."""
    kinds = {
        onnx.TensorProto: "tensor",
        onnx.ValueInfoProto: "value",
        onnx.FunctionProto: "function",
        onnx.AttributeProto: "attribute",
    }
    if isinstance(part, onnx.NodeProto):
        name = part.name or ", ".join(part.output)
        return f"node `{clean(name)}` ({clean(part.op_type)})"
    kind = kinds.get(type(part))
    if kind is None or not part.name:
        return where
    label = f"{kind} `{clean(part.name)}`"
    return f"{label} of {where}" if kind == "attribute" else label


def _bits(value: Any) -> Any:
    """A value such that numbers are equal where their bits are."""
    return struct.pack("<d", value) if isinstance(value, float) else value


def _data(tensor: onnx.TensorProto) -> tuple[Any, ...]:
    """What a tensor holds, however it is stored."""
    kind = tensor.data_type
    if kind == onnx.TensorProto.STRING:
        data: Any = list(tensor.string_data)
    else:
        data = numpy_helper.to_array(tensor).tobytes()
    return kind, list(tensor.dims), data
