"""Errors about nodes of a captured program: no function, a function that fails, a wrong result."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import torch
from torch.fx import Node

from onnxwright.atenlib.complexes import Complex
from onnxwright.diagnostics.caller import is_internal
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import Label, fail
from onnxwright.diagnostics.span import Span, source_line
from onnxwright.errors import AtenError, OnnxwrightError
from onnxwright.exporter.places import module_of, operator_text, span_of, span_of_error, target_name
from onnxwright.exporter.report.export_report import Report
from onnxwright.exporter.translate.lowerings import OWN, Found, Lowerings
from onnxwright.exporter.translate.node_facts import inputs_of, note_of, type_of
from onnxwright.semantics.graph_value import GraphValue

_TABLE = "`custom_translation_table`"


def raise_missing(
    missing: Mapping[str, Sequence[Node]],
    unresolved: Mapping[str, set[str]],
    lowerings: Lowerings,
    report: Report,
) -> None:
    """Report all operators without a function, at once.

    Args:
        unresolved: what torch's decomposition of such an operator itself needs and lacks.

    Raises:
        ExportError: there is one at least (OW822).
    """
    if not missing:
        return
    names = sorted(missing)
    notes: list[str] = []
    labels: list[Label] = []
    first = span_of(missing[names[0]][0])
    for name in names:
        notes += _about(name, missing[name], unresolved.get(name, set()), lowerings, report)
        report.ways |= dict.fromkeys((operator_text(n.target) for n in missing[name]), "(nothing)")
        report.failures += [
            note_of(node, "no ONNX lowering for it", report.dimensions) for node in missing[name]
        ]
        span = span_of(missing[name][0])
        if span is not None and first is not None and span != first:
            labels.append(Label(span, name))
    here = [n for n in names if span_of(missing[n][0]) == first]
    notes.append(f"tried: {', '.join(lowerings.ways)}, PyTorch's decomposition of the operator")
    target = missing[names[0]][0].target
    fail(
        messages.NoLowering(
            count="one operator" if len(names) == 1 else f"{len(names)} operators",
            names=", ".join(f"`{n}`" for n in names),
            target=", ".join(here),
            first=repr(names[0]),
            signature=_parameters(target),
            notes=tuple(notes),
            labels=tuple(labels),
            span=first,
        )
    )


def _about(
    name: str, nodes: Sequence[Node], lacking: set[str], lowerings: Lowerings, report: Report
) -> list[str]:
    """What is said of one operator without a function."""
    count = "once," if len(nodes) == 1 else f"{len(nodes)} times, first"
    path, kind = module_of(nodes[0])
    place = f" in `{path}` ({kind})" if path else ""
    results = type_of(nodes[0].meta.get("val"), report.dimensions)
    near = lowerings.nearest(name)
    hint = f"; the nearest function is `{near}`" if near else ""
    inputs = ", ".join(inputs_of(nodes[0], report.dimensions))
    lines = [f"{name}, {count} as `{nodes[0].name}`{place}{hint}\nof ({inputs}) -> {results}"]
    if lacking:
        needs = ", ".join(sorted(lacking))
        lines.append(f"torch's decomposition of {name} needs {needs}")
    return lines


def _parameters(target: Any) -> str:
    """What a function for an operator takes after `op`, as Python writes it."""
    schema = getattr(target, "_schema", None)
    names = [a.name for a in schema.arguments] if schema is not None else ["..."]
    return ", ".join(["op", *names])


def raise_lowering_failed(
    node: Node, name: str, error: Exception, lowering: Found | None, report: Report
) -> NoReturn:
    """Report that the function for a node failed.

    Args:
        lowering: the function; None for torch's decomposition.

    Raises:
        ExportError: always (OW823).
    """
    reason = f"{type(error).__name__}: {error}".split("\n")[0]
    hint = ""
    if isinstance(error, OnnxwrightError):
        first = error.diagnostic
        reason = first.words(type(first).title)
        hint = first.optional_words(type(first).help) if isinstance(error, AtenError) else ""
    notes = [*_node_notes(node, report)]
    own = lowering is not None and lowering.way in OWN
    if lowering is not None and own:
        notes.append(_called_with(node, lowering.function, report))
    elif not isinstance(error, OnnxwrightError):
        hint = f"this is a bug in onnxwright's function; {_TABLE} can replace it meanwhile"
    if not hint:
        hint = (
            f"the function is the one that {lowering.way} gives"
            if lowering is not None and own
            else f"give a function of your own with {_TABLE}"
        )
    report.failures.append(note_of(node, reason, report.dimensions))
    place = _place_in(error, lowering.function) if lowering is not None and own else None
    failed = messages.LoweringFailed(
        node=node.name,
        target=name,
        reason=reason,
        hint=hint,
        notes=tuple(notes),
        labels=(Label(place, "in this function"),) if place is not None else (),
        span=span_of(node),
    )
    try:
        fail(failed)
    except OnnxwrightError as located:
        raise located from error


def wrong_kind(node: Node, result: Any) -> str:
    """What is wrong with the kind of a result; empty if nothing is.

    Returns:
        A clause, such as "the function gives a str, a value that `op` made is wanted".
    """
    fake = node.meta.get("val")
    if isinstance(fake, torch.Tensor):
        if _is_tensor(result) or isinstance(result, (bool, int, float)):
            return ""
        if isinstance(result, (list, tuple)):
            return f"the function gives {len(result)} values, one is wanted"
        return f"the function gives {_kind(result)}, a value that `op` made is wanted"
    if isinstance(fake, (list, tuple)):
        if not isinstance(result, (list, tuple)):
            return f"the function gives one value, a tuple of {len(fake)} is wanted"
        if len(result) != len(fake):
            return f"the function gives {len(result)} values, {len(fake)} are wanted"
        for n, (one, fake_part) in enumerate(zip(result, fake, strict=True)):
            if isinstance(fake_part, torch.Tensor) and not _is_tensor(one) and one is not None:
                return (
                    f"value {n} of the function is {_kind(one)}, a value that `op` made is wanted"
                )
    return ""


def _is_tensor(value: Any) -> bool:
    return isinstance(value, (GraphValue, Complex))


def raise_wrong_kind(
    node: Node, name: str, reason: str, lowering: Found, report: Report
) -> NoReturn:
    """Report that a user's function returned something that cannot be the result of a node.

    Raises:
        ExportError: always (OW823).
    """
    report.failures.append(note_of(node, reason, report.dimensions))
    place = _definition(lowering.function)
    fail(
        messages.LoweringFailed(
            node=node.name,
            target=name,
            reason=reason,
            hint=f"the function is the one that {lowering.way} gives; return what `op` makes",
            notes=(*_node_notes(node, report), _called_with(node, lowering.function, report)),
            labels=(Label(place, "this function"),) if place is not None else (),
            span=span_of(node),
        )
    )


def raise_wrong_result(
    node: Node, name: str, got: str, expected: str, lowering: Found | None, report: Report
) -> NoReturn:
    """Report that a result has another element type or shape than torch says.

    Raises:
        ExportError: always (OW824).
    """
    report.failures.append(note_of(node, f"the model has {got}", report.dimensions))
    place = _definition(lowering.function) if lowering is not None and lowering.way in OWN else None
    fail(
        messages.WrongResult(
            node=node.name,
            target=name,
            got=got,
            expected=expected,
            notes=tuple(_node_notes(node, report)),
            labels=(Label(place, "this function"),) if place is not None else (),
            span=span_of(node),
        )
    )


def _node_notes(node: Node, report: Report) -> list[str]:
    results = type_of(node.meta.get("val"), report.dimensions)
    inputs = ", ".join(inputs_of(node, report.dimensions))
    lines = [f"the node: {target_name(node.target)}({inputs}) -> {results}"]
    path, kind = module_of(node)
    if path or kind:
        lines.append(f"in module `{path or '(the model)'}` of class {kind}")
    return lines


def _called_with(node: Node, function: Any, report: Report) -> str:
    """What a function of the user's takes, and what it is given."""
    inner = getattr(function, "__wrapped__", function)
    name = getattr(inner, "__name__", type(inner).__name__)
    inputs = [*(["op"] if inner is function else []), *inputs_of(node, report.dimensions)]
    try:
        takes = str(inspect.signature(inner))
    except (TypeError, ValueError):
        takes = "(...)"
    return f"`{name}{takes}` is called with ({', '.join(inputs)})"


def _place_in(error: Exception, function: Callable[..., Any]) -> Span | None:
    """The line of the user's function that an error comes from; else the function itself."""
    inner = getattr(function, "__wrapped__", function)
    file = getattr(getattr(inner, "__code__", None), "co_filename", None)
    frames = {frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)}
    if file in frames:
        return span_of_error(error)
    return _definition(function)


def _definition(function: Any) -> Span | None:
    """The first line of a function of the user's."""
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    if code is None or is_internal(code.co_filename, {}):
        return None
    line = code.co_firstlineno
    text = (source_line(code.co_filename, line) or "").rstrip()
    start = len(text) - len(text.lstrip())
    return Span(code.co_filename, line, start, line, max(len(text), start + 1))


def _kind(value: Any) -> str:
    """A value as text: `None`, `a str`, `a torch.Tensor`."""
    if value is None:
        return "None"
    kind = type(value)
    where = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return f"a {where}{kind.__qualname__}"
