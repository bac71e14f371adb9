"""The one loader: every model that comes in goes through `open_model`, which checks it once."""

from __future__ import annotations

import os
import stat
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import onnx
from onnx import serialization

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import loading as messages
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.diagnostics.text import clean
from onnxwright.errors import ModelNotFoundError
from onnxwright.ir.model_protos import located_proto, named_weights
from onnxwright.ir.plain_form import plain_form
from onnxwright.ir.validation import Damage, check_model
from onnxwright.ir.validation.endless import check_endless
from onnxwright.ir.validation.external import Files
from onnxwright.ir.validation.model import Model
from onnxwright.ir.validation.nodes import check_nodes
from onnxwright.ir.validation.order import check_sorted
from onnxwright.ir.validation.running import runnable
from onnxwright.ir.validation.schemas import check_graph_parameters, check_schemas
from onnxwright.ir.validation.tensors import Value, check_tensor, check_value
from onnxwright.ir.validation.untyped import check_types_in_functions

LIMIT = (1 << 31) - 1
"""The most bytes that protobuf reads or writes as one message."""

_MESSAGES: dict[str, type[messages.DamagedModel]] = {
    "structure": messages.InvalidModel,
    "data": messages.InvalidTensor,
    "external": messages.ExternalDataNotReadable,
    "limit": messages.ModelTooLarge,
}
_PROTOS = (onnx.ModelProto, onnx.FunctionProto, onnx.GraphProto)


@dataclass(frozen=True)
class Opened:
    """A model that was read and checked.

    Fields:
        proto: the model, function or graph; external data stays where it is.
        path: its file; None where it did not come from one.
        base: the folder of its external data where the model itself says it.
    """

    proto: Model
    path: Path | None
    base: Path | None = None

    @property
    def folder(self) -> Path:
        """The folder of its external data: that of the file, else the working folder."""
        if self.base is not None:
            return self.base
        return self.path.parent if self.path is not None else Path()


def is_source(source: Any) -> bool:
    """Whether `open_model` takes an object: a path, bytes, a file, a proto or an `onnx_ir` object.

    Example:
        >>> is_source(b""), is_source("model.onnx"), is_source(3)
        (True, True, False)
    """
    plain = (str, os.PathLike, bytes, bytearray, memoryview, *_PROTOS)
    return isinstance(source, plain) or _is_ir(source) or _is_stream(source)


def open_model(
    source: Any, *, external: str = "named", defined: bool = True, runs: bool = False
) -> Opened:
    """Read a model from wherever it is, and check it.

    Args:
        source: a path, bytes, a file object, a ModelProto, FunctionProto or GraphProto, or the same
            of `onnx_ir`.
        external: how data in other files is checked: "named" checks the files that are there,
            "needed" wants them to be there, "skip" does not look at them.
        defined: whether names that are read and not defined are a fault: a tool that shows or
            compares models can do without them.
        runs: whether the nodes will be visited one by one: attributes must have values and
            calls fit their functions, and nodes that are not sorted are sorted in a copy.

    Returns:
        The model with its path.

    Raises:
        ModelError: it cannot be read (OW741), contradicts itself (OW744), has a tensor whose data
            does not fit (OW750) or cannot be read (OW743), or is too large (OW751).
        ModelNotFoundError: the file does not exist (OW741).
        ModelTypeError: the source is none of these (OW752).

    Example:
        >>> from onnx import parser
        >>> graph = parser.parse_graph("g (float[2] x) => (float[2] y) { y = Relu(x) }")
        >>> open_model(onnx.helper.make_model(graph).SerializeToString()).proto.graph.name
        'g'
    """
    path: Path | None = None
    base: Path | None = None
    if isinstance(source, (str, os.PathLike)):
        path = Path(os.fsdecode(source))
        proto = _from_file(path)
        if path.is_symlink():  # external data is where the file is, not where the link is
            path = Path(os.path.realpath(path))
    elif isinstance(source, (bytes, bytearray, memoryview)):
        proto = parsed(bytes(source), "the given bytes")
    elif isinstance(source, _PROTOS):
        proto = source
    elif _is_ir(source):
        proto, base = _from_ir(source)
    elif _is_stream(source):
        proto = _from_stream(source)
    else:
        not_a_model(source)
    opened = Opened(proto, path, base)
    checked(proto, opened.folder, external=external, defined=defined)
    if runs and isinstance(proto, onnx.ModelProto):
        try:
            return Opened(runnable(proto), path, base)
        except Damage as damage:
            raise_damage(damage)
    return opened


