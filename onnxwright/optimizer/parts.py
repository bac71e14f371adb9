"""Parts of the optimizer by themselves, for models of any kind: fold, inline, remove, replace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

import onnx_ir as ir

from onnxwright.ir.door import Model, opened, returned
from onnxwright.optimizer import passes
from onnxwright.optimizer.constant_folding import FOLD_LIMIT


def _applied(one: ir.passes.InPlacePass, model: Model, output: str | PathLike[str] | None) -> Any:
    copy = opened(model, schemas=True).clone()
    one(copy)
    return returned(copy, model, output)


def fold_constants(
    model: Model,
    *,
    exact: bool = False,
    keep: Iterable[str] = (),
    limit: int = FOLD_LIMIT,
    output: str | PathLike[str] | None = None,
) -> Any:
    """A model in which what depends on no input is computed: constants, known shapes, weights.

    Nodes that read an input stay; nodes that nothing reads go.  What weights alone make is computed
    when the model is saved or run.  Random operators, operators of other domains and initializers
    that are inputs are not folded.

    Args:
        model: a model of any kind (see `ow.load`); it is not changed.
        exact: fold only what every machine computes to the same bits.
        keep: names of initializers that stay what they are.
        limit: bytes that what weights make may add to the model.
        output: a file to write the result to.

    Returns:
        A model of the kind that was given (an `onnx_ir.Model` for a path, a ModelProto for a
        script).  The path written, with `output`.

    Raises:
        ModelTypeError: it is not a model (OW752).

    Example:
        >>> import onnx
        >>> text = '<ir_version: 10, opset_import: ["" : 18]> g (float[2,3] x) => (float[3,2] y)'
        >>> text += "{ s = Shape(x)  b = Constant<value_ints=[1, 0]>()  t = Gather(s, b) "
        >>> folded = fold_constants(onnx.parser.parse_model(text + "y = Reshape(x, t) }"))
        >>> [node.op_type for node in folded.graph.node]
        ['Reshape']
    """
    return _applied(passes.FoldConstants(exact=exact, keep=keep, limit=limit), model, output)


def inline(
    model: Model,
    functions: passes.Functions = None,
    *,
    output: str | PathLike[str] | None = None,
) -> Any:
    """A model in which calls of model-local functions are replaced by the function bodies.

    A function of another opset version is converted to that of the model.

    Args:
        model: a model of any kind (see `ow.load`); it is not changed.
        functions: the functions: names, `domain.name`, identifiers (domain, name[, overload]) or
            scripts; or a predicate of `onnx_ir.Function`; all of them by default.
        output: a file to write the result to.

    Returns:
        A model of the kind that was given (an `onnx_ir.Model` for a path, a ModelProto for a
        script).  The path written, with `output`.

    Raises:
        ModelToolError: the model has no such function (OW876).
        ModelTypeError: it is not a model (OW752).

    Example:
        >>> from onnxwright import FLOAT, script
        >>> @script
        ... def twice(x: FLOAT[2]) -> FLOAT[2]:
        ...     return x + x
        >>> @script
        ... def four_times(x: FLOAT[2]) -> FLOAT[2]:
        ...     return twice(twice(x))
        >>> inlined = inline(four_times)
        >>> [node.op_type for node in inlined.graph.node], len(inlined.functions)
        (['Add', 'Add'], 0)
    """
    return _applied(passes.Inline(functions), model, output)


def remove_unused(model: Model, *, output: str | PathLike[str] | None = None) -> Any:
    """A model without the nodes, initializers, functions and opset imports that nothing needs.

    Inputs and outputs stay, and so do the scales and zero points that quantization annotations
    name.

    Args:
        model: a model of any kind (see `ow.load`); it is not changed.
        output: a file to write the result to.

    Returns:
        A model of the kind that was given (an `onnx_ir.Model` for a path, a ModelProto for a
        script).  The path written, with `output`.

    Raises:
        ModelTypeError: it is not a model (OW752).

    Example:
        >>> import onnx
        >>> text = '<ir_version: 10, opset_import: ["" : 18]> g (float[2] x) => (float[2] y)'
        >>> model = remove_unused(onnx.parser.parse_model(text + "{ a = Abs(x)  y = Neg(x) }"))
        >>> [node.op_type for node in model.graph.node]
        ['Neg']
    """
    return _applied(passes.RemoveUnused(), model, output)


def replace_functions(
    model: Model,
    replacements: Mapping[Any, Any],
    *,
    output: str | PathLike[str] | None = None,
) -> Any:
    """A model in which functions and custom operators have another definition.

    Calls stay calls, of the new function; `inline` puts its body in their places.

    Args:
        model: a model of any kind (see `ow.load`); it is not changed.
        replacements: what is replaced: a name, `domain.name` or identifier of a function of the
            model or of a custom operator that it calls; and by what: a script, a FunctionProto or a
            function of `onnx_ir`.
        output: a file to write the result to.

    Returns:
        A model of the kind that was given (an `onnx_ir.Model` for a path, a ModelProto for a
        script).  The path written, with `output`.

    Raises:
        ModelToolError: the model calls no such function (OW876), or the calls do not fit the new
            one (OW882).
        ConversionError: a function cannot be converted to the opset version of the model (OW870).
        ModelError: the new functions call each other in a circle (OW744).
        ModelTypeError: it is not a model (OW752).

    Example:
        >>> import onnx
        >>> from onnxwright import FLOAT, script
        >>> @script
        ... def double(x: FLOAT[...]) -> FLOAT[...]:
        ...     return x + x
        >>> text = (
        ...     '<ir_version: 10, opset_import: ["" : 18, "d" : 1]> g (float[2] x) => (float[2] y)'
        ... )
        >>> model = onnx.parser.parse_model(text + "{ y = d.Double(x) }")
        >>> inlined = inline(replace_functions(model, {"d.Double": double}))
        >>> [node.op_type for node in inlined.graph.node]
        ['Add']
    """
    return _applied(passes.ReplaceFunctions(replacements), model, output)
