"""ONNX's own node tests, and a script that claims to be an operator run on them."""

from __future__ import annotations

import importlib.util
import itertools
import pkgutil
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from onnxwright.diagnostics.catalogue.eager import NoKernel
from onnxwright.dsl.function import ScriptFunction
from onnxwright.eager.values import type_of_value
from onnxwright.errors import OnnxwrightError
from onnxwright.operators import facts
from onnxwright.opset import registry
from onnxwright.types.annotations import ValueSpec
from onnxwright.types.kinds import fits

# What ONNX Runtime says of a model with a node that it has no kernel for.
_NO_KERNEL = "NOT_IMPLEMENTED"
RIGHT, WRONG, SKIPPED = "right", "wrong", "skipped"


@dataclass(frozen=True)
class CaseResult:
    """What became of one node test.

    Fields:
        case: its name.
        verdict: "right", "wrong" or "skipped".
        reason: why it is wrong or skipped; empty where it is right.
    """

    case: str
    verdict: str
    reason: str = ""


@cache
def node_cases() -> tuple[Any, ...]:
    """The node tests of the installed onnx, made in memory: its wheels hold no files of them.

    Returns:
        All cases (`onnx.backend.test.case.test_case.TestCase`), sorted by name.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        from onnx.backend.test.case import node
        from onnx.backend.test.case.utils import import_recursive

        import_recursive(node)
    return tuple(sorted(node._NodeTestCases, key=lambda case: case.name))


def _cases_with(name: str) -> list[Any]:
    """The node tests in the modules that name an operator; all of them where no module does.

    Making every test takes seconds.
    """
    from onnx.backend.test.case import node

    modules = pkgutil.walk_packages(node.__path__, node.__name__ + ".")
    files = {module.name: importlib.util.find_spec(module.name) for module in modules}
    named = [
        module
        for module, spec in files.items()
        if spec is not None
        and spec.origin is not None
        and f'"{name}"' in Path(spec.origin).read_text(encoding="utf-8")
    ]
    if not named:
        return list(node_cases())
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for module in named:
            importlib.import_module(module)
    return sorted(node._NodeTestCases, key=lambda case: str(case.name))


def cases_of(name: str, domain: str = "") -> list[Any]:
    """The node tests of one operator: those whose model is one node of it.

    Example:
        >>> [case.name for case in cases_of("Abs")]
        ['test_abs']
    """
    cases = []
    for case in _cases_with(name):
        nodes = [] if case.model is None else list(case.model.graph.node)
        if len(nodes) == 1 and (nodes[0].op_type, _plain(nodes[0].domain)) == (name, domain):
            cases.append(case)
    return cases


def judge(script: ScriptFunction[..., Any], case: Any) -> CaseResult:
    """Run a script as the operator of a node test: line by line, and compiled.

    Inputs are given in order, attributes by their names; an attribute that neither the test nor the
    script gives has the default of the operator.

    Returns:
        Whether all outputs of all data sets are right in both ways.
    """
    compiled = script.compile()
    for inputs, outputs in case.data_sets:
        try:
            args, attributes = _call(script, case.model, inputs, outputs)
            for way, run in (("eager", script), ("compiled", compiled)):
                reason = _tried(run, args, attributes, outputs, case)
                if reason:
                    return CaseResult(case.name, WRONG, f"{way}: {reason}")
        except _Unfit as unfit:
            return CaseResult(case.name, SKIPPED, str(unfit))
    return CaseResult(case.name, RIGHT)


def counts(results: Sequence[CaseResult]) -> dict[str, int]:
    """How many results there are of each verdict."""
    verdicts = Counter(result.verdict for result in results)
    return {verdict: verdicts[verdict] for verdict in (RIGHT, WRONG, SKIPPED)}


class _Unfit(Exception):  # noqa: N818 - a reason to skip a test, no failure
    """A test that is about something the script does not claim to have."""


def _tried(
    run: Callable[..., Any],
    args: Sequence[Any],
    attributes: dict[str, Any],
    outputs: Sequence[Any],
    case: Any,
) -> str:
    """What is wrong with the results of a call; empty where they are right."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = run(*args, **attributes)
    except OnnxwrightError as error:
        first = str(error).split("\n", 1)[0]
        if isinstance(error.diagnostics[0], NoKernel) or _NO_KERNEL in str(error):
            raise _Unfit(first) from error
        return first
    results = result if isinstance(result, tuple) else (result,)
    if len(results) < len(outputs):
        return f"{_counted(len(results), 'result')}, the test has {len(outputs)}"
    op_type = case.model.graph.node[0].op_type
    for n, (one, other) in enumerate(zip(results, outputs, strict=False)):
        reason = _difference(one, other, case, op_type)
        if reason:
            return f"output {n}: {reason}"
    return ""


