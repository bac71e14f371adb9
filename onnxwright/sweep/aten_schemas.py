"""The schemas of PyTorch's operators beside the functions of the table: names, order, defaults."""

from __future__ import annotations

import builtins
import functools
import importlib
import inspect
import math
import operator
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import torch

from onnxwright.atenlib.load import functions
from onnxwright.atenlib.op import IGNORED, AtenFunction, python_name
from onnxwright.types.dtypes import DType

# Why an operator of the core set has no meaning in inference, by what its schema says.
_GRADIENT = "computes a gradient"
_OUT = "writes into a tensor that is given; the exporter calls the overload that returns"
# How schemas write the default of a dtype (torch's c10::ScalarType).
_SCALAR_TYPES = {
    0: DType.UINT8, 1: DType.INT8, 2: DType.INT16, 3: DType.INT32, 4: DType.INT64,
    5: DType.FLOAT16, 6: DType.FLOAT, 7: DType.DOUBLE, 9: DType.COMPLEX64,
    10: DType.COMPLEX128, 11: DType.BOOL, 15: DType.BFLOAT16,
}  # fmt: skip
# Modules that register the operators of a namespace when they are imported.
_REGISTERED_BY = {
    "quantized_decomposed": "torch.ao.quantization.fx._decomposed",
    "torchao": "torchao.quantization",
    "torchvision": "torchvision",
    "transformers": "transformers.integrations.moe",
}
_LAYOUT = "asks for strides or storage, which ONNX values do not have"


def find_operator(name: str) -> Any:
    """The operator of a full name.

    Args:
        name: `aten::add.Tensor`; without an overload for the default one.

    Returns:
        The torch `OpOverload`, None if there is none.

    Example:
        >>> find_operator("aten::add.Tensor"), find_operator("aten::nope")
        (<OpOverload(op='aten.add', overload='Tensor')>, None)
    """
    namespace, _, rest = name.partition("::")
    if namespace in _REGISTERED_BY:
        with suppress(ModuleNotFoundError):  # an optional package
            importlib.import_module(_REGISTERED_BY[namespace])
    base, _, overload = rest.partition(".")
    operators = getattr(torch.ops, namespace)
    # Some exist only as the one that writes into its argument, such as `fill_diagonal_`.
    packet = getattr(operators, base, None) or getattr(operators, f"{base}_", None)
    return getattr(packet, overload or "default", None)


def problems(entry: AtenFunction) -> Iterator[str]:
    """Where the parameters of a function are not those of torch's schemas.

    A body that serves several overloads has the parameters of all; what one of them does not have
    needs a default there.

    Yields:
        What is wrong, a sentence each.

    Example:
        >>> from onnxwright.atenlib.rules import like
        >>> def body(op, self, diagonal=1): ...
        >>> list(problems(AtenFunction(("aten::tril",), body, like("self"), ())))
        ['aten::tril: `diagonal` is 1 by default, in torch 0']
    """
    schemas = {}
    for name in entry.names:
        if name.split("::")[0] in _PYTHON:
            yield from _of_python(entry, name)
            continue
        # The function of `aten::normal_`, which has no overload that returns, is `aten::normal`.
        operator = find_operator(name) or find_operator(_in_place(name))
        if operator is None:
            yield f"{name}: torch has no such operator"
        else:
            schemas[name] = operator._schema
    for name, schema in schemas.items():
        others = [s for n, s in schemas.items() if n != name]
        for problem in _of_overload(entry, schema, others):
            yield f"{name}: {problem}"


# Functions of Python in exported programs, on numbers: they have no schema.
_PYTHON = {"_operator": operator, "math": math, "builtins": builtins, "torch": torch}


def _of_python(entry: AtenFunction, name: str) -> Iterator[str]:
    """Where the number of parameters is not that of a Python function."""
    namespace, _, base = name.partition("::")
    function = getattr(_PYTHON[namespace], base, None)
    if function is None:
        yield f"{name}: Python has no such function"
        return
    try:
        theirs = list(inspect.signature(function).parameters)
    except ValueError:  # some built-in functions have no signature
        return
    if len(theirs) != len(entry.parameters):
        yield f"{name}: the parameters are {list(entry.parameters)}, in Python {theirs}"


def _of_overload(entry: AtenFunction, schema: Any, others: list[Any]) -> Iterator[str]:
    ours = entry.parameters
    named = {python_name(a.name): a for a in schema.arguments}
    theirs = {n: a for n, a in named.items() if n not in IGNORED or n in ours}
    for name in theirs:
        if name not in ours:
            yield f"missing parameter `{name}`"
    common = {n: a for n, a in theirs.items() if n in ours}
    if [n for n in ours if n in common] != list(common):
        yield f"the order of the parameters is {list(ours)}, in torch {list(theirs)}"
    yield from _positions(ours, common)
    elsewhere = {python_name(a.name): a for s in others for a in s.arguments}
    for name, p in ours.items():
        if name not in theirs:
            if name not in elsewhere:
                yield f"torch has no parameter `{name}`"
            elif p.default is p.empty:
                yield f"torch has no parameter `{name}` here, and it has no default"
            continue
        yield from _default(p, theirs[name], elsewhere, others)


