"""Newer versions of operators that move or reduce elements: attributes that became inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.semantics.ops import Ops
from onnxwright.types.dtypes import DType
from onnxwright.versions.call import KEEP, Call, Refused, up


@up(18, "Split")
def split_names_its_count(op: Ops, call: Call) -> Any:
    """Equal parts need `num_outputs`.  Source: ONNX Split 18."""
    if call.has(1):
        return KEEP
    return call.same(op, None, call.without(num_outputs=call.count))


@up(11, "Pad")
def pads_become_inputs(op: Ops, call: Call) -> Any:
    """`pads` and `value` are inputs.  Source: ONNX Pad 11."""
    value = call.attr("value", 0.0)
    fill = None
    if value != 0.0:
        fill = op.constant(np.array(value, dtype=call.dtype(0).numpy))
    pads = call.int64(op, list(call.attr("pads")))
    return call.same(op, [call.input(0), pads, fill], call.without("pads", "value"))


@up(11, "Clip")
def limits_become_inputs(op: Ops, call: Call) -> Any:
    """`min` and `max` are inputs.  Source: ONNX Clip 11.

    Absent limits are the lowest and highest number of the type; version 6 had those of FLOAT.
    """
    double = call.input(0).dtype is DType.DOUBLE
    limits = [call.attr(n) if call.has_attr(n) or double else None for n in ("min", "max")]
    inputs = [
        None if v is None else op.constant(np.array(v, dtype=call.dtype(0).numpy)) for v in limits
    ]
    return call.same(op, [call.input(0), *inputs], call.without("min", "max"))


@up(13, "Softmax", "LogSoftmax", "Hardmax")
def softmax_of_one_axis(op: Ops, call: Call) -> Any:
    """Versions before 13 see the input as a matrix, split before `axis`.

    Source: ONNX Softmax 11 and 13.
    """
    axis, x = call.attr("axis", 1), call.input(0)
    rank = x.rank
    if axis == -1 or (rank is not None and axis == rank - 1):
        return call.same(op, None, {"axis": -1})
    flat = op.Flatten(x, axis=axis)
    softmax = call.same(op, [flat], {"axis": -1})
    return op.Reshape(softmax[0], op.Shape(x))


@up(20, "DFT")
def dft_axis_becomes_an_input(op: Ops, call: Call) -> Any:
    """`axis` is an input.  Source: ONNX DFT 20."""
    axis = call.int64(op, call.attr("axis", 1))
    return call.same(op, [call.input(0), call.get(1), axis], call.without("axis"))


@up(9, "Scan")
def scan_without_batches(op: Ops, call: Call) -> Any:
    """Version 8 scans each element of a batch: a Scan over the batch around the Scan.

    Source: ONNX Scan 8 and 9.
    """
    if call.has(0):
        raise Refused("its input `sequence_lens` has no place in newer versions")
    scanned = call.attr("num_scan_inputs")
    directions = call.attr("directions")
    attributes = call.without("directions", scan_input_directions=directions or None)
    inputs = [v for v in call.inputs[1:] if v is not None]
    count = call.count
    if any(v.shape is None for v in inputs):
        raise Refused("the ranks of its inputs are not known")
    backend = op.backend

    def each(*values: Any) -> Any:
        results = backend.emit(op.opset["Scan"], list(values), attributes, count)
        return tuple(results)

    return backend.emit(
        op.opset["Scan"], inputs, {"body": each, "num_scan_inputs": len(inputs)}, count
    ) if scanned else KEEP  # fmt: skip
