"""`ReferenceEvaluator`: each operator runs in onnx's own reference implementation, in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onnxwright.eager import node_model
from onnxwright.eager.failures import fail_op
from onnxwright.eager.values import MapValue, SequenceValue, Value, type_of_value, without_shape
from onnxwright.opset.op import Op
from onnxwright.opset.opsets import DEFAULT_OPSET_VERSION


class ReferenceEvaluator:
    """Runs operators with `onnx.reference`: slow, but it knows every type and every operator.

    Args:
        new_ops: implementations of custom operators, classes of `onnx.reference.op_run.OpRun`.

    Example:
        >>> from onnxwright.opset import opset18 as op
        >>> ReferenceEvaluator().run_op(op.Neg, [np.array([1.0], np.float32)], {}, 1)
        [array([-1.], dtype=float32)]
    """

    name = "onnx.reference"

    def __init__(self, new_ops: Sequence[Any] = ()) -> None:
        self.new_ops = list(new_ops)

    def __repr__(self) -> str:
        return f"ReferenceEvaluator({self.new_ops!r})" if self.new_ops else "ReferenceEvaluator()"

    def run_op(
        self, op: Op, inputs: Sequence[Value], attributes: Mapping[str, Any], outputs: int
    ) -> Sequence[Value]:
        """The outputs of one operator.

        Args:
            op: the operator.
            inputs: arrays, sequences, maps; None is an absent input.
            attributes: the attributes that were given.
            outputs: how many outputs are wanted.

        Returns:
            One value for each output.

        Raises:
            EagerError: the reference implementation failed.
        """
        try:
            return self._run(op, inputs, attributes, outputs)
        except Exception as error:  # noqa: BLE001 - the reference raises every kind
            fail_op(self.name, op, inputs, attributes, error)

    def _run(
        self, op: Op, inputs: Sequence[Value], attributes: Mapping[str, Any], outputs: int
    ) -> Sequence[Value]:
        from onnx import reference

        types = [without_shape(type_of_value(x)) for x in inputs]
        present = [x is not None for x in inputs]
        node = node_model.node_proto(op.name, op.domain, op.signature, present, attributes, outputs)
        model = node_model.one_node_model(
            node, types, {"": _standard_version(op), op.domain: op.version}, present=present
        )
        runner = reference.ReferenceEvaluator(model, new_ops=self.new_ops or None)
        feed = {f"i{n}": _plain(x) for n, x in enumerate(inputs) if x is not None}
        with np.errstate(all="ignore"):
            results = runner.run(None, feed)
        return [as_reference_value(r) for r in results]


def _standard_version(op: Op) -> int:
    return op.version if op.domain == "" else DEFAULT_OPSET_VERSION


def _plain(value: Value) -> Any:
    if isinstance(value, SequenceValue):
        return [_plain(v) for v in value]
    if isinstance(value, MapValue):
        return dict(value)
    return value


def as_reference_value(value: Any) -> Value:
    """A result of the reference implementation as an evaluator's value.

    Args:
        value: an array, a numpy or Python number, a list, a dict or None.

    Returns:
        The value.
    """
    if value is None:
        return None
    if isinstance(value, list):
        return SequenceValue([as_reference_value(v) for v in value])
    if isinstance(value, dict):
        return MapValue(value)
    array = np.asarray(value)
    return array.astype(object) if array.dtype.kind in "SU" else array
