"""One operator of one opset: what `op.Add` is, and how a call of it is read.

`Op.bind` turns Python arguments into inputs in schema order and checked attributes; nothing is
computed here.  Calling an `Op` hands it to the dispatcher of `op_dispatch`, which eager mode sets.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

from onnxwright import op_dispatch
from onnxwright.diagnostics.catalogue.opcalls import BadReservedKeyword
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.unicode_text import check_text
from onnxwright.op_dispatch import Dispatcher, set_dispatcher
from onnxwright.opset import registry
from onnxwright.opset.attributes import MOST_OUTPUTS, describe, is_tensor_value
from onnxwright.opset.call_plans import (
    CallPlan,
    fail_attribute,
    fail_missing,
    fail_too_many,
    fail_twice,
    fail_unknown,
    normal_form,
)
from onnxwright.opset.describe import ANY_SIGNATURE, document, python_signature
from onnxwright.opset.registry import OpSignature
from onnxwright.types.kinds import AttrKind
from onnxwright.types.tensors import Value

if TYPE_CHECKING:
    from onnx.defs import OpSchema

RESERVED = frozenset({"_outputs", "_name"})
_UNREAD: Any = object()
_NO_ATTRIBUTES: Mapping[str, Any] = {}


class OperatorSet(Protocol):
    """What an operator knows of the opset it belongs to; `Opset` is the class."""

    @property
    def domain(self) -> str:
        """The domain, "" for the standard one."""

    @property
    def version(self) -> int:
        """The version."""

    def signature_of(self, name: str) -> OpSignature | None:
        """The schema of an operator; None for a domain that onnx does not know."""

    def __getitem__(self, name: str) -> Op:
        """An operator by name."""


T = TypeVar("T")


class BoundCall(NamedTuple):
    """A call of an operator, read by its schema.

    Fields:
        op: the operator.
        inputs: the inputs in schema order; None is an absent optional one.
        attributes: the attributes that were given, in their normal form.
        outputs: the number of outputs asked for with `_outputs=`, if it was.
        name: the name of the node asked for with `_name=`, if it was.
    """

    op: Op
    inputs: tuple[Any, ...]
    attributes: dict[str, Any]
    outputs: int | None = None
    name: str | None = None


class _OpDoc:
    """The documentation of an operator, made from its schema when it is read."""

    def __get__(self, op: Op | None, owner: type | None = None) -> str:
        if op is None:
            return (
                "An operator of an opset, such as `opset18.Add`.\n\n"
                "Args:\n"
                "    opset: the opset it belongs to.\n"
                "    name: its name.\n\n"
                "Example:\n"
                "    >>> from onnxwright.opset import opset18\n"
                "    >>> opset18.Add.version, opset18.Add.signature.since_version\n"
                "    (18, 14)\n"
            )
        sig = op.signature
        if sig is None:
            return f"{op.name}(*inputs, **attributes): a custom operator of {op.opset!r}."
        return document(sig)


class Op:  # noqa: D101 - `_OpDoc` gives the docstring
    # NOTE: no docstring here, `_OpDoc` gives it; an instance documents its operator.
    __slots__ = ("__name__", "__weakref__", "_plan", "_signature", "domain", "name", "opset")

    __doc__ = cast(Any, _OpDoc())

    def __init__(self, opset: OperatorSet, name: str) -> None:
        self.opset = opset
        self.domain: str = opset.domain
        self.name = self.__name__ = name
        self._signature: OpSignature | None = _UNREAD
        self._plan: CallPlan | None = None

    @property
    def version(self) -> int:
        """The version of its opset."""
        return self.opset.version

    @property
    def signature(self) -> OpSignature | None:
        """Its schema as data; None for an operator of a domain that onnx does not know.

        Raises:
            ScriptAttributeError: onnx knows the domain, but not this operator in it.
        """
        if self._signature is _UNREAD:
            self._signature = self.opset.signature_of(self.name)
        return self._signature

    def _planned(self) -> CallPlan | None:
        """What binding needs of the schema; None for a custom operator."""
        if self._plan is None:
            sig = self.signature
            if sig is None:
                return None
            self._plan = CallPlan(sig)
        return self._plan

    @property
    def least_outputs(self) -> int:
        """How many outputs a call has that does not say it: all that are required."""
        plan = self._planned()
        return 1 if plan is None else plan.least_outputs

    def listed(self, inputs: Sequence[T]) -> list[T | None]:
        """Inputs without absent ones at the end, but as many as a node has to list.

        Example:
            >>> from onnxwright.opset import opset18
            >>> opset18.Clip.listed(["x", "low", None]), opset18.Loop.listed(["trips"])
            (['x', 'low'], ['trips', None])
        """
        plan = self._planned()
        least = 0 if plan is None else plan.least
        operands: list[T | None] = list(inputs)
        while len(operands) > least and operands[-1] is None:
            operands.pop()
        if plan is not None and len(operands) < least:
            absent = plan.fixed[len(operands) : least]
            operands += [None] * len(absent) if all(p.is_optional for p in absent) else []
        return operands

    @property
    def since_version(self) -> int:
        """The opset version its schema came with; the version of a custom opset."""
        sig = self.signature
        return self.version if sig is None else sig.since_version

    @property
    def op_schema(self) -> OpSchema | None:
        """The schema itself, as onnx has it."""
        sig = self.signature
        return None if sig is None else sig.schema

    @property
    def __signature__(self) -> inspect.Signature:
        """What `inspect.signature` shows."""
        sig = self.signature
        return ANY_SIGNATURE if sig is None else python_signature(sig)

    def __repr__(self) -> str:
        return f"{self.opset!r}.{self.name}"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Op) and self.name == other.name and self.opset == other.opset

    def __hash__(self) -> int:
        return hash((self.opset, self.name))

    def __reduce__(self) -> tuple[Any, ...]:
        return Op, (self.opset, self.name)

    def __call__(self, *args: Any, **kwargs: Any) -> Value:
        """Run the operator on its arguments, at once."""
        dispatch = op_dispatch.dispatcher
        if dispatch is None:
            raise RuntimeError("nothing can run operators: no dispatcher is set")
        result: Value = dispatch(self, args, kwargs)
        return result

    def bind(self, args: Iterable[Any], kwargs: Mapping[str, Any] = _NO_ATTRIBUTES) -> BoundCall:
        """Read the arguments of a call by the schema.

        Args:
            args: positional arguments: inputs in order, then (unless the last input is variadic)
                attributes, required ones first.
            kwargs: inputs and attributes by name; `_outputs=` and `_name=`.  An attribute of
                None is not given; an input of None is absent.

        Returns:
            The inputs and the attributes.

        Raises:
            ScriptTypeError: the call does not fit the schema.
            ScriptValueError: a number is too large for an attribute.

        Source:
            The schema.

        Example:
            >>> from onnxwright.opset import opset18
            >>> call = opset18.Clip.bind(("x",), {"max": "m"})
            >>> call.inputs, call.attributes
            (('x', None, 'm'), {})
        """
        plan = self._planned()
        if plan is None:
            return _bind_custom(self, tuple(args), kwargs)
        inputs = list(args)
        attributes: dict[str, Any] = {}
        outputs = name = None
        if len(inputs) > plan.limit:
            inputs = self._spill(plan, inputs, attributes)
        if kwargs:
            inputs, outputs, name = self._keywords(plan, inputs, attributes, kwargs)
        is_full = len(inputs) >= plan.least
        for value in inputs:
            if value is None:
                is_full = False
        if not is_full:
            inputs = self._present(plan, inputs)
        for key in plan.needed:
            if key not in attributes:
                fail_attribute(self.name, self.signature, plan.attributes[key][0])
        return BoundCall(self, tuple(inputs), attributes, outputs, name)

    def _present(self, plan: CallPlan, inputs: list[Any]) -> list[Any]:
        """Inputs of which some are absent, as a node lists them; one that is needed is an error."""
        inputs = self.listed(inputs)
        if len(inputs) < plan.least:
            fail_missing(self.name, self.signature, plan, inputs)
        for i in plan.required:
            if inputs[i] is None:
                fail_missing(self.name, self.signature, plan, inputs)
        if plan.variadic is not None:
            for value in inputs[len(plan.fixed) :]:
                if value is None:
                    fail_missing(self.name, self.signature, plan, inputs)
        return inputs

    def _keywords(
        self,
        plan: CallPlan,
        inputs: list[Any],
        attributes: dict[str, Any],
        kwargs: Mapping[str, Any],
    ) -> tuple[list[Any], int | None, str | None]:
        """Read the keywords: attributes are filled in, inputs and the reserved ones returned."""
        outputs = name = None
        positional = len(inputs)
        for key, value in kwargs.items():
            attribute = plan.attributes.get(key)
            if attribute is not None:
                if value is None:
                    continue
                if key in attributes:
                    fail_twice(self.name, self.signature, key)
                attributes[key] = normal_form(self.name, self.signature, attribute, value)
            elif key in plan.index:
                inputs = self._place(plan, inputs, key, value, positional)
            elif key == "_outputs":
                outputs = None if value is None else self._count(value)
            elif key == "_name":
                name = self._node_name(value)
            else:
                fail_unknown(self.name, self.signature, key)
        return inputs, outputs, name

    def attribute(self, name: str, value: object) -> object:
        """One attribute value in its normal form.

        Args:
            name: an attribute of the operator.
            value: what a call gives for it; not None.

        Returns:
            The value as the kind of the attribute has it.

        Raises:
            ScriptTypeError: the value does not fit the attribute.
            ScriptValueError: a number is too large for it.

        Example:
            >>> from onnxwright.opset import opset18
            >>> opset18.Concat.attribute("axis", True)
            1
        """
        signature = self.signature
        if signature is None or name not in signature.attributes:
            return value
        plan = self._planned()
        assert plan is not None
        return normal_form(self.name, signature, plan.attributes[name], value)

    def _spill(self, plan: CallPlan, values: list[Any], attributes: dict[str, Any]) -> list[Any]:
        """The inputs among positional arguments; the rest goes to attributes."""
        extra = values[plan.limit :]
        if len(extra) > len(plan.order):
            fail_too_many(self.name, self.signature, plan, len(values), attributes=True)
        for key, value in zip(plan.order, extra, strict=False):
            if value is not None:
                if is_tensor_value(value) and plan.attributes[key][0].kind is not AttrKind.TENSOR:
                    # More tensors than inputs: the likelier mistake by far.
                    fail_too_many(self.name, self.signature, plan, len(values))
                attributes[key] = normal_form(
                    self.name, self.signature, plan.attributes[key], value
                )
        return values[: plan.limit]

    def _place(
        self, plan: CallPlan, inputs: list[Any], key: str, value: Any, positional: int
    ) -> list[Any]:
        """The inputs with one more, given by its name."""
        position = plan.index[key]
        if position < positional:
            fail_twice(self.name, self.signature, key)
        inputs = inputs + [None] * (position + 1 - len(inputs))
        if plan.variadic is not None and position == len(plan.fixed):
            values = list(value) if isinstance(value, (list, tuple)) else [value]
            return inputs[:position] + values
        inputs[position] = value
        return inputs

    def _count(self, value: object) -> int:
        """The value of `_outputs=`."""
        sig = self.signature
        most = min(MOST_OUTPUTS, registry.UNLIMITED if sig is None else sig.max_output)
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most:
            return value
        limit = "from 1" if most == MOST_OUTPUTS else f"from 1 to {most}"
        if isinstance(value, int) and value > most:
            limit = f"from 1 to {most:,}"
        fail(BadReservedKeyword(op=self.name, name="_outputs", value=describe(value), range=limit))

    def _node_name(self, value: object) -> str | None:
        """The value of `_name=`."""
        if value is None or isinstance(value, str):
            check_text(value or "", "the name")
            return value
        fail(BadReservedKeyword(op=self.name, name="_name", value=describe(value)))


def _bind_custom(op: Op, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> BoundCall:
    """A call of an operator without a schema: keywords are attributes, as given."""
    outputs = op._count(kwargs["_outputs"]) if kwargs.get("_outputs") is not None else None
    name = op._node_name(kwargs.get("_name"))
    attributes = {k: v for k, v in kwargs.items() if k not in RESERVED and v is not None}
    count = len(args)
    while count and args[count - 1] is None:
        count -= 1
    return BoundCall(op, args[:count], attributes, outputs, name)


def require_attributes(op: Op, attributes: Mapping[str, Any]) -> None:
    """Refuse attributes that lack one the operator needs.

    Args:
        attributes: the attributes by name.

    Raises:
        ScriptTypeError: one is missing (OW510).
    """
    for attr in op.signature.attributes.values() if op.signature is not None else ():
        if attr.required and attr.name not in attributes:
            fail_attribute(op.name, op.signature, attr)


__all__ = [
    "BoundCall",
    "Dispatcher",
    "Op",
    "require_attributes",
    "set_dispatcher",
]
