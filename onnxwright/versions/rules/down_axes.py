"""Older versions of operators that move or reduce elements: inputs that were attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.semantics.ops import Ops
from onnxwright.tracing.constants import constant_array
from onnxwright.versions.call import KEEP, Call, Refused, down
from onnxwright.versions.rules.families import REDUCE

_WITHOUT_REDUCTION = {
    "ReduceL1": "Abs", "ReduceL2": "Abs", "ReduceLogSum": "Log", "ReduceSumSquare": "Mul",
}  # fmt: skip


@down(13, "ReduceSum")
@down(18, *REDUCE)
def reduce_axes_become_an_attribute(op: Ops, call: Call) -> Any:
    """`axes` is an attribute; no axes at all may also have meant no reduction.

    Source: ONNX ReduceSum 13, Reduce* 18: `noop_with_empty_axes`.
    """
    axes = call.ints(1)
    if not axes and call.attr("noop_with_empty_axes", 0):
        x, plain = call.input(0), _WITHOUT_REDUCTION.get(call.name)
        if plain is None:
            return [op.Identity(x)]
        return [op.Mul(x, x)] if plain == "Mul" else [getattr(op, plain)(x)]
    attributes = call.without("noop_with_empty_axes", axes=axes or None)
    return call.same(op, [call.input(0)], attributes)


@down(13, "Squeeze", "Unsqueeze")
def axes_become_an_attribute(op: Ops, call: Call) -> Any:
    """`axes` is an attribute.  Source: ONNX Squeeze and Unsqueeze 11."""
    axes = call.ints(1)
    return call.same(op, [call.input(0)], call.without(axes=axes or None))


@down(11, "ArgMax", "ArgMin", "Compress", "Concat", "Flatten", "Gather", "Hardmax", "LogSoftmax",
      "OneHot", "Softmax", "Split", "Squeeze", "Unsqueeze", "ReduceL1", "ReduceL2",
      "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
      "ReduceSum", "ReduceSumSquare")  # fmt: skip
def axes_count_from_the_start(op: Ops, call: Call) -> Any:
    """Before 11 an axis is at least 0.  Source: ONNX 11: "negative value means counting back"."""
    changed: dict[str, Any] = {}
    for name in ("axis", "axes"):
        value = call.attr(name)
        if value is None:
            continue
        axes = [value] if isinstance(value, int) else list(value)
        if all(v >= 0 for v in axes):
            continue
        if call.name == "OneHot":
            return KEEP  # -1 always was its default
        rank = call.rank(0) + (len(axes) if call.name == "Unsqueeze" else 0)
        counted = [v + rank if v < 0 else v for v in axes]
        changed[name] = counted[0] if isinstance(value, int) else sorted(counted)
    return call.same(op, None, call.without(**changed)) if changed else KEEP


@down(10, "Slice")
def slice_limits_become_attributes(op: Ops, call: Call) -> Any:
    """`starts`, `ends` and `axes` are attributes, and every step is 1.

    Source: ONNX Slice 1 and 10.
    """
    steps = call.ints(4)
    starts, ends, axes = call.ints(1), call.ints(2), call.ints(3)
    assert starts is not None
    if steps is not None and any(s != 1 for s in steps):
        raise Refused("the older version has no steps", "use Gather with constant indices")
    if axes is not None and any(a < 0 for a in axes):
        rank = call.rank(0)
        axes = [a + rank if a < 0 else a for a in axes]
    return call.same(op, [call.input(0)], {"starts": starts, "ends": ends,
                                           **({} if axes is None else {"axes": axes})})  # fmt: skip


@down(18, "Split")
def split_counts_itself(op: Ops, call: Call) -> Any:
    """The number of parts is that of the outputs, and they are equal.

    Source: ONNX Split 13 and 18: the last part may be smaller.
    """
    if call.has(1):
        return KEEP
    count, axis = call.count, call.attr("axis", 0)
    shape = call.input(0).shape
    size = shape[call.axis(0)] if shape is not None else None
    if isinstance(size, int) and size % count == 0:
        return call.same(op, None, call.without("num_outputs"))
    if isinstance(size, int):
        part = -(-size // count)
        sizes = [part] * (count - 1) + [size - part * (count - 1)]
        sizes_input = call.int64(op, sizes)
    else:
        length = op.Gather(op.Shape(call.input(0)), call.int64(op, [axis]))
        number = call.int64(op, [count])
        part = op.Div(op.Sub(op.Add(length, number), call.int64(op, [1])), number)
        rest = op.Sub(length, op.Mul(part, call.int64(op, [count - 1])))
        sizes_input = op.Concat(*([part] * (count - 1)), rest, axis=0)
    return call.same(op, [call.input(0), sizes_input], call.without("num_outputs"))


@down(13, "Split")
def split_becomes_an_attribute(op: Ops, call: Call) -> Any:
    """`split` is an attribute.  Source: ONNX Split 11."""
    if not call.has(1):
        return KEEP
    split_array = call.constants(1)
    if split_array is not None:
        sizes = [int(v) for v in split_array]
        return call.same(op, [call.input(0)], call.without(split=sizes))
    axis, start, parts = call.int64(op, [call.attr("axis", 0)]), call.int64(op, [0]), []
    for n in range(call.count):
        end = op.Add(start, op.Gather(call.input(1), call.int64(op, [n])))
        parts.append(op.Slice(call.input(0), start, end, axis))
        start = end
    return parts


@down(11, "TopK")
def top_k_of_the_largest(op: Ops, call: Call) -> Any:
    """Only the largest, sorted.  Source: ONNX TopK 10; the smallest are the largest of -x."""
    attributes, x = call.without("largest", "sorted"), call.input(0)
    if attributes.get("axis", -1) < -1:
        attributes["axis"] += call.rank(0)
    if call.attr("largest", 1) == 0:
        results = call.same(op, [op.Neg(x), call.input(1)], attributes)
        values = op.Neg(results[0])
    else:
        results = call.same(op, [x, call.input(1)], attributes)
        values = results[0]
    return [values, results[1]]


@down(10, "TopK")
def k_becomes_an_attribute(op: Ops, call: Call) -> Any:
    """`k` is an attribute.  Source: ONNX TopK 1."""
    k = call.ints(1)
    assert k is not None
    return call.same(op, [call.input(0)], call.without(k=k[0]))


@down(18, "Pad")
def pads_of_all_axes(op: Ops, call: Call) -> Any:
    """Without `axes`, `pads` are of all axes.  Source: ONNX Pad 13 and 18."""
    if not call.has(3):
        return KEEP
    axes, rank = call.ints(3), call.rank(0)
    assert axes is not None
    axes = [a + rank if a < 0 else a for a in axes]
    pads_array = call.constants(1)
    if pads_array is not None:
        pads = [0] * (2 * rank)
        for n, axis in enumerate(axes):
            pads[axis], pads[axis + rank] = int(pads_array[n]), int(pads_array[n + len(axes)])
        pads_input = call.int64(op, pads)
    else:
        # Where each of the 2 * rank pads is in the given ones; 0 follows them.
        where = [2 * len(axes)] * (2 * rank)
        for n, axis in enumerate(axes):
            where[axis], where[axis + rank] = n, n + len(axes)
        longer = op.Concat(call.input(1), call.int64(op, [0]), axis=0)
        pads_input = op.Gather(longer, call.int64(op, where))
    return call.same(op, [call.input(0), pads_input, call.get(2)])


@down(19, "Pad")
def pad_does_not_wrap(op: Ops, call: Call) -> Any:
    """`wrap` is written with Slice and Concat, axis by axis.  Source: ONNX Pad 18 and 19."""
    if call.attr("mode", "constant") != "wrap":
        return KEEP
    pads, shape = call.ints(1), call.shape(0)
    assert pads is not None
    axes = call.ints(3) if call.has(3) else list(range(len(shape)))
    assert axes is not None
    x = call.input(0)
    for n, axis in enumerate(axes):
        if not -len(shape) <= axis < len(shape) or len(pads) != 2 * len(axes):
            raise Refused("its pads do not fit the axes of its input")
        before, after = pads[n], pads[n + len(axes)]
        size = shape[axis]
        if before < 0 or after < 0 or not isinstance(size, int) or max(before, after) > size:
            raise Refused("`mode` wrap came with opset 19, and the padded size is not known")
        parts = [x]
        if before:
            parts.insert(0, op.Slice(x, [size - before], [size], [axis]))
        if after:
            parts.append(op.Slice(x, [0], [after], [axis]))
        x = op.Concat(*parts, axis=axis) if len(parts) > 1 else x
    return [x if x is not call.input(0) else op.Identity(x)]


@down(11, "Pad")
def pads_become_attributes(op: Ops, call: Call) -> Any:
    """`pads` and `value` are attributes.  Source: ONNX Pad 2."""
    pads, value = call.ints(1), call.constant(2)
    attributes = call.without(pads=pads)
    if value is not None and float(value.ravel()[0]) != 0.0:
        attributes["value"] = float(value.ravel()[0])
    return call.same(op, [call.input(0)], attributes)


@down(11, "Clip")
def limits_become_attributes(op: Ops, call: Call) -> Any:
    """`min` and `max` are attributes; limits that are computed are Max and Min.

    Source: ONNX Clip 6 and 11: where `min` is greater than `max`, the result is `max`.
    """
    bound_arrays = [call.constants(n) if call.has(n) else None for n in (1, 2)]
    computed = [call.has(n) and k is None for n, k in zip((1, 2), bound_arrays)]
    values = [None if k is None else float(k.ravel()[0]) for k in bound_arrays]
    crossed = None not in values and values[0] > values[1]  # type: ignore[operator]
    if not any(computed) and not crossed:
        attributes = {n: v for n, v in zip(("min", "max"), values) if v is not None}
        return call.same(op, [call.input(0)], attributes)
    clipped = call.input(0)
    if call.has(1):
        clipped = op.Max(clipped, call.input(1))
    if call.has(2):
        clipped = op.Min(clipped, call.input(2))
    return [clipped]


@down(11, "ScatterElements")
def scatter(op: Ops, call: Call) -> Any:
    """ScatterElements was called Scatter.  Source: ONNX Scatter 9."""
    axis = call.attr("axis", 0)
    changed = {"axis": axis + call.rank(0)} if axis < 0 else {}
    return call.same(op, None, call.without(**changed), name="Scatter")


@down(13, "Softmax", "LogSoftmax", "Hardmax")
def softmax_of_a_matrix(op: Ops, call: Call) -> Any:
    """Versions before 13 see a matrix: the axis is moved to the end.

    Source: ONNX Softmax 11 and 13.
    """
    axis, x = call.attr("axis", -1), call.input(0)
    if axis == -1 or (x.rank is not None and axis == x.rank - 1):
        return call.same(op, None, {"axis": -1 if x.rank is None else x.rank - 1})
    rank = call.rank(0)
    order = list(range(rank))
    order.append(order.pop(axis))
    softmax = call.same(op, [op.Transpose(x, perm=order)], {"axis": rank - 1})
    return [op.Transpose(softmax[0], perm=[order.index(n) for n in range(rank)])]


@down(20, "DFT")
def dft_axis_becomes_an_attribute(op: Ops, call: Call) -> Any:
    """`axis` is an attribute.  Source: ONNX DFT 17 and 20."""
    axis = call.ints(2)
    if call.attr("inverse", 0) and call.attr("onesided", 0):
        raise Refused("a one-sided inverse transform came with opset 20")
    number = -2 if axis is None else axis[0]
    if number < 0:
        number += call.rank(0)
    return call.same(op, [call.input(0), call.get(1)], call.without(axis=number))


@down(15, "Shape")
def whole_shape(op: Ops, call: Call) -> Any:
    """`start` and `end` are a Slice of the whole shape.  Source: ONNX Shape 15."""
    start, end = call.attr("start", 0), call.attr("end")
    if not start and end is None:
        return call.same(op, None, {})
    shape = call.same(op, None, {})
    rank = call.input(0).rank
    if rank is not None:
        # Clamped, as Shape has it.
        start, end, _ = slice(start, end).indices(rank)
        end = max(start, end)
    return [op.Slice(shape[0], [start], [2**31 - 1 if end is None else end])]


@down(14, "Reshape")
def zeros_mean_the_same_size(op: Ops, call: Call) -> Any:
    """Without `allowzero` a 0 copies a size.  Source: ONNX Reshape 14."""
    if not call.has_attr("allowzero"):
        return KEEP
    reshaped = call.same(op, None, call.without("allowzero"))
    if not call.attr("allowzero", 0):
        return reshaped
    shape_array = call.constants(1)
    sizes: Any = shape_array.tolist() if shape_array is not None else call.input(1).dims
    before = call.input(0).shape or ()
    if not isinstance(sizes, (list, tuple)):
        sizes = [None]
    if -1 in sizes:
        return reshaped  # then no other size may be 0
    for n, size in enumerate(sizes):
        if isinstance(size, int) and size != 0:
            continue
        copied = size is not None and n < len(before) and before[n] == size
        if not copied and not (size != 0 and "nonempty" in call.assume):
            raise Refused(
                "`allowzero=1` came with opset 14, and the sizes may be 0",
                "say that no size is 0 with `assume={'nonempty'}`, or fix the sizes",
            )
    return reshaped


@down(12, "Constant")
def constant_as_a_tensor(op: Ops, call: Call) -> Any:
    """Numbers and strings are tensors in `value`.  Source: ONNX Constant 12."""
    (name,) = call.attributes
    if name in ("value", "sparse_value"):
        return KEEP
    return [op.constant(constant_array({name: call.attr(name)}))]


@down(11, "Constant")
def constant_as_a_dense_tensor(op: Ops, call: Call) -> Any:
    """Only dense tensors.  Source: ONNX Constant 11."""
    del op
    if call.has_attr("sparse_value"):
        raise Refused("sparse constants came with opset 11")
    return KEEP


@down(9, "Scan")
def scan_of_a_batch(op: Ops, call: Call) -> Any:
    """Version 8 scans a batch: here of one.  Source: ONNX Scan 8 and 9."""
    for name in ("scan_input_axes", "scan_output_axes", "scan_output_directions"):
        if any(call.attr(name) or ()):
            raise Refused(f"its attribute `{name}` came with opset 9")
    directions = call.attr("scan_input_directions")
    attributes = {"body": call.attributes["body"], "num_scan_inputs": call.attr("num_scan_inputs")}
    if directions:
        attributes["directions"] = list(directions)
    inputs = [None, *(op.Unsqueeze(v, axes=[0]) for v in call.inputs if v is not None)]
    backend: Any = op.backend
    results = backend.build(op.opset["Scan"], None, inputs, attributes, call.count)
    return [op.Squeeze(v, axes=[0]) for v in results]


@down(9, "ConstantOfShape")
def expanded_constant(op: Ops, call: Call) -> Any:
    """A scalar expanded to the shape.  Source: ONNX ConstantOfShape 9, Expand 8."""
    value = call.attr("value")
    array = np.zeros(1, dtype=np.float32) if value is None else value.numpy()
    return [op.Expand(op.constant(np.asarray(array).reshape(1)), call.input(0))]


@down(14, "Trilu")
def triangle_by_a_mask(op: Ops, call: Call) -> Any:
    """A triangle is chosen by comparing the indices of rows and columns.  Source: ONNX Trilu 14."""
    x, k = call.input(0), call.get(1)
    zero = op.constant(np.zeros((), dtype=call.dtype(0).numpy))
    sizes, none, one = op.Shape(x), call.int64(op, 0), call.int64(op, 1)

    def indices(place: int, axis: int) -> Any:
        size = op.Squeeze(op.Slice(sizes, [place], [place + 1 or 2**31 - 1]), [0])
        return op.Unsqueeze(op.Range(none, size, one), [axis])

    rows, columns = indices(-2, 1), indices(-1, 0)
    first = rows if k is None else op.Add(rows, k)
    outside = op.Less(columns, first) if call.attr("upper", 1) else op.Greater(columns, first)
    return [op.Where(outside, zero, x)]
