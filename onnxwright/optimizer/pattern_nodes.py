"""What patterns are made of: values and nodes, and the `op` whose calls make them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from onnxwright.operators import facts
from onnxwright.opset import registry
from onnxwright.opset.describe import did_you_mean
from onnxwright.opset.registry import OpSignature
from onnxwright.semantics.unpacking import unpacked_into
from onnxwright.types.roles import CallRecorder


class PatternError(Exception):
    """A pattern cannot be traced; said again as a message that names the rule."""


class Const:
    """Annotation of a pattern's parameter: only a constant or a weight matches."""


class Computed:
    """Annotation of a pattern's parameter: no constant and no weight matches."""


class Attr:
    """Annotation of a pattern's parameter: an attribute of any value, which is captured."""


class Attrs(Mapping[str, Any]):
    """Annotation of a pattern's parameter: all attributes not named otherwise, `**attrs`."""


class PatternValue(CallRecorder):
    """A value of a pattern; operators on it, Python's too, make nodes of the pattern."""

    __slots__ = ()
    __array_ufunc__ = None

    def record_call(
        self, domain: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A node of the pattern, for a call of an operator of an opset (`opset20.Relu(x)`)."""
        return _call(name, args, domain, kwargs)

    def __add__(self, other: Any) -> Any:
        return _call("Add", (self, other))

    def __radd__(self, other: Any) -> Any:
        return _call("Add", (other, self))

    def __sub__(self, other: Any) -> Any:
        return _call("Sub", (self, other))

    def __rsub__(self, other: Any) -> Any:
        return _call("Sub", (other, self))

    def __mul__(self, other: Any) -> Any:
        return _call("Mul", (self, other))

    def __rmul__(self, other: Any) -> Any:
        return _call("Mul", (other, self))

    def __truediv__(self, other: Any) -> Any:
        return _call("Div", (self, other))

    def __rtruediv__(self, other: Any) -> Any:
        return _call("Div", (other, self))

    def __pow__(self, other: Any) -> Any:
        return _call("Pow", (self, other))

    def __matmul__(self, other: Any) -> Any:
        return _call("MatMul", (self, other))

    def __neg__(self) -> Any:
        return _call("Neg", (self,))

    def __abs__(self) -> Any:
        return _call("Abs", (self,))

    def __invert__(self) -> Any:
        return _call("Not", (self,))

    def __and__(self, other: Any) -> Any:
        return _call("And", (self, other))

    def __or__(self, other: Any) -> Any:
        return _call("Or", (self, other))

    def __lt__(self, other: Any) -> Any:
        return _call("Less", (self, other))

    def __le__(self, other: Any) -> Any:
        return _call("LessOrEqual", (self, other))

    def __gt__(self, other: Any) -> Any:
        return _call("Greater", (self, other))

    def __ge__(self, other: Any) -> Any:
        return _call("GreaterOrEqual", (self, other))

    def __bool__(self) -> bool:
        raise PatternError(
            f"`{self!r}` is not known while the pattern is traced, so nothing can depend on it "
            "(give other forms with `.also`)"
        )

    def __iter__(self) -> Iterator[Any]:
        raise PatternError(f"`{self!r}` is one value (an operator of several needs `_outputs=`)")

    def __getitem__(self, index: object) -> Any:
        raise PatternError(f"`{self!r}` cannot be indexed (call `op.Slice` or `op.Gather`)")


class Variable(PatternValue):
    """A value that the pattern leaves open.

    Args:
        name: the parameter's name.
        constant: whether only constants match; None where it does not matter.
        optional: whether an absent input matches.
    """

    __slots__ = ("constant", "name", "optional")

    def __init__(self, name: str, *, constant: bool | None = None, optional: bool = False) -> None:
        self.name = name
        self.constant = constant
        self.optional = optional

    def __repr__(self) -> str:
        return self.name


class Rest(Variable):
    """All further inputs of a node."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Rest]:
        yield self


class Literal(PatternValue):
    """A constant of given numbers.

    Args:
        value: the number, or a list of numbers.
        rtol: how far a number may be from it, as a part of it; by default the rounding of its type.
    """

    __slots__ = ("line", "rtol", "value")

    def __init__(self, value: Any, *, rtol: float | None = None) -> None:
        self.value = value
        self.rtol = rtol
        self.line = _line()

    def __repr__(self) -> str:
        return repr(self.value)


class Output(PatternValue):
    """An output of a node of the pattern."""

    __slots__ = ("index", "node")

    def __init__(self, node: PatternNode, index: int) -> None:
        self.node = node
        self.index = index

    def __repr__(self) -> str:
        return f"{self.node.op_type}(...)"


class AttributeVariable:
    """An attribute that the pattern captures."""

    def __init__(self, name: str) -> None:
        self.name = name


class RestOfAttributes(Mapping[str, Any]):
    """All attributes of a node that the pattern does not name, as `**attrs`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getitem__(self, key: str) -> Any:
        return self

    def __iter__(self) -> Iterator[str]:
        yield _REST

    def __len__(self) -> int:
        return 1


_REST = "rest of the attributes"


class PatternNode:
    """A call of an operator in a pattern.

    Attributes:
        op_type, domain: the operator.
        inputs: pattern values, None for an input that must be absent.
        attributes: literal values, or what captures them.
        rest: captures all other attributes; without it they must have their defaults.
        outputs: how many outputs the pattern names.
        line: where it is written, for explanations.
        commutative: whether the two inputs match in both orders.
    """

    def __init__(
        self,
        op_type: str,
        domain: str,
        inputs: Sequence[PatternValue | None],
        attributes: Mapping[str, Any],
        outputs: int,
        line: int | None,
    ) -> None:
        self.op_type = op_type
        self.domain = domain
        self.inputs = inputs
        rest = [v for v in attributes.values() if isinstance(v, RestOfAttributes)]
        self.attributes = {n: v for n, v in attributes.items() if n != _REST}
        self.rest = rest[0] if rest else None
        self.outputs = outputs
        self.line = line
        record = facts(op_type) if domain == "" else None
        self.commutative = record is not None and record.commutative and len(inputs) == 2

    def __repr__(self) -> str:
        shown = ", ".join("None" if v is None else repr(v) for v in self.inputs)
        return f"{self.op_type}({shown})"


class PatternOps:
    """The `op` of a pattern: each operator makes a node of the pattern."""

    def __init__(self, domain: str = "") -> None:
        self._domain = domain

    def opset(self, domain: str) -> PatternOps:
        """The operators of another domain."""
        return PatternOps(domain)

    def number(self, value: Any, *, rtol: float | None = None) -> Any:
        """A constant of a number, or of a list of numbers, that may be a little off.

        Args:
            value: the number.
            rtol: how far a constant may be from it, as a part of it; by default the rounding of
                its type, as for numbers that are written without `op.number`.

        Returns:
            The constant.
        """
        return Literal(value, rtol=rtol)

    def constant(self, array: Any) -> Any:
        """A constant of the numbers and the shape of an array, within the rounding of its type.

        Args:
            array: the array, or what numpy makes one of.

        Returns:
            The constant.
        """
        return Literal(np.asarray(array))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def apply(*args: Any, **kwargs: Any) -> Any:
            if "_outputs" not in kwargs:
                kwargs["_outputs"] = unpacked_into(1) or 1
            return _call(name, args, self._domain, kwargs)

        return apply


def _call(
    name: str, args: Sequence[Any], domain: str = "", kwargs: Mapping[str, Any] | None = None
) -> Any:
    attributes = dict(kwargs or {})
    outputs = int(attributes.pop("_outputs", 1))
    signature = _newest(domain, name)
    if domain == "" and signature is None:
        raise PatternError(f"there is no operator `{name}`{_meant(name)}")
    inputs = [_operand(a) for a in args]
    if name == "Constant" and not domain and len(attributes) == 1:
        return Literal(next(iter(attributes.values())))
    if signature is not None:
        for place, param in enumerate(signature.inputs):
            if param.name in attributes:
                inputs += [None] * (place + 1 - len(inputs))
                inputs[place] = _operand(attributes.pop(param.name))
        _check_attributes(name, attributes)
    node = PatternNode(name, domain, inputs, attributes, outputs, _line())
    results = tuple(Output(node, n) for n in range(outputs))
    return results[0] if outputs == 1 else results


def _newest(domain: str, name: str) -> OpSignature | None:
    """The newest schema of a standard operator; None for those of other domains."""
    if domain != "":
        return None
    return registry.signature("", name, onnx.defs.onnx_opset_version())


def _meant(name: str) -> str:
    """A suggestion for an operator that does not exist."""
    close = did_you_mean(name, {s.name for s in onnx.defs.get_all_schemas() if not s.domain})
    return f"; did you mean `{close}`?" if close else ""


def _check_attributes(name: str, attributes: Mapping[str, Any]) -> None:
    """Refuse attributes that no version of an operator has."""
    named = [n for n in attributes if n != _REST]
    if not named:
        return
    allowed: dict[str, None] = {}
    for version in range(1, onnx.defs.onnx_opset_version() + 1):
        schema = registry.signature("", name, version)
        allowed.update(dict.fromkeys(schema.attributes if schema is not None else ()))
    for one in named:
        if one not in allowed:
            raise PatternError(
                f"`{name}` has no attribute `{one}` (it has {', '.join(sorted(allowed)) or 'none'})"
            )


def _operand(operand: Any) -> PatternValue | None:
    if operand is None or isinstance(operand, PatternValue):
        return operand
    return Literal(operand)


def _line() -> int | None:
    """The line of the pattern function that makes a node."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return None if frame is None else frame.f_lineno
