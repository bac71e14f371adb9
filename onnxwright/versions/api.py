"""`convert_version`: a model in another opset version."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Mapping
from os import PathLike
from typing import Any

import onnx_ir as ir
from onnx_ir.passes.common import InlinePass

from onnxwright.diagnostics.catalogue import versions as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.door import Model, opened, returned
from onnxwright.ir.ir_versions import lowest_ir_version, version_of_type
from onnxwright.ir.nested import all_nodes, subgraphs
from onnxwright.ir.validation.damage import quoted
from onnxwright.opset import registry
from onnxwright.versions import rules
from onnxwright.versions.engine import Conversion
from onnxwright.versions.one_call import converted_call

# The oldest version that is converted to: before, broadcasting had other rules.
OLDEST = 7
ASSUMPTIONS = ("nonempty",)


def convert_version(
    model: Model,
    version: int | None = None,
    *,
    domains: Mapping[str, int] | None = None,
    ir_version: int | None = None,
    assume: Collection[str] = (),
    output: str | PathLike[str] | None = None,
) -> Any:
    """A model in another opset version, newer or older, that computes the same.

    Nodes that mean the same in both versions stay as they are; the others are replaced in place.
    Inputs, outputs, their order and names, initializers and metadata do not change, and weights
    are not read.  Bodies of If, Loop and Scan and model-local functions are converted as well; a
    function that can be converted only for known arguments is inlined.  Other domains keep their
    version unless `domains` says otherwise.

    Args:
        model: a model of any kind (see `ow.load`); it is not changed.
        version: the opset version of the default domain, from 7 to the newest; None to keep it.
            The model's own may be any, from 1 on.
        domains: versions of other domains, such as `{"ai.onnx.ml": 3}`.
        ir_version: the IR version; by default the lowest that has these opsets and the model's
            element types when the version goes down, and at least the model's when it goes up.
        assume: what holds of every run: "nonempty" (no size is 0), which Reshape needs for some
            models below opset 14.
        output: a file to write the result to.

    Returns:
        The same kind as `model`; an `onnx_ir.Model` for a path, a ModelProto for a script.  The
        path written, with `output`.

    Raises:
        ConversionError: nodes that have no equivalent, all of them, with their places (OW870).
        ConversionValueError: a version that cannot be converted to (OW871), or a model that
            cannot be converted as a whole (OW872).

    Source:
        The schemas of `onnx.defs`; each adapter names the operator and version it is from.

    Example:
        >>> import onnx
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 7, opset_import: ["" : 11]>'
        ...     "g (float[2,3] x) => (float[2] y) { y = ReduceSum<axes=[1], keepdims=0>(x) }"
        ... )
        >>> new = convert_version(model, 18)
        >>> [node.op_type for node in new.graph.node], new.opset_import[0].version
        (['Constant', 'ReduceSum'], 18)
    """
    assert rules.__all__
    source = opened(model)
    targets = _target_versions(version, domains)
    _check_imported(source, [registry.normalize_domain(domain) for domain in domains or {}])
    converted = source.clone()
    _converted(converted, targets, _assumed(assume))
    lowered = any(t < source.graph.opset_imports.get(d, t) for d, t in targets.items())
    converted.ir_version = _ir_version(converted, ir_version, lowered=lowered)
    return returned(converted, model, output)


def _assumed(assume: Collection[str]) -> Collection[str]:
    assumptions = [assume] if isinstance(assume, str) else list(assume)
    unknown = [name for name in assumptions if name not in ASSUMPTIONS]
    if unknown:
        fail(messages.ModelNotConvertible(
            reason=f"{unknown[0]!r} cannot be assumed",
            advice=f"`assume` may hold {', '.join(map(repr, ASSUMPTIONS))}",
        ))  # fmt: skip
    return assumptions


def convert_in_place(model: ir.Model, version: int, assume: Collection[str] = ()) -> None:
    """As `convert_version`, on the model itself, whose values and weights stay the same objects.

    Args:
        model: the model; it is of no use if this raises.
        version: the opset version of the default domain.
        assume: what holds of every run.

    Raises:
        ConversionError: nodes that have no equivalent (OW870).
        ConversionValueError: the model or a function imports a version that does not exist
            (OW872).
    """
    before = model.graph.opset_imports.get("", version)
    _converted(model, {"": version}, assume)
    model.ir_version = _ir_version(model, None, lowered=version < before)


def _target_versions(version: int | None, domains: Mapping[str, int] | None) -> dict[str, int]:
    versions: dict[str, Any] = {} if version is None else {"": version}
    for domain, target in (domains or {}).items():
        versions[registry.normalize_domain(domain)] = target
    if not versions:
        fail(messages.ModelNotConvertible(
            reason="no version is given", advice="give `version`, or `domains`"
        ))  # fmt: skip
    for domain, target in versions.items():
        _check_version(domain, target)
    return {domain: operator.index(target) for domain, target in versions.items()}


def _check_imported(model: ir.Model, domains: Iterable[str]) -> None:
    """Domains that were asked for are imported by the model or by a function of it."""
    holders: list[ir.Graph | ir.Function] = [model.graph, *model.functions.values()]
    imported = {domain for holder in holders for domain in holder.opset_imports}
    for domain in domains:
        if domain not in imported:
            names = ", ".join(quoted(name or "ai.onnx") for name in sorted(imported))
            fail(messages.ModelNotConvertible(
                reason=f"it does not import the domain {quoted(domain or 'ai.onnx')}",
                advice=f"it imports {names}",
            ))  # fmt: skip


def _check_imports(model: ir.Model, domain: str) -> None:
    """The versions a model and its functions import must exist: conversion goes one at a time."""
    holders: list[tuple[str, ir.Graph | ir.Function]] = [("its", model.graph)]
    holders += [(f"in the function `{f.name}` the", f) for f in model.functions.values()]
    newest = registry.newest(domain)
    for owner, holder in holders:
        version = holder.opset_imports.get(domain)
        if version is not None and not 1 <= version <= newest:
            fail(messages.ModelNotConvertible(
                reason=f"{owner} opset version of {domain or 'ai.onnx'} is {version}",
                advice=f"versions 1 to {newest} are supported",
            ))  # fmt: skip


def _oldest(domain: str) -> int:
    return OLDEST if domain == "" else 1


def _check_version(domain: str, target: Any) -> None:
    name = domain or "ai.onnx"
    if not registry.is_known_domain(domain):
        fail(messages.BadTargetVersion(
            version=str(target), domain=name,
            versions=f"the installed onnx does not know the operators of {name}",
        ))  # fmt: skip
    low, high = _oldest(domain), registry.newest(domain)
    try:
        number = operator.index(target)
    except TypeError:
        number = 0
    if isinstance(target, bool) or not low <= number <= high:
        fail(messages.BadTargetVersion(
            version=repr(target), domain=name, versions=f"versions {low} to {high} are supported"
        ))  # fmt: skip


def _converted(model: ir.Model, versions: Mapping[str, int], assume: Collection[str]) -> None:
    """Convert in place; functions that need known arguments are inlined first."""
    original = model.clone() if model.functions else None
    problems: list[Any] = []
    inline: set[Any] = set()
    for domain in versions:
        _check_imports(model, domain)
    for domain, target in versions.items():
        conversion = Conversion(model, domain, target, converted_call, assume)
        conversion.run()
        problems += conversion.problems
        inline |= {f.identifier() for f in conversion.unknown}
    if not problems:
        return
    if original is None or not inline:
        fail(*problems)
    try:
        InlinePass(lambda f: f.identifier() in inline)(original)
    except ValueError:  # a function that imports another version of an opset than the model
        fail(*problems)
    problems = []
    for domain, target in versions.items():
        conversion = Conversion(original, domain, target, converted_call, assume)
        conversion.run()
        problems += conversion.problems
    if problems:
        fail(*problems)
    model.graph = original.graph
    model.functions.clear()
    model.functions.update(original.functions)


def _ir_version(model: ir.Model, asked: int | None, *, lowered: bool) -> int:
    graph = model.graph
    lowest = lowest_ir_version(graph.opset_imports, (), least=3)
    inputs = {v.name for v in graph.inputs}
    if any(name not in inputs for name in graph.initializers):
        lowest = max(lowest, 4)
    if model.functions:
        lowest = max(lowest, 10 if any(f.overload for f in model.functions.values()) else 8)
    for tensor in (v.const_value for v in graph.initializers.values()):
        if tensor is not None:
            lowest = max(lowest, version_of_type(tensor.dtype))
    for node in all_nodes(graph):
        if any(g.initializers for g in subgraphs(node)):
            lowest = max(lowest, 4)
        for value in node.outputs:
            lowest = max(lowest, version_of_type(value.dtype))
    if asked is None:
        return lowest if lowered else max(lowest, model.ir_version)
    if asked < lowest:
        fail(messages.ModelNotConvertible(
            reason=f"IR version {asked} is older than what it holds",
            advice=f"its opsets, functions and element types need at least IR version {lowest}",
        ))  # fmt: skip
    return asked