def _call(
    script: ScriptFunction[..., Any],
    model: onnx.ModelProto,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of the call that the test asks for."""
    node, signature = model.graph.node[0], script.signature
    values = dict(zip((info.name for info in model.graph.input), inputs, strict=False))
    args = [_value(values[name]) if name in values else None for name in node.input]
    params = list(signature.values)
    if not any(p.is_variadic for p in params) and len(args) > len(params):
        if any(arg is not None for arg in args[len(params) :]):
            raise _Unfit(f"{_counted(len(args), 'input')}, the script has {len(params)}")
        args = args[: len(params)]
    spread = itertools.chain(params, itertools.repeat(params[-1])) if params else iter(())
    for arg, param in zip(args, spread, strict=False):
        _check_type(arg, param.name, param.spec)
    for param in params[len(args) :]:
        if param.required:
            raise _Unfit(f"no input for the parameter `{param.name}`")
    if signature.returns is not None and len(signature.returns) < len(outputs):
        have = len(signature.returns)
        raise _Unfit(f"{_counted(len(outputs), 'output')}, the script has {have}")
    return args, _attributes(script, model)


def _attributes(script: ScriptFunction[..., Any], model: onnx.ModelProto) -> dict[str, Any]:
    """The attributes of a call: the test's; the operator's defaults where the script has none."""
    node = model.graph.node[0]
    attributes = {a.name: _attribute(a) for a in node.attribute}
    imported = {_plain(o.domain): o.version for o in model.opset_import}
    domain = _plain(node.domain)
    operator = registry.signature(domain, node.op_type, imported.get(domain, 1))
    defaults = {a.name: a.default for a in operator.attributes.values()} if operator else {}
    params = {p.name: p for p in script.signature.attributes}
    keywords = {}
    for name, value in attributes.items():
        if name in params:
            keywords[name] = value
        elif value != defaults.get(name):
            raise _Unfit(f"the attribute `{name}`, which the script does not have")
    for name, param in params.items():
        if name in keywords or not param.required:
            continue
        if defaults.get(name) is None:
            raise _Unfit(f"no value for the attribute `{name}`")
        keywords[name] = defaults[name]
    return keywords


def _check_type(arg: Any, name: str, spec: object) -> None:
    if not isinstance(spec, ValueSpec):
        return
    if arg is None:
        if not spec.optional:
            raise _Unfit(f"no input for the parameter `{name}`")
        return
    actual = type_of_value(arg)
    if spec.types and not any(fits(actual, kind) for kind in spec.types):
        raise _Unfit(f"`{name}` is {actual}, the script takes {spec}")


def _attribute(proto: onnx.AttributeProto) -> Any:
    value = helper.get_attribute_value(proto)
    if isinstance(value, bytes):
        return value.decode()
    if proto.type == onnx.AttributeProto.STRINGS:
        return [text.decode() for text in value]
    return list(value) if proto.type in (proto.INTS, proto.FLOATS) else value


def _value(value: Any) -> Any:
    """A value of a data set as scripts take it."""
    if isinstance(value, onnx.TensorProto):
        return _value(numpy_helper.to_array(value))
    if isinstance(value, list):
        return [_value(item) for item in value]
    if isinstance(value, np.generic):
        return np.asarray(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "SU":
        return value.astype(object)
    return value


def _difference(actual: Any, expected: Any, case: Any, op_type: str) -> str:
    """Why two values differ; empty where they do not."""
    expected = _value(expected)
    if actual is None or expected is None:
        return "" if actual is expected else "one of the two is absent"
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return f"not a sequence of {len(expected)}"
        parts = (_difference(a, w, case, op_type) for a, w in zip(actual, expected, strict=True))
        return next(filter(None, parts), "")
    actual = np.asarray(getattr(actual, "value", actual))
    if (actual.dtype, actual.shape) != (expected.dtype, expected.shape):
        has = f"{expected.dtype}{list(expected.shape)}"
        return f"{actual.dtype}{list(actual.shape)}, the test has {has}"
    if facts(op_type).random:  # types and shapes are compared
        return ""
    if actual.dtype == object:
        return "" if np.array_equal(actual, expected) else "other texts"
    if actual.dtype.name not in np.sctypeDict:  # the small floats and integers of ml_dtypes
        actual, expected = actual.astype(np.float32), expected.astype(np.float32)
    if np.allclose(actual, expected, rtol=case.rtol, atol=case.atol, equal_nan=True):
        return ""
    differ = ~np.isclose(actual, expected, rtol=case.rtol, atol=case.atol, equal_nan=True)
    place = tuple(int(n) for n in np.argwhere(differ)[0])
    at = f"at {list(place)} " if place else ""
    count = f"{int(differ.sum())} of {differ.size}"
    return f"{count} differ: {at}{actual[place]}, not {expected[place]}"


def _plain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