def open_ir_model(source: Any, *, schemas: bool = False) -> Any:
    """Read and check a model, as an object of `onnx_ir`; its weights stay unread.

    Args:
        source: as for `open_model`; an `onnx_ir.Model` is checked and returned as it is.
        schemas: whether nodes are checked against the schemas of their operators.

    Returns:
        The `onnx_ir.Model`.

    Raises:
        ModelError: as for `open_model`.
        ModelTypeError: it is a function, a graph or something else (OW752).
    """
    import onnx_ir as ir

    if isinstance(source, ir.Model):
        _check_ir(source, schemas=schemas)
        return source
    opened = open_model(source, runs=True)
    if not isinstance(opened.proto, onnx.ModelProto):
        not_a_model(opened.proto)
    try:
        types: dict[str, onnx.TypeProto] = {}
        proto = plain_form(opened.proto, opened.folder, types)
        check_graph_parameters(proto)
        if schemas:
            check_schemas(proto)
    except Damage as damage:
        raise_damage(damage)
    if proto.training_info:
        warn(messages.TrainingLeftOut(span=user_span()))
    try:
        made: Any = ir.from_proto(proto)
    except Exception as error:  # noqa: BLE001 - onnx_ir raises many kinds
        _unreadable("the model", f"onnx_ir cannot read it: {_first_line(error)}", error)
    if types:
        from onnxwright.ir.map_types import give_types

        give_types(made, types)
    if opened.path is not None:
        for graph in (made.graph, *(f.graph for f in made.functions.values())):
            ir.external_data.set_base_dir(graph, opened.folder)
    return made


def open_light(model: Any) -> tuple[Opened, dict[str, Any]]:
    """Check an `onnx_ir.Model` without a copy of its large weights.

    Args:
        model: the model; it is not changed.

    Returns:
        The model as a proto that only names its large weights, and these tensors by name.

    Raises:
        ModelError: as for `open_model`.
    """
    proto, folder = _from_ir(model, light=True)
    checked(proto, folder)
    return Opened(proto, None, folder), named_weights(model)


def checked(
    proto: Model,
    folder: Path | None = None,
    *,
    external: str = "named",
    defined: bool = True,
) -> None:
    """Check a model that is in memory already.

    Args:
        proto: the model, function or graph.
        folder: the folder of its external data; the working folder if not given.
        external, defined: as for `open_model`.

    Raises:
        ModelError: as for `open_model`.
    """
    place = None if external == "skip" else folder or Path()
    try:
        check_model(proto, place, needed=external == "needed", defined=defined)
    except Damage as damage:
        raise_damage(damage)


def checked_for_runtime(proto: Model, *, more_operators: bool = False) -> None:
    """Refuse a model that ends the process of a runtime, or never lets it end.

    Args:
        proto: the model, checked already.
        more_operators: whether the runtime may have operators that are not known here.

    Raises:
        ModelError: a node does not keep what the schema of its operator promises, or one in a
            function reads a value whose type nobody knows, or a Loop never ends (OW744).
    """
    if isinstance(proto, onnx.ModelProto):
        try:
            check_nodes(proto, runs=True)
            check_endless(proto)
            check_types_in_functions(proto, more_operators=more_operators)
        except Damage as damage:
            raise_damage(damage)


def checked_value(value: Value, where: str, folder: Path | None = None) -> None:
    """Check a tensor, sequence or optional that is in memory already.

    Args:
        value: the value.
        where: what it is, for messages.
        folder: the folder of the data of a tensor that is in another file; without it such a
            tensor is refused.

    Raises:
        ModelError: as for `open_model`.
    """
    try:
        if folder is not None and isinstance(value, onnx.TensorProto):
            check_tensor(value, where, Files(folder))
        else:
            check_value(value, where)
    except Damage as damage:
        raise_damage(damage)


