"""What an adapter is given and where adapters are registered: `Call`, `up`, `down`, `Refused`.

An adapter is a function `adapter(op, call)`.  `op` has the operators of the version that is
converted to, `call` is the node as the other version has it.  It returns the outputs (one value, or
a list with None for outputs that nobody reads), `KEEP` where the node may stay as it is, `BY_BODY`
where the operator's function body takes its place, or raises `Refused`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxwright.opset.registry import OpSignature
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.ops import Ops
from onnxwright.types.dtypes import DType
from onnxwright.types.roles import AttributeReference
from onnxwright.types.shapes import Shape

Array = np.ndarray[Any, Any]
Adapter = Callable[[Ops, "Call"], Any]


class Refused(Exception):  # noqa: N818 - a result, not an error of the program
    """A node cannot be converted.

    Args:
        reason: why, as the end of "`Op` cannot be converted: ...".
        advice: what the user can do.
    """

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.advice = advice


class _Keep:
    """The result of an adapter: the node means the same in the other version."""

    def __repr__(self) -> str:
        return "KEEP"


class _ByBody:
    """The result of an adapter: the function body of the operator replaces the node."""

    def __repr__(self) -> str:
        return "BY_BODY"


KEEP = _Keep()
BY_BODY = _ByBody()

UP: dict[tuple[str, str, int], Adapter] = {}
DOWN: dict[tuple[str, str, int], Adapter] = {}


def _registering(
    table: dict[tuple[str, str, int], Adapter], version: int, names: Collection[str], domain: str
) -> Callable[[Adapter], Adapter]:
    def register(adapter: Adapter) -> Adapter:
        for name in names:
            assert (domain, name, version) not in table, (name, version)
            table[domain, name, version] = adapter
        return adapter

    return register


def up(version: int, *names: str, domain: str = "") -> Callable[[Adapter], Adapter]:
    """Register an adapter from the version before `version` to `version`.

    Args:
        version: the version that changed the operators.
    """
    return _registering(UP, version, names, domain)


def down(version: int, *names: str, domain: str = "") -> Callable[[Adapter], Adapter]:
    """Register an adapter from `version` to the version before it; arguments as for `up`."""
    return _registering(DOWN, version, names, domain)


@dataclass
class Call:
    """A node as an adapter sees it.

    Fields:
        signature: the schema it is written for.
        inputs: its inputs; None for an absent one.
        attributes: the attributes it has.
        used: for each output, whether something reads it.
        constants: the array of input `n` if it is constant, read when asked for.
        version: the version of the opset it is written for.
        backend: builds what replaces the node.
        assume: what the user says holds of every run, such as "nonempty".
    """

    signature: OpSignature
    inputs: list[GraphValue | None]
    attributes: dict[str, Any]
    used: list[bool]
    constants: Callable[[int], Array | None]
    version: int
    backend: Any = None
    assume: Collection[str] = ()

    @property
    def name(self) -> str:
        """The operator."""
        return self.signature.name

    @property
    def count(self) -> int:
        """How many outputs there are."""
        return len(self.used)

    # -- inputs ------------------------------------------------------------------------------------

    def has(self, n: int) -> bool:
        """Whether input `n` is there."""
        return n < len(self.inputs) and self.inputs[n] is not None

    def input(self, n: int) -> GraphValue:
        """Input `n`, which must be there."""
        value = self.inputs[n] if n < len(self.inputs) else None
        if value is None:
            raise Refused(f"its input `{self._input_name(n)}` is missing", "repair the model")
        return value

    def get(self, n: int) -> GraphValue | None:
        """Input `n` or None."""
        return self.inputs[n] if n < len(self.inputs) else None

    def _input_name(self, n: int) -> str:
        formal = self.signature.inputs
        return formal[min(n, len(formal) - 1)].name if formal else str(n)

    def dtype(self, n: int) -> DType:
        """The element type of input `n`."""
        element_type = self.input(n).dtype
        if element_type is None:
            raise Refused(
                f"the element type of its input `{self._input_name(n)}` is not known", _TYPES
            )
        return element_type

    def shape(self, n: int) -> Shape:
        """The shape of input `n`, whose rank must be known."""
        shape = self.input(n).shape
        if shape is None:
            raise Refused(f"the rank of its input `{self._input_name(n)}` is not known", _TYPES)
        return shape

    def rank(self, n: int) -> int:
        """The rank of input `n`."""
        return len(self.shape(n))

    def constant(self, n: int) -> Array | None:
        """The array of input `n`, None where it is absent.

        Raises:
            Refused: it is known only when the model runs.
        """
        if not self.has(n):
            return None
        array = self.constants(n)
        if array is None:
            raise Refused(
                f"its input `{self._input_name(n)}` is computed when the model runs; the older "
                "version takes it as an attribute",
                "make it a constant: fix the shapes it is computed from, and fold constants",
            )
        return array

    def ints(self, n: int) -> list[int] | None:
        """Input `n` as a list of numbers, None where it is absent."""
        array = self.constant(n)
        return None if array is None else [int(v) for v in array.ravel()]

    # -- attributes --------------------------------------------------------------------------------

    def attr(self, name: str, default: Any = None) -> Any:
        """The value of an attribute: as given, else the schema's default, else `default`."""
        value = self.attributes.get(name)
        if isinstance(value, AttributeReference):
            raise Refused(
                f"its attribute `{name}` is a parameter of the function",
                "inline the function, or write it for the other version",
            )
        if value is None:
            param = self.signature.attributes.get(name)
            value = param.default if param is not None else None
        return default if value is None else value

    def axis(self, default: int) -> int:
        """The attribute `axis`, counted from the front of the first input."""
        value, rank = self.attr("axis", default), self.rank(0)
        if not -rank <= value < rank:
            raise Refused(f"its input has {rank} dimensions, and its `axis` is {value}")
        return int(value % rank)

    def has_attr(self, name: str) -> bool:
        """Whether the node has an attribute."""
        return name in self.attributes

    def without(self, *names: str, **changed: Any) -> dict[str, Any]:
        """The attributes without some, and with others; one that is None is left out."""
        kept = {n: v for n, v in self.attributes.items() if n not in names and n not in changed}
        return {**kept, **{n: v for n, v in changed.items() if v is not None}}

    # -- building ----------------------------------------------------------------------------------

    def same(
        self,
        op: Ops,
        inputs: Sequence[GraphValue | None] | None = None,
        attributes: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
    ) -> list[GraphValue]:
        """The same operator in the version of `op`.

        Args:
            inputs: its inputs, those of the call by default; absent ones at the end are left out.
            attributes: its attributes, those of the call by default.

        Returns:
            As many outputs as the call has.
        """
        operands = list(self.inputs if inputs is None else inputs)
        while operands and operands[-1] is None:
            operands.pop()
        attrs = self.attributes if attributes is None else attributes
        results: Any = op.backend.emit(op.opset[name or self.name], operands, attrs, self.count)
        return list(results)

    def int64(self, op: Ops, values: int | Sequence[int]) -> GraphValue:
        """A constant of INT64."""
        constant: GraphValue = op.constant(np.array(values, dtype=np.int64))
        return constant


_TYPES = "run shape inference on the model, or declare the types of its inputs"
