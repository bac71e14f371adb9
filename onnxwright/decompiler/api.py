"""`to_script`: any model, function or graph as the text of a Python module."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from onnxwright.decompiler.guard import check_text
from onnxwright.decompiler.roundtrip_search import settle, write
from onnxwright.decompiler.scope import Options, Weights
from onnxwright.decompiler.sugar import Sugar, element_types
from onnxwright.decompiler.validity import problem_of
from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import decompile as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.semantics.literals import describe


def to_script(
    model: Any,
    *,
    name: str | None = None,
    operators: bool = True,
    inline_constants: int | bool = 16,
    weights: Weights = "inline",
    weights_file: str | Path | None = None,
    output: str | Path | None = None,
    explain: list[str] | None = None,
) -> str:
    """Write a model or function as Python that compiles back to it.

    The text imports onnxwright and defines a script for the main graph and for each function.  It
    ends with `make_model()` (or `make_function()`), which gives the model back: the same graph,
    types, initializers, functions, opset imports, attributes, metadata and doc strings.

    A model is untrusted input: what it holds reaches the text as quoted literals and as plain
    identifiers only.

    Args:
        model: a ModelProto, FunctionProto or GraphProto, the same of `onnx_ir`, a script, or the
            path of a model file.
        name: the Python name of the function.
        operators: write `x + y` and the like where it gives the same nodes.
        inline_constants: arrays of up to this many elements are written as numbers where they are
            used; True stands for all, False for none.
        weights: where larger arrays go: into the text ("inline"), into a file of numpy arrays
            ("npz"), left in the model's own external data ("external"), or what a function of
            (name, array) returns as the text of an expression (None writes it into the text).
        weights_file: the file of arrays for "npz"; the written Python looks for it beside itself.
        output: the file the text will be written to, so that it finds external data and the file
            of arrays from there; by default it stands beside them.
        explain: a list that receives, a line each, where and why something is written less well.

    Returns:
        The text of the module.

    Raises:
        ScriptTypeError: `model` is none of these (OW740).
        ScriptValueError: a file holds no model (OW741), `weights` does not say where arrays go
            (OW742), the numbers of a tensor cannot be read (OW743), or the model contradicts
            itself (OW744).

    Source:
        onnx.proto.

    Example:
        >>> from onnx import parser
        >>> g = parser.parse_graph("g (float[N] x) => (float[N] y) { y = Relu(x) }")
        >>> print(to_script(onnx.helper.make_model(g)).split("@script()")[1].split("def make")[0])
        <BLANKLINE>
        def g(x: FLOAT["N"]) -> FLOAT["N"]:
            y = op.Relu(x)
            return y
        <BLANKLINE>
        <BLANKLINE>
    """
    proto, folder = _load(model)
    problem = problem_of(proto)
    if problem is not None:
        reason = problem.replace("{", "(").replace("}", ")")
        fail(messages.ModelAtOdds(reason=reason, span=user_span()))
    limit = {True: 1 << 62, False: 0}.get(inline_constants, int(inline_constants)) if isinstance(
        inline_constants, bool) else int(inline_constants)  # fmt: skip
    npz = Path(weights_file) if weights_file is not None else None
    if weights == "npz" and npz is None:
        advice = "name the file of arrays: `weights_file=`"
        fail(messages.NoWeightsFile(given="'npz'", advice=advice, span=user_span()))
    if weights not in ("inline", "npz", "external") and not callable(weights):
        advice = 'use "inline", "npz", "external" or a function of (name, array)'
        fail(messages.NoWeightsFile(given=repr(weights), advice=advice, span=user_span()))
    found = "weights.npz" if npz is None else npz.name if output is None else _seen(npz, output)
    beside = "" if output is None else _seen(folder, output)
    options = Options(weights, limit, found, folder, "" if beside == "." else beside)
    sugar = Sugar(operators, limit)
    if operators and isinstance(proto, onnx.ModelProto):
        sugar.types = element_types(proto)
    if operators:
        settle(proto, options, name, sugar)
    made, module = write(proto, options, name, sugar)
    if not callable(weights):
        check_text(made)
    if npz is not None and module.arrays:
        np.savez(npz, **module.arrays)
    if explain is not None:
        explain.extend([*sugar.reasons, *module.reasons])
    return made


def _seen(path: Path, output: str | Path) -> str:
    """The way to a file or folder from the folder of the written Python."""
    try:
        made = os.path.relpath(path.resolve(), Path(output).resolve().parent)
    except ValueError:  # another drive
        made = str(path.resolve())
    return made.replace(os.sep, "/")


def _load(model: Any) -> tuple[onnx.ModelProto | onnx.FunctionProto, Path]:
    """What to write, and the folder of its external data."""
    if isinstance(model, (str, Path)):
        return _read(Path(model)), Path(model).parent
    if isinstance(model, (onnx.ModelProto, onnx.FunctionProto)):
        return model, Path()
    if isinstance(model, onnx.GraphProto):
        return onnx.ModelProto(graph=model), Path()
    if isinstance(model, (ir.Model, ir.Function)):
        return ir.to_proto(model), Path()
    if isinstance(model, ir.Graph):
        return ir.to_proto(ir.Model(model, ir_version=10)), Path()
    if hasattr(model, "to_function_proto"):
        return model.to_function_proto(), Path()
    fail(messages.NothingToWrite(what=describe(model), span=user_span()))


def _read(path: Path) -> onnx.ModelProto:
    """The model of a file; its external data stays where it is."""
    try:
        model = onnx.load(path, load_external_data=False)
        if not model.ir_version and not model.HasField("graph"):
            raise ValueError("it is no ONNX model")
        return model
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
    except Exception as error:  # noqa: BLE001 - protobuf, JSON and text parsers raise their own
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    reason = reason.replace("{", "(").replace("}", ")")
    fail(messages.ModelNotReadable(path=str(path), reason=reason, span=user_span()))


def proto2python(
    model: Any,
    function_name: str | None = None,
    *,
    use_operators: bool = False,
    inline_const: bool = False,
    rename: bool = False,  # noqa: ARG001 - names are always made readable
    **options: Any,
) -> str:
    """`to_script` under the name and keywords that other tools use.

    Args:
        model: as for `to_script`.
        function_name: the Python name of the function.
        use_operators: write `x + y` and the like.
        inline_const: write constants where they are used.
        rename: accepted; names are always made readable.
        options: as for `to_script`.

    Returns:
        The text of the module.

    Example:
        >>> from onnx import parser
        >>> g = parser.parse_graph("g (float[N] x) => (float[N] y) { y = Relu(x) }")
        >>> "def f(x" in proto2python(onnx.helper.make_model(g), "f")
        True
    """
    options.setdefault("name", function_name)
    options.setdefault("operators", use_operators)
    options.setdefault("inline_constants", 1024 if inline_const else 16)
    return to_script(model, **options)


__all__ = ["proto2python", "to_script"]
