"""How a call of an operator is read by its schema, and the message for a call that does not fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from onnxwright.diagnostics.catalogue.opcalls import (
    AttributeOutOfRange,
    GivenTwice,
    MissingAttribute,
    MissingInput,
    TensorAsAttribute,
    TooFewInputs,
    TooManyInputs,
    UnknownKeyword,
    WrongAttributeType,
)
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.opset import registry
from onnxwright.opset.attributes import (
    OutOfRangeError,
    WrongTypeError,
    describe,
    is_tensor_value,
    normalizer,
    special_normalizer,
)
from onnxwright.opset.describe import did_you_mean
from onnxwright.opset.registry import AttrParam, OpSignature


class CallPlan:
    """What binding needs of a schema, computed once."""

    __slots__ = (
        "attributes",
        "fixed",
        "index",
        "least",
        "least_outputs",
        "limit",
        "needed",
        "order",
        "required",
        "variadic",
    )

    def __init__(self, sig: OpSignature) -> None:
        position = sig.variadic_input
        self.variadic = None if position is None else sig.inputs[position]
        self.fixed = sig.inputs if position is None else sig.inputs[:position]
        # Positional arguments up to this many are inputs.
        self.limit = len(self.fixed) if position is None else registry.UNLIMITED
        self.required = tuple(i for i, p in enumerate(self.fixed) if not p.is_optional)
        self.least = self.required[-1] + 1 if self.required else 0
        if self.variadic is not None:
            self.least = max(self.least, sig.min_input)
        self.least_outputs = max(1, sum(1 for p in sig.outputs if p.option == "single"))
        self.attributes: dict[str, tuple[AttrParam, Callable[[Any], object]]] = {
            a.name: (a, normalizer(a.kind)) for a in sig.attributes.values()
        }
        for name, attr in sig.attributes.items():
            special = special_normalizer(sig.domain, sig.name, name)
            if special is not None:
                self.attributes[name] = (attr, special)
        # NOTE: required ones first, so that `op.Cast(x, FLOAT)` means `to=FLOAT`.
        self.order = tuple(sorted(sig.attributes, key=lambda n: not sig.attributes[n].required))
        self.needed = tuple(name for name in self.order if sig.attributes[name].required)
        self.index = {p.name: i for i, p in enumerate(sig.inputs) if p.name not in sig.attributes}


def normal_form(
    op: str,
    signature: OpSignature | None,
    attribute: tuple[AttrParam, Callable[[Any], object]],
    value: Any,
) -> Any:
    """An attribute value in its normal form.

    Args:
        attribute: the attribute, and what converts a value to its kind.

    Raises:
        ScriptTypeError: the value does not fit the attribute.
        ScriptValueError: a number is too large for it.
    """
    attr, convert = attribute
    try:
        return convert(value)
    except WrongTypeError:
        kind, shown = attr.kind.python, str(signature)
        if is_tensor_value(value) or (
            isinstance(value, (list, tuple)) and any(is_tensor_value(v) for v in value)
        ):
            fail(TensorAsAttribute(op=op, name=attr.name, kind=kind, signature=shown))
        description = describe(value)
        fail(
            WrongAttributeType(op=op, name=attr.name, kind=kind, value=description, signature=shown)
        )
    except OutOfRangeError as error:
        limit = str(error) or "an int attribute has 64 bits, a float attribute 32"
        fail(AttributeOutOfRange(op=op, name=attr.name, value=describe(value), limit=limit))


def fail_too_many(
    op: str, signature: OpSignature | None, plan: CallPlan, count: int, *, attributes: bool = False
) -> NoReturn:
    """Refuse positional arguments; `attributes`: also more than inputs and attributes together."""
    most = _plural(len(plan.fixed), "input")
    if attributes and plan.order:
        most += f" and {_plural(len(plan.order), 'attribute')}"
    fail(TooManyInputs(op=op, most=most, count=count, signature=str(signature)))


def fail_twice(op: str, signature: OpSignature | None, name: str) -> NoReturn:
    """Refuse an argument that is given by position and by name."""
    fail(GivenTwice(op=op, name=name, signature=str(signature)))


def fail_attribute(op: str, signature: OpSignature | None, attr: AttrParam) -> NoReturn:
    """Refuse a call without an attribute that the operator needs."""
    kind = attr.kind.python
    fail(MissingAttribute(op=op, name=attr.name, kind=kind, signature=str(signature)))


def fail_missing(
    op: str, signature: OpSignature | None, plan: CallPlan, inputs: Sequence[Any]
) -> NoReturn:
    """Refuse a call without an input that the operator needs, by the name of that."""
    shown = str(signature)
    for i in plan.required:
        if i >= len(inputs) or inputs[i] is None:
            fail(MissingInput(op=op, name=plan.fixed[i].name, signature=shown))
    for i, value in enumerate(inputs[len(plan.fixed) :]):
        if value is None and plan.variadic is not None:
            fail(MissingInput(op=op, name=f"{plan.variadic.name}[{i}]", signature=shown))
    least = _plural(plan.least, "input")
    fail(TooFewInputs(op=op, least=least, count=len(inputs), signature=shown))


def fail_unknown(op: str, signature: OpSignature | None, key: str) -> NoReturn:
    """Refuse a keyword that is neither an input nor an attribute."""
    assert signature is not None, "custom operators take any keyword"
    names = [p.name for p in signature.inputs] + list(signature.attributes)
    close = did_you_mean(key, names)
    hint = f"the operator is {signature}"
    if close:
        hint = f"did you mean `{close}`? {hint}"
    fail(UnknownKeyword(op=op, name=key, hint=hint, signature=str(signature), meant=close))


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