def _positions(ours: dict[str, inspect.Parameter], theirs: dict[str, Any]) -> Iterator[str]:
    by_position = [n for n, p in ours.items() if p.kind is not p.KEYWORD_ONLY]
    positions = [n for n, a in theirs.items() if not a.kwarg_only]
    if by_position[: len(positions)] != positions:
        yield f"{positions} are given by position in torch, {by_position} here"


def _default(
    p: inspect.Parameter, theirs: Any, elsewhere: dict[str, Any], others: list[Any]
) -> Iterator[str]:
    name = p.name
    if not theirs.has_default_value():
        shared = any(name not in {python_name(a.name) for a in s.arguments} for s in others) or (
            name in elsewhere and elsewhere[name].has_default_value()
        )
        if p.default is not p.empty and not shared:
            yield f"`{name}` is {p.default!r} by default, in torch it must be given"
    elif p.default is p.empty:
        yield f"`{name}` must be given, in torch it is {theirs.default_value!r} by default"
    elif not _same(p.default, theirs.default_value):
        yield f"`{name}` is {p.default!r} by default, in torch {theirs.default_value!r}"


def _same(ours: Any, theirs: Any) -> bool:
    """Whether two defaults mean the same; one number for all axes is that number for each."""
    if isinstance(ours, DType):
        return _SCALAR_TYPES.get(theirs) is ours
    if isinstance(theirs, (list, tuple)):
        several = tuple(ours) if isinstance(ours, (list, tuple)) else (ours,)
        return several == tuple(theirs) or (len(several) == 1 and set(theirs) == set(several))
    return isinstance(ours, bool) is isinstance(theirs, bool) and bool(ours == theirs)


def _in_place(name: str) -> str:
    base, dot, overload = name.partition(".")
    return f"{base}_{dot}{overload}"


def has_function(name: str) -> bool:
    """Whether the table has a function for an operator; for one in place, that of its twin.

    Returns:
        True for `aten::add_.Tensor` too.

    Example:
        >>> has_function("aten::add_.Tensor"), has_function("aten::nope")
        (True, False)
    """
    table = functions()
    base, dot, overload = name.partition(".")
    return name in table or (base.endswith("_") and f"{base[:-1]}{dot}{overload}" in table)


def count_returned(target: Any, result: Any) -> str:
    """How a result differs in number from what the schema of an operator returns.

    Args:
        target: a torch `OpOverload`.
        result: what our function of it gave.

    Returns:
        What is wrong; empty if nothing is.

    Example:
        >>> count_returned(torch.ops.aten.topk.default, ["values"])
        'aten::topk returns 2 values, ours 1'
    """
    returns = target._schema.returns
    several = isinstance(result, (list, tuple))
    if len(returns) == 1:
        is_list = str(returns[0].type).startswith("List")
        if several is not is_list:
            return f"{target._schema.name} returns {'a list' if is_list else 'one value'}"
        return ""
    if not several or len(result) != len(returns):
        ours = len(result) if several else 1
        return f"{target._schema.name} returns {len(returns)} values, ours {ours}"
    return ""


@functools.cache
def core_operators() -> tuple[str, ...]:
    """The overloads that the installed torch tags as its core set, sorted.

    Example:
        >>> "aten::add.Tensor" in core_operators()
        True
    """
    operators = []
    for name in torch._C._dispatch_get_all_op_names():
        target = find_operator(name) if name.startswith("aten::") else None
        if target is not None and torch.Tag.core in target.tags:
            operators.append(name)
    return tuple(sorted(operators))


def no_inference(name: str) -> str:
    """Why an operator needs no function: what its schema says it does has no place in a model.

    Returns:
        The reason; empty for an operator that needs one.

    Example:
        >>> no_inference("aten::convolution_backward"), no_inference("aten::add.Tensor")
        ('computes a gradient', '')
    """
    target = find_operator(name)
    schema = target._schema
    if schema.name.endswith("_backward"):
        return _GRADIENT
    if any(a.is_out for a in schema.arguments):
        return _OUT
    if not any("Tensor" in str(r.type) for r in schema.returns) and schema.name.startswith(
        ("aten::sym_stride", "aten::sym_storage_offset", "aten::sym_is_contiguous")
    ):
        return _LAYOUT
    return ""