def checked_external(tensor: Any, where: str) -> None:
    """Check an `onnx_ir.ExternalTensor`: its file, its offset and its length.

    Args:
        tensor: the tensor; its data is not read.
        where: what it is, for messages.

    Raises:
        ModelError: its data cannot be read (OW743).
    """
    numbers = {"offset": tensor.offset, "length": tensor.length}
    entries = {"location": os.fspath(tensor.location)}
    entries |= {key: str(n) for key, n in numbers.items() if n is not None}
    try:
        Files(Path(tensor.base_dir)).check(entries, tensor.nbytes, where)
    except Damage as damage:
        raise_damage(damage)


def open_ir_function(source: onnx.FunctionProto) -> Any:
    """Check a function, as an object of `onnx_ir`.

    Args:
        source: the function.

    Returns:
        The `onnx_ir.Function`.

    Raises:
        ModelError: as for `open_model`; also where its nodes are not sorted.
    """
    import onnx_ir as ir

    checked(source)
    try:
        check_sorted(onnx.ModelProto(functions=[source]))
    except Damage as damage:
        raise_damage(damage)
    try:
        return ir.from_proto(source)
    except Exception as error:  # noqa: BLE001 - onnx_ir raises many kinds
        _unreadable("the function", f"onnx_ir cannot read it: {_first_line(error)}", error)


def not_a_model(source: object) -> NoReturn:
    """Raise the user's error for an object that is not a model.

    Args:
        source: the object.

    Raises:
        ModelTypeError: always (OW752).
    """
    fail(messages.NotAModel(what=_words(source), span=user_span()))


def raise_damage(damage: Damage) -> NoReturn:
    """Raise the user's error for a fault of a model.

    Args:
        damage: the fault.

    Raises:
        ModelError: always.
    """
    kind = _MESSAGES[damage.kind]
    fail(kind(where=damage.where, what=damage.what, advice=damage.advice, span=user_span()))


def parsed(data: bytes, label: str, form: str = "protobuf") -> onnx.ModelProto:
    """Bytes as a model, not checked yet.

    Args:
        data: the bytes.
        label: what they are, for messages.
        form: "protobuf", "textproto", "json" or "onnxtxt".

    Returns:
        The model.

    Raises:
        ModelError: they are not a model (OW741).
    """
    if not data:
        _unreadable(label, "it is empty")
    try:
        with warnings.catch_warnings():
            # The text form is what the user chose; that it is young is for onnx's own pages.
            warnings.filterwarnings("ignore", "The onnxtxt format is experimental")
            proto = serialization.registry.get(form).deserialize_proto(data, onnx.ModelProto())
    except Exception as error:  # noqa: BLE001 - each parser has its own
        _unreadable(label, _why(error, len(data)), error)
    if not proto.HasField("graph"):
        _unreadable(label, "it has no graph")
    return proto


def serialized(proto: Model) -> bytes:
    """A model as bytes.

    Args:
        proto: the model.

    Returns:
        The bytes.

    Raises:
        ModelError: it has more than protobuf writes as one message (OW751), or text that is not
            UTF-8.
    """
    try:
        data: bytes = proto.SerializeToString()
        return data
    except Exception as error:  # noqa: BLE001 - protobuf's own EncodeError, or a ValueError
        what = f"it cannot be written as one message: {_first_line(error)}"
        raise_damage(Damage("limit", "the model", what, "use external data for large tensors"))


