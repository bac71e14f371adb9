"""The one loader: every model that comes in goes through `open_model`, which checks it once."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NoReturn

import onnx

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import loading as messages
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.diagnostics.text import clean
from onnxwright.errors import OnnxwrightError
from onnxwright.ir.file_signatures import how_to_get_a_model
from onnxwright.ir.model_kinds import kind_of
from onnxwright.ir.model_protos import located_proto, named_weights
from onnxwright.ir.plain_form import plain_form
from onnxwright.ir.reading import (
    check_path,
    first_line,
    parsed,
    raise_damage,
    read_file,
    read_stream,
    unreadable,
)
from onnxwright.ir.validation import Damage, Form, check_model
from onnxwright.ir.validation.endless import check_endless
from onnxwright.ir.validation.external import Files
from onnxwright.ir.validation.model import Model
from onnxwright.ir.validation.nodes import check_nodes
from onnxwright.ir.validation.order import check_sorted, in_order
from onnxwright.ir.validation.schemas import check_graph_parameters, check_schemas
from onnxwright.ir.validation.tensors import Value, check_tensor, check_value
from onnxwright.ir.validation.untyped import check_types_in_functions

_PROTOS = (onnx.ModelProto, onnx.FunctionProto, onnx.GraphProto)

Parts = Literal["refused", "taken", "first"]
"""What is done with a function or a graph where a model is asked for: it is refused, or taken.

A script that can be either is a model if parts are "taken", and a function if they come "first".
"""


@dataclass(frozen=True)
class Opened:
    """A model that was read and checked.

    Fields:
        proto: the model, function or graph; external data stays where it is.
        path: its file; None where it did not come from one.
        base: the folder of its external data where the model itself says it.
        is_plain: whether there is nothing that `plain_form` changes.
    """

    proto: Model
    path: Path | None
    base: Path | None = None
    is_plain: bool = False

    @property
    def folder(self) -> Path:
        """The folder of its external data: that of the file, else the working folder."""
        if self.base is not None:
            return self.base
        return self.path.parent if self.path is not None else Path()


def is_source(source: Any) -> bool:
    """Whether `open_model` takes an object: a path, bytes, a file, a proto or what holds a model.

    Example:
        >>> is_source(b""), is_source("model.onnx"), is_source(3)
        (True, True, False)
    """
    plain = (str, os.PathLike, bytes, bytearray, memoryview, *_PROTOS)
    if isinstance(source, plain) or kind_of(source) is not None:
        return True
    return is_ir(source) or _is_stream(source)


def held_by(source: Any, parts: Parts = "refused") -> Any:
    """The model that a script, a builder or an exported program holds; anything else as it is.

    Args:
        parts: whether a script may be a function.

    Returns:
        A proto, or an object of `onnx_ir`.

    Raises:
        ScriptError: the script cannot be compiled, or is not a model by itself.
    """
    kind = kind_of(source)
    if kind is None:
        return source
    if kind.function is None or parts == "refused":
        return kind.model(source)
    if parts == "first":
        return kind.function(source)
    try:
        return kind.model(source)
    except (TypeError, ValueError):  # an input without a type, an attribute without a value
        return kind.function(source)


def open_model(
    source: Any,
    *,
    external: str = "named",
    defined: bool = True,
    runs: bool = False,
    parts: Parts = "refused",
) -> Opened:
    """Read a model from wherever it is, and check it.

    Args:
        source: a path, bytes, a file object, a ModelProto, an `onnx_ir.Model`, or what holds a
            model: a script, a `GraphBuilder`, an exported program.
        external: how data in other files is checked: "named" checks the files that are there,
            "needed" wants them to be there, "skip" does not look at them.
        defined: whether names that are read and not defined are a fault: a tool that shows or
            compares models can do without them.
        runs: whether the nodes will be visited one by one: attributes must have values and
            calls fit their functions, and nodes that are not sorted are sorted in a copy.
        parts: whether functions and graphs, of onnx or of `onnx_ir`, are taken as well.

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
    source = held_by(source, parts)
    path: Path | None = None
    base: Path | None = None
    if isinstance(source, (str, os.PathLike)):
        check_path(os.fsdecode(source))
        path = Path(os.fsdecode(source))
        proto = read_file(path)
        if path.is_symlink():  # external data is where the file is, not where the link is
            path = Path(os.path.realpath(path))
    elif isinstance(source, (bytes, bytearray, memoryview)):
        proto = parsed(bytes(source), "the given bytes object")
    elif isinstance(source, _PROTOS):
        proto = source
    elif is_ir(source):
        proto, base = _from_ir(source)
    elif _is_stream(source):
        proto = read_stream(source)
    else:
        not_a_model(source, parts)
    if parts == "refused" and not isinstance(proto, onnx.ModelProto):
        not_a_model(source)
    opened = Opened(proto, path, base)
    form = checked(proto, opened.folder, external=external, defined=defined)
    opened = Opened(proto, path, base, form.is_plain)
    if runs and isinstance(proto, onnx.ModelProto):
        try:
            check_nodes(proto)
            return opened if form.is_sorted else replace(opened, proto=in_order(proto))
        except Damage as damage:
            raise_damage(damage)
    return opened


