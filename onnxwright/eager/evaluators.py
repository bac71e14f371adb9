"""The protocol of evaluators: what a library or a user gives to run one operator on values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from onnxwright.eager.values import Value
from onnxwright.opset.op import Op


@runtime_checkable
class Evaluator(Protocol):
    """Runs one operator on values.

    An object with this one method can be chosen with `evaluator(...)` or
    `set_default_evaluator(...)`.  `run_model`, `debug` and `CompiledModel` run a model node by node
    on it.  An evaluator may also have `name`, which messages use.

    Example:
        >>> class Shouting:
        ...     def run_op(self, op, inputs, attributes, outputs):
        ...         raise NotImplementedError(op.name)
        >>> isinstance(Shouting(), Evaluator)
        True
    """

    def run_op(
        self,
        op: Op,
        inputs: Sequence[Value],
        attributes: Mapping[str, Any],
        outputs: int,
    ) -> Sequence[Value]:
        """The outputs of one operator.

        Args:
            op: the operator, of any domain.
            inputs: the inputs in schema order; None is an absent one.
            attributes: the attributes that were given, as `Op.bind` normalizes them.
            outputs: how many outputs are wanted.

        Returns:
            One value for each output: arrays, `SequenceValue`s, `MapValue`s or None.
        """


class Request(NamedTuple):
    """One call of `Evaluator.run_op`: the operator, its inputs, its attributes, outputs wanted."""

    op: Op
    inputs: Sequence[Value]
    attributes: Mapping[str, Any]
    outputs: int


def evaluator_name(evaluator: Any) -> str:
    """What messages call an evaluator.

    Returns:
        Its `name`, or the name of its class.
    """
    return str(getattr(evaluator, "name", type(evaluator).__name__))
