"""The one door: a model of any kind in, and the same kind out.

| given | returned |
|---|---|
| a path, a binary file | an `onnx_ir.Model`; with `output=` the path that was written |
| bytes | bytes |
| a ModelProto | a ModelProto |
| an `onnx_ir.Model` | an `onnx_ir.Model` |
| an ONNXProgram, ours or torch.onnx's | the same; an `onnx_ir.Model` for another interface |
| a `@script` function, a `GraphBuilder` | a ModelProto |

What is given is never changed.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import onnx
import onnx_ir as ir

from onnxwright.diagnostics.catalogue.model_tools import BadModelArgument
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir import saving
from onnxwright.ir.loading import is_source, open_ir_function, open_ir_model
from onnxwright.ir.model_kinds import kind_of
from onnxwright.ir.reading import serialized
from onnxwright.ir.serialize import drop_infos, model_to_proto, to_proto

# A script, a builder or an exported program is defined above this package: `Any` stands for them.
Model: TypeAlias = "onnx.ModelProto | ir.Model | bytes | BinaryIO | str | PathLike[str] | Any"


def is_model(x: object) -> bool:
    """Whether `opened` takes an object as a model: also a path, and what holds a model.

    Example:
        >>> is_model("model.onnx"), is_model(onnx.FunctionProto()), is_model(3)
        (True, False, False)
    """
    return is_source(x) and not isinstance(x, (onnx.FunctionProto, ir.Function))


def opened(model: Any, *, schemas: bool = False, functions: bool = False) -> ir.Model:
    """A model of any kind as an `onnx_ir.Model`, checked, its weights unread.

    Args:
        model: the model; an `onnx_ir.Model`, and that of an exported program, is returned itself.
        schemas: whether nodes are checked against the schemas of their operators.
        functions: whether a FunctionProto, or a function of `onnx_ir`, is taken as well: as a model
            that has nothing else.

    Raises:
        ModelError: it is damaged, or the file cannot be read.
        ModelTypeError: it is not a model (OW752).
    """
    if functions and isinstance(model, (onnx.FunctionProto, ir.Function)):
        function = open_ir_function(model) if isinstance(model, onnx.FunctionProto) else model
        empty = ir.Graph([], [], nodes=[], opset_imports=dict(function.opset_imports))
        return ir.Model(empty, ir_version=10, functions=[function])
    opened_model: ir.Model = open_ir_model(model, schemas=schemas)
    return opened_model


def is_held(model: Any) -> bool:
    """Whether `opened` gives an object that the caller holds, not one that it has made.

    Args:
        model: what the user gave.

    Example:
        >>> is_held(onnx.ModelProto()), is_held(b"")
        (False, False)
    """
    kind = kind_of(model)
    held = kind is not None and (kind.trusted or kind.restored is not None)
    return held or isinstance(model, ir.Model)


def returned(
    model: ir.Model,
    source: Any,
    output: str | PathLike[str] | None = None,
    *,
    same_interface: bool = True,
) -> Any:
    """A model as the kind that was given, or written to a file.

    Args:
        source: what the user gave.

    Returns:
        The path, or the model.
    """
    if output is not None:
        return saving.save(model, output)
    kind = kind_of(source)
    if kind is not None and kind.restored is not None:
        return kind.restored(source, model) if same_interface else model
    if kind is not None or isinstance(source, onnx.ModelProto):
        return _as_proto(model, source)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return serialized(_as_proto(model, source))
    return model


def _as_proto(model: ir.Model, source: Any) -> onnx.ModelProto:
    """A model as a ModelProto; initializers have types of their own, and no `value_info`."""
    initializers = model.graph.initializers.items()
    untyped = {name for name, value in initializers if value.const_value is not None}
    if isinstance(source, onnx.ModelProto):
        untyped.difference_update([v.name for v in source.graph.value_info])
    try:
        proto = model_to_proto(model, untyped=untyped)
    except (TypeError, ValueError, AttributeError, ir.serde.SerdeError):
        proto = to_proto(model)  # which says what cannot be written
        drop_infos(proto.graph, untyped)
    return proto


def load(model: Model) -> ir.Model:
    """Read a model and check it.

    A model from outside is untrusted input: what is damaged, contradicts itself, or names files
    outside of its folder is refused.  Weights are not read until they are asked for.

    Args:
        model: the path of a file (`.onnx`, or a form in text: `.json`, `.textproto`, `.onnxtxt`),
            bytes, a file opened in binary mode, a ModelProto, an `onnx_ir.Model` (which is returned
            itself), an ONNXProgram, a `@script` function, or a `GraphBuilder`.

    Returns:
        The model.

    Raises:
        ModelError: it is damaged, or the file cannot be read (OW741, OW743, OW744, OW750, OW751).
        ModelNotFoundError: there is no such file (OW741).
        ModelTypeError: it is not a model (OW752).

    Source:
        onnx.proto.

    Example:
        >>> text = "g (float[N] x) => (float[N] y) { y = Relu(x) }"
        >>> model = onnx.helper.make_model(onnx.parser.parse_graph(text))
        >>> path = save(model, "relu.onnx")
        >>> [node.op_type for node in load(path).graph]
        ['Relu']
    """
    return opened(model)


def save(
    model: Model, path: str | PathLike[str], *, external_data: bool | str | None = None
) -> Path:
    """Write a model; at every moment the file is the old model or the new one, and whole.

    Weights that have the same bytes are stored once in a file beside the model.  Data files of the
    model that is replaced are removed.

    Args:
        model: a model of any kind that `load` takes; it is not changed.
        path: the file.  `.json`, `.textproto` and `.onnxtxt` are written as text.
        external_data: True: weights of 1 KB and more in one file beside the model; False: all of
            them in the model; None: beside it those that are in files already (files of the same
            folder stay as they are), and those of a model over 2 GB.  A text: as True, in the file
            of this name, which may be a path below the folder of the model.

    Returns:
        The path.

    Raises:
        ModelError: the model is damaged, or what is left in it is over 2 GB (OW751).
        ModelToolError: `external_data` is none of these, or the name of a file that the model
            reads its weights from (OW882).
        ModelTypeError: it is not a model (OW752).
        OSError: the file cannot be written; what was there is still there.

    Warns:
        OnnxwrightWarning: the model names a data file beside it that does not exist (OW753).

    Source:
        onnx.proto, external data.

    Example:
        >>> text = "g (float[N] x) => (float[N] y) { y = Relu(x) }"
        >>> model = onnx.helper.make_model(onnx.parser.parse_graph(text))
        >>> save(model, "relu.onnx").name
        'relu.onnx'
    """
    place: Any = external_data
    if not (place is None or isinstance(place, (bool, str))) or place == "":
        fail(BadModelArgument(
            argument=f"external_data={external_data!r}", reason="it does not say where weights go",
            advice="give True, False, None or the name of a file"
        ))  # fmt: skip
    # A model that was read here is not used by anybody else.
    still_read = isinstance(model, ir.Model) or kind_of(model) is not None
    return saving.save(opened(model), path, external_data=external_data, still_read=still_read)