def open_ir_model(source: Any, *, schemas: bool = False) -> Any:
    """Read and check a model, as an object of `onnx_ir`; its weights stay unread.

    Args:
        source: as for `open_model`; an `onnx_ir.Model` is checked and returned as it is, and so
            is the model of an exported program.
        schemas: whether nodes are checked against the schemas of their operators.

    Returns:
        The `onnx_ir.Model`.

    Raises:
        ModelError: as for `open_model`.
        ModelTypeError: it is a function, a graph or something else (OW752).
    """
    import onnx_ir as ir

    from onnxwright.ir.proto_reading import model_from_proto

    kind, source = kind_of(source), held_by(source)
    if isinstance(source, ir.Model):
        if kind is None or not kind.trusted:
            _check_ir(source, schemas=schemas)
        return source
    opened = open_model(source, runs=True)
    assert isinstance(opened.proto, onnx.ModelProto)
    if not opened.proto.HasField("graph"):
        unreadable("the given ModelProto", "it has no graph")
    try:
        types: dict[str, onnx.TypeProto] = {}
        proto = opened.proto
        if not opened.is_plain:
            proto = plain_form(proto, opened.folder, types)
        check_graph_parameters(proto)
        if schemas:
            check_schemas(proto)
    except Damage as damage:
        raise_damage(damage)
    if proto.training_info:
        warn(messages.TrainingLeftOut(span=user_span()))
    try:
        model: Any = model_from_proto(proto)
    except Exception as error:  # noqa: BLE001 - onnx_ir raises many kinds
        unreadable("the model", f"onnx_ir cannot read it: {first_line(error)}", error)
    if types:
        from onnxwright.ir.other_types import give_types

        give_types(model, types)
    if opened.path is not None:
        for graph in (model.graph, *(f.graph for f in model.functions.values())):
            ir.external_data.set_base_dir(graph, opened.folder)
    return model


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
    checked(proto, folder, external="light")
    return Opened(proto, None, folder), named_weights(model)


def checked(
    proto: Model,
    folder: Path | None = None,
    *,
    external: str = "named",
    defined: bool = True,
) -> Form:
    """Check a model that is in memory already.

    Args:
        proto: the model, function or graph.
        folder: the folder of its external data; the working folder if not given.
        external: as for `open_model`; "light" as "named", and data may be in a file without a name.
        defined: as for `open_model`.

    Raises:
        ModelError: as for `open_model`.
    """
    place = None if external == "skip" else folder or Path()
    try:
        return check_model(
            proto, place, needed=external == "needed", named=external != "light", defined=defined
        )
    except Damage as damage:
        raise_damage(damage)


def checked_for_runtime(proto: Model, *, more_operators: bool = False) -> None:
    """Refuse a model that ends the process of a runtime, or never lets it end.

    Args:
        proto: the model, checked already.
        more_operators: whether the runtime may have operators that are not known here.

    Raises:
        ModelError: a node does not keep what the schema of its operator promises, or one in a
            function reads a value of unknown type, or a Loop never ends (OW744).
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
        unreadable("the function", f"onnx_ir cannot read it: {first_line(error)}", error)


def not_a_model(source: object, parts: Parts = "refused") -> NoReturn:
    """Raise the user's error for an object that is not a model.

    Args:
        parts: whether functions and graphs are taken as well.

    Raises:
        ModelTypeError: always (OW752).
    """
    advice = None
    if parts != "refused":
        advice = "a FunctionProto or a GraphProto is taken as well, and those of onnx_ir"
    elif isinstance(source, _PROTOS) or is_ir(source):
        advice = "a function or a graph is only a part of a model: give the model that has it"
    else:
        advice = how_to_get_a_model(source)
    fail(messages.NotAModel(what=_words(source), advice=advice))


def is_ir(source: Any) -> bool:
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
        check_nodes(proto)
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
        proto: Model = ir.to_proto(source)
        return proto, None
    except Damage as damage:
        raise_damage(damage)
    except Exception as error:  # noqa: BLE001 - onnx_ir raises many kinds for a broken object
        reason: BaseException = error
        while reason.__cause__ is not None:
            reason = reason.__cause__
        if isinstance(reason, OnnxwrightError):  # a weight that is computed when it is read
            raise reason from None
        unreadable("the onnx_ir object", f"onnx_ir cannot write it: {first_line(error)}", error)


def _words(source: object) -> str:
    """What was given instead of a model, cut short."""
    shown = clean(repr(source)) if isinstance(source, (int, float, bool)) else ""
    return f"{shown or 'a value'} of type `{type(source).__name__}`"
