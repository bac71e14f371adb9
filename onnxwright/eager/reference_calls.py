"""One operator in onnx's reference implementation: a model of one node, values in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onnxwright.eager import node_model
from onnxwright.eager.values import MapValue, SequenceValue, Value, type_of_value, without_shape
from onnxwright.opset.op import Op
from onnxwright.opset.opsets import DEFAULT_OPSET_VERSION


def reference_results(
    op: Op,
    inputs: Sequence[Value],
    attributes: Mapping[str, Any],
    outputs: int,
    new_ops: Sequence[Any] = (),
) -> Sequence[Value]:
    """The outputs of one operator.

    Args:
        op, inputs, attributes, outputs: as for `Evaluator.run_op`.
        new_ops: implementations of custom operators, classes of `onnx.reference.op_run.OpRun`.

    Returns:
        One value for each output.  The reference raises every kind of error.
    """
    from onnx import reference

    types = [without_shape(type_of_value(x)) for x in inputs]
    present = [x is not None for x in inputs]
    node = node_model.node_proto(op.name, op.domain, op.signature, present, attributes, outputs)
    model = node_model.one_node_model(
        node, types, {"": _standard_version(op), op.domain: op.version}, present=present
    )
    runner = reference.ReferenceEvaluator(model, new_ops=list(new_ops) or None)
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
    """
    if value is None:
        return None
    if isinstance(value, list):
        return SequenceValue([as_reference_value(v) for v in value])
    if isinstance(value, dict):
        return MapValue(value)
    array = np.asarray(value)
    return array.astype(object) if array.dtype.kind in "SU" else array
