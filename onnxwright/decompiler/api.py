"""`to_script`: any model, function or graph as the text of a Python module."""

from __future__ import annotations

import math
import operator
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from typing_extensions import TypedDict, Unpack

from onnxwright.converter.frontend.source_texts import remember_text
from onnxwright.decompiler.assembly import functions_of, head_of
from onnxwright.decompiler.guard import check_names, check_pieces, contents_of, parse_head
from onnxwright.decompiler.module_contents import Module, Options, Weights
from onnxwright.decompiler.roundtrip_search import Proto, Trial, search, write
from onnxwright.decompiler.sugar import Sugar, element_types
from onnxwright.diagnostics.catalogue import decompile as messages
from onnxwright.diagnostics.catalogue.model_tools import BadModelArgument
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.collector import collector_paused
from onnxwright.ir.loading import checked, open_model
from onnxwright.ir.writing import Save
from onnxwright.types.dtypes import DType

# The most bytes of weights that are written into the text itself.
INLINE_LIMIT = 1_000_000_000


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
        model: a model of any kind (see `ow.load`), or a FunctionProto or GraphProto, also of
            `onnx_ir`; a script is written as a function.
        name: the Python name of the function.
        operators: write `x + y` and the like where it gives the same nodes.
        inline_constants: arrays of up to this many elements are written as numbers where they are
            used; True means all, False none.
        weights: where larger arrays go: into the text ("inline"), into a file of numpy arrays
            ("npz"), left in the model's own external data ("external"), or what a function of
            (name, array) returns as the text of an expression (None writes it into the text).
        weights_file: the file of arrays for "npz"; the written Python looks for it beside itself.
        output: the file the text will be written to, so that it finds external data and the file
            of arrays from there; by default the same folder.
        explain: a list that receives, a line each, where and why something is written less well.

    Returns:
        The text of the module.

    Raises:
        ModelTypeError: `model` is none of these (OW752).
        ScriptValueError: `weights` does not say where arrays go (OW742), or the weights are too
            large for the text itself (OW883).
        ModelError: the model is damaged, or the data of a tensor cannot be read (OW741, OW743,
            OW744, OW750, OW751).

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
    with collector_paused():
        proto, folder = _load(model)
    limit = _limit(inline_constants)
    npz = Path(weights_file) if weights_file is not None else None
    if weights == "npz" and npz is None:
        advice = "name the file of arrays: `weights_file=`"
        fail(messages.NoWeightsFile(value="'npz'", advice=advice))
    if weights not in ("inline", "npz", "external") and not callable(weights):
        advice = 'use "inline", "npz", "external" or a function of (name, array)'
        fail(messages.NoWeightsFile(value=repr(weights), advice=advice))
    if weights == "inline":
        _check_size(proto)
    npz_name = "weights.npz" if npz is None else npz.name if output is None else _seen(npz, output)
    beside = "" if output is None else _seen(folder, output)
    options = Options(weights, limit, npz_name, folder, "" if beside == "." else beside)
    sugar = Sugar(operators, limit)
    if operators and isinstance(proto, onnx.ModelProto):
        with collector_paused():
            sugar.types = element_types(proto)
    trial = search(proto, options, name, sugar) if operators else None
    source, module = _text(proto, options, name, sugar, trial)
    if npz is not None and module.arrays:
        with Save(npz) as save:
            save.commit(lambda file: np.savez(file, **module.arrays))
    if explain is not None:
        explain.extend([*sugar.reasons, *module.reasons])
    remember_text(source)
    return source


def _limit(inline_constants: Any) -> int:
    """How many elements an array may have that is written where it is used."""
    if isinstance(inline_constants, bool):
        return 1 << 62 if inline_constants else 0
    try:
        limit = operator.index(inline_constants)
    except TypeError:
        limit = -1
    if limit < 0:
        fail(BadModelArgument(
            argument=f"inline_constants={inline_constants!r}",
            reason="it is not a number of elements", advice="give a number, True or False"
        ))  # fmt: skip
    return limit


def _check_size(proto: Proto) -> None:
    """Raise the user's error for weights that are too many to be Python text."""
    graph = getattr(proto, "graph", None)
    tensors = [] if graph is None else graph.initializer
    size = 0.0
    for tensor in tensors:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            size += math.prod(tensor.dims) * DType(tensor.data_type).bits / 8
        else:
            size += tensor.ByteSize()
    if size > INLINE_LIMIT:
        fail(messages.WeightsTooLargeForText(size=f"{size / 1e9:.1f} GB"))


def _text(
    proto: Proto, options: Options, name: str | None, sugar: Sugar, trial: Trial | None
) -> tuple[str, Module]:
    """The text, checked, and what it is made of."""
    with collector_paused():
        if trial is None:
            module = write(proto, options, name, sugar)
        else:
            module = trial.module
            module.fill_weights(options)
        head, functions = head_of(module), functions_of(module)
        if trial is not None and trial.checked is not None:
            if head != trial.head:  # weights are in place of zeros
                check_names(contents_of(parse_head(head)), trial.checked)
        elif not callable(options.weights):
            check_pieces(head, functions)
    return head + functions, module


def _seen(path: Path, output: str | Path) -> str:
    """The way to a file or folder from the folder of the written Python."""
    try:
        # NOTE: `Path.resolve` raises RuntimeError for a link that leads to itself.
        relative = os.path.relpath(os.path.realpath(path), Path(os.path.realpath(output)).parent)
    except ValueError:  # another drive
        relative = os.path.realpath(path)
    return relative.replace(os.sep, "/")


def _load(model: Any) -> tuple[onnx.ModelProto | onnx.FunctionProto, Path]:
    """What to write, and the folder of its external data."""
    opened = open_model(model, parts="first")
    proto = opened.proto
    if isinstance(proto, onnx.GraphProto):
        proto = onnx.ModelProto(graph=proto)
        checked(proto, opened.folder)  # a script has no graph around it to read from
    return proto, opened.folder


class ScriptTextOptions(TypedDict, total=False):
    """The options of `to_script`, as type checkers read them."""

    name: str | None
    operators: bool
    inline_constants: int | bool
    weights: Weights
    weights_file: str | Path | None
    output: str | Path | None
    explain: list[str] | None


def proto2python(
    model: Any,
    function_name: str | None = None,
    *,
    use_operators: bool = False,
    inline_const: bool = False,
    rename: bool = False,  # noqa: ARG001 - names are always made readable
    **options: Unpack[ScriptTextOptions],
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
