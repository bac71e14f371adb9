"""Bytes and files as models: the first step of the loader, which checks what this gives."""

from __future__ import annotations

import os
import stat
import warnings
from pathlib import Path
from typing import Any, NoReturn

import onnx
from onnx import serialization

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import loading as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.text import clean
from onnxwright.errors import ModelNotFoundError
from onnxwright.ir.file_signatures import recognized
from onnxwright.ir.validation import Damage
from onnxwright.ir.validation.model import Model

LIMIT = (1 << 31) - 1
"""The most bytes that protobuf reads or writes as one message."""

_SHOWN = 60
"""How much of a text that is not a path a message shows."""

_MESSAGES: dict[str, type[messages.DamagedModel]] = {
    "structure": messages.InvalidModel,
    "data": messages.InvalidTensor,
    "external": messages.ExternalDataNotReadable,
    "limit": messages.ModelTooLarge,
}


def raise_damage(damage: Damage) -> NoReturn:
    """Raise the user's error for a fault of a model.

    Raises:
        ModelError: always.
    """
    kind = _MESSAGES[damage.kind]
    fail(kind(where=damage.where, what=damage.what, advice=damage.advice))


def parsed(data: bytes, label: str, form: str = "protobuf") -> onnx.ModelProto:
    """Bytes as a model, not checked yet.

    Args:
        form: "protobuf", "textproto", "json" or "onnxtxt".

    Raises:
        ModelError: they are not a model (OW741).
    """
    if not data:
        unreadable(label, "it is empty")
    try:
        with warnings.catch_warnings():
            # The text form is what the user chose; that it is young is for onnx's own pages.
            warnings.filterwarnings("ignore", "The onnxtxt format is experimental")
            proto = serialization.registry.get(form).deserialize_proto(data, onnx.ModelProto())
    except Exception as error:  # noqa: BLE001 - each parser has its own
        unreadable(label, _why(error, data), error)
    if not proto.HasField("graph"):
        unreadable(label, recognized(data) or "it has no graph")
    return proto


def serialized(proto: Model) -> bytes:
    """A model as bytes.

    Raises:
        ModelError: it has more than protobuf writes as one message (OW751), or text that is not
            UTF-8.
    """
    try:
        data: bytes = proto.SerializeToString()
        return data
    except Exception as error:  # noqa: BLE001 - protobuf's own EncodeError, or a ValueError
        what = f"it cannot be written as one message: {first_line(error)}"
        raise_damage(Damage("limit", "the model", what, "use external data for large tensors"))


def check_path(path: str) -> None:
    """Refuse what is text of another kind where a path is expected.

    Raises:
        ModelNotFoundError: it is an address, or a model as text (OW741).
    """
    if os.path.lexists(path):
        return
    label = f"'{clean(path)[:_SHOWN]}'"
    if "://" in path:
        _missing(label, "it is an address: download the file, and give the path of it")
    if "\n" in path or recognized(path.encode(errors="replace")):
        _missing(label, "it is text, not a path: `onnx.parser.parse_model(text)` reads a model")


def form_of(path: Path) -> str:
    """The form of a model's file by its ending: "protobuf", "textproto", "json" or "onnxtxt".

    Example:
        >>> form_of(Path("m.onnx")), form_of(Path("m.json")), form_of(Path("m"))
        ('protobuf', 'json', 'protobuf')
    """
    return serialization.registry.get_format_from_file_extension(path.suffix) or "protobuf"


def read_file(path: Path) -> onnx.ModelProto:
    """A file as a model, not checked yet.

    Args:
        path: the file; its form is that of its ending.

    Returns:
        The model; its external data is not read.

    Raises:
        ModelError: it cannot be read (OW741).
        ModelNotFoundError: it does not exist (OW741).
    """
    label = f"'{clean(str(path))}'"
    try:
        facts = path.stat()
        if stat.S_ISDIR(facts.st_mode):
            unreadable(label, "it is a folder, not a file")
        if not (stat.S_ISREG(facts.st_mode) or stat.S_ISFIFO(facts.st_mode)):
            unreadable(label, "it is a device or a socket, not a file")
        if facts.st_size > LIMIT:
            unreadable(
                label,
                f"it has {facts.st_size / 1e9:.1f} GB, and protobuf reads no more than 2 GB; save "
                "the model with its weights as external data",
            )
        with path.open("rb") as file:
            # A count makes room for as many bytes at once, whatever the file holds.
            data = file.read() if stat.S_ISREG(facts.st_mode) else file.read(LIMIT + 1)
    except FileNotFoundError as error:
        _missing(label, "the file does not exist", error)
    except (OSError, ValueError) as error:
        if hasattr(error, "diagnostics"):
            raise
        unreadable(label, getattr(error, "strerror", None) or str(error), error)
    if len(data) > LIMIT:
        unreadable(label, "it has more than 2 GB, which protobuf does not read")
    return parsed(data, label, form_of(path))


def read_stream(stream: Any) -> onnx.ModelProto:
    """A file that is open in binary mode as a model, not checked yet.

    Raises:
        ModelError: it cannot be read (OW741).
    """
    try:
        data = stream.read(LIMIT + 1)
    except (OSError, ValueError) as error:  # closed, or opened for writing
        unreadable("the given file", first_line(error), error)
    if not isinstance(data, bytes):
        unreadable("the given file", "it was opened as text; open it in binary mode ('rb')")
    if len(data) > LIMIT:
        unreadable("the given file", "it has more than 2 GB, which protobuf does not read")
    return parsed(data, "the given file")


def _why(error: BaseException, data: bytes) -> str:
    """Why bytes are not a model; protobuf's own message does not help."""
    if type(error).__name__ == "DecodeError":
        damaged = f"its {len(data):,} bytes are damaged, cut short or something else"
        return recognized(data) or damaged
    return first_line(error)


def first_line(error: BaseException) -> str:
    """The first line of what an error says, printable and cut short."""
    return clean((str(error).strip() or type(error).__name__).splitlines()[0])[:300]


def _missing(label: str, reason: str, error: BaseException | None = None) -> NoReturn:
    """Raise the user's error for a file that does not exist."""
    message = messages.ModelNotReadable(path=label, reason=reason, span=user_span())
    raise ModelNotFoundError(message) from error


def unreadable(label: str, reason: str, error: BaseException | None = None) -> NoReturn:
    """Raise the user's error for what cannot be read as a model.

    Raises:
        ModelError: always (OW741).
    """
    message = messages.ModelNotReadable(path=label, reason=reason, span=user_span())
    raise message.error(message) from error