def _from_file(path: Path) -> onnx.ModelProto:
    label = f"'{clean(str(path))}'"
    try:
        facts = path.stat()
        if stat.S_ISDIR(facts.st_mode):
            _unreadable(label, "it is a folder, not a file")
        if not (stat.S_ISREG(facts.st_mode) or stat.S_ISFIFO(facts.st_mode)):
            _unreadable(label, "it is a device or a socket, not a file")
        if facts.st_size > LIMIT:
            _unreadable(
                label,
                f"it has {facts.st_size / 1e9:.1f} GB, and protobuf reads no more than 2 GB; save "
                "the model with its weights as external data",
            )
        with path.open("rb") as file:
            # A count makes room for as many bytes at once, whatever the file holds.
            data = file.read() if stat.S_ISREG(facts.st_mode) else file.read(LIMIT + 1)
    except FileNotFoundError as error:
        found = messages.ModelNotReadable(
            path=label, reason="the file does not exist", span=user_span()
        )
        raise ModelNotFoundError(found) from error
    except (OSError, ValueError) as error:
        if hasattr(error, "diagnostics"):
            raise
        _unreadable(label, getattr(error, "strerror", None) or str(error), error)
    if len(data) > LIMIT:
        _unreadable(label, "it has more than 2 GB, which protobuf does not read")
    form = serialization.registry.get_format_from_file_extension(path.suffix) or "protobuf"
    return parsed(data, label, form)


def _from_stream(stream: Any) -> onnx.ModelProto:
    data = stream.read(LIMIT + 1)
    if not isinstance(data, bytes):
        _unreadable("the given file", "it was opened as text; open it in binary mode ('rb')")
    if len(data) > LIMIT:
        _unreadable("the given file", "it has more than 2 GB, which protobuf does not read")
    return parsed(data, "the given file")


def _is_ir(source: Any) -> bool:
    """Whether an object is a model, function or graph of `onnx_ir` (which is not imported here)."""
    names = ("Model", "Function", "Graph", "GraphView")
    kinds = ((k.__name__, k.__module__.split(".")[0]) for k in type(source).__mro__)
    return any(name in names and package == "onnx_ir" for name, package in kinds)


def _is_stream(source: Any) -> bool:
    return callable(getattr(source, "read", None)) and not isinstance(source, type)


def _check_ir(model: Any, *, schemas: bool) -> None:
    """Check a model of `onnx_ir`; its weights are not copied for it."""
    proto = open_light(model)[0].proto
    assert isinstance(proto, onnx.ModelProto)
    try:
        check_sorted(proto)
        runnable(proto)
        check_graph_parameters(proto)
        if schemas:
            check_schemas(proto)
    except Damage as damage:
        raise_damage(damage)


def _from_ir(source: Any, *, light: bool = False) -> tuple[Model, Path | None]:
    """An object of `onnx_ir` as a proto, and the folder of its external data."""
    import onnx_ir as ir

    try:
        if isinstance(source, ir.Model):
            return located_proto(source, light=light)
        found: Model = ir.to_proto(source)
        return found, None
    except Damage as damage:
        raise_damage(damage)
    except Exception as error:  # noqa: BLE001 - onnx_ir raises many kinds for a broken object
        _unreadable("the onnx_ir object", f"onnx_ir cannot write it: {_first_line(error)}", error)


def _words(source: object) -> str:
    """What was given instead of a model, cut short."""
    shown = clean(repr(source)) if isinstance(source, (int, float, bool)) else ""
    return f"{shown or 'a value'} of type `{type(source).__name__}`"


def _why(error: BaseException, size: int) -> str:
    """Why bytes are not a model; what protobuf says of it helps nobody."""
    if type(error).__name__ == "DecodeError":
        return f"its {size:,} bytes are damaged, cut short or something else"
    return _first_line(error)


def _first_line(error: BaseException) -> str:
    return clean((str(error).strip() or type(error).__name__).splitlines()[0])[:300]


def _unreadable(label: str, reason: str, error: BaseException | None = None) -> NoReturn:
    found = messages.ModelNotReadable(path=label, reason=reason, span=user_span())
    raise found.error(found) from error


__all__ = [
    "LIMIT",
    "Opened",
    "checked",
    "checked_external",
    "checked_for_runtime",
    "checked_value",
    "is_source",
    "not_a_model",
    "open_ir_function",
    "open_ir_model",
    "open_light",
    "open_model",
    "parsed",
    "raise_damage",
    "serialized",
]
