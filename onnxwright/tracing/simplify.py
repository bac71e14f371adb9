"""Calls that need no node: an operator whose result is one of its inputs, or a simpler call.

Each rule is exact: for every value of the inputs, zeros with a sign, NaN and empty tensors
included, element type and shape too.  A rule returns the value, or None to build the node.

These are not rules of the optimizer (`ow.rule`), which rewrite a finished graph: they look for a
pattern among nodes, and may ask who reads a value and which nodes a replacement takes away.  Here
there is no node yet, and no reader of it: a rule decides by what is known of the arguments of one
call (constants, shapes that are computed, the node that makes an argument), each call is asked
once, and what is built next already sees the result.  So exports and builders get small graphs
without a second pass, and the patterns of the optimizer have fewer forms to look for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from onnxwright.ir.infer import INFERENCE_ERRORS, infer_call
from onnxwright.operators.op_call import OpCall, UnknownError, axis_in
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing import rewrites
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.tracing.rewrites import Site
from onnxwright.types import dims
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import SequenceType, TensorType
from onnxwright.types.shapes import Shape

Rule = Callable[[Site], "GraphValue | None"]

_FAR = (1 << 31) - 1


def simplify(b: GraphBackend, call: OpCall, inputs: list[GraphValue | None]) -> GraphValue | None:
    """The value a call gives without a node of its own.

    Args:
        b: the backend; simpler calls are made through it.
        call: the call, of the default domain, with one output.

    Returns:
        The value; None where a node is needed.
    """
    rule = _RULES.get(call.name)
    if rule is None or call.count != 1 or not inputs or inputs[0] is None:
        return None
    try:
        return rule(Site(b, call, inputs))
    except (UnknownError, *INFERENCE_ERRORS):
        return None  # building the node reports what is wrong with the call


def _shape_kept(s: Site) -> bool:
    """Whether the result surely has the shape of the first input."""
    shape = s.call.shape(0)
    return None not in shape and _result_shape(s) == shape


def _result_shape(s: Site) -> Shape | None:
    (kind,) = infer_call(s.call, lambda: s.b.attributes_of(s.call), s.b.opset.version)
    return kind.shape if isinstance(kind, TensorType) else None


def _first(s: Site) -> GraphValue | None:
    return s.inputs[0]  # type: ignore[no-any-return]


def _alone(s: Site) -> GraphValue | None:
    return s.inputs[0] if len(s.inputs) == 1 else None


def _if_shape_kept(s: Site) -> GraphValue | None:
    return s.inputs[0] if _shape_kept(s) else None


# -- types -----------------------------------------------------------------------------------------


def _cast(s: Site) -> GraphValue | None:
    to = DType(s.call.attr("to"))
    x = s.inputs[0]
    if x.dtype is to:
        return x  # type: ignore[no-any-return]
    earlier = s.b.made_by(x, "Cast")
    if earlier is None or "saturate" in s.call.attributes:
        return None
    source = s.b.value_of(earlier.inputs[0])
    if source.dtype is None or x.dtype is None or not lossless(source.dtype, x.dtype):
        return None
    if source.dtype is to:
        return source
    if x.dtype.is_float and not source.dtype.is_float and to.is_integer:
        return None  # out of range, a cast of floats is anything, one of integers is not
    return s.b.standard("Cast", [source], {"to": int(to)})


_MANTISSA = {DType.DOUBLE: 53, DType.FLOAT: 24, DType.FLOAT16: 11, DType.BFLOAT16: 8}
_EXPONENT = {DType.DOUBLE: 11, DType.FLOAT: 8, DType.FLOAT16: 5, DType.BFLOAT16: 8}


def lossless(a: DType, b: DType) -> bool:
    """Whether every number of type `a` is a number of type `b`.

    Returns:
        False also for types nothing is known of.

    Example:
        >>> lossless(DType.INT32, DType.INT64), lossless(DType.INT32, DType.FLOAT)
        (True, False)
        >>> lossless(DType.BOOL, DType.FLOAT16), lossless(DType.FLOAT16, DType.BFLOAT16)
        (True, False)
    """
    if a is DType.BOOL:
        return b.is_integer or b in _MANTISSA
    if a.is_integer and b.is_integer:
        if a.is_signed and not b.is_signed:
            return False
        return a.bits < b.bits or (a.bits == b.bits and a.is_signed == b.is_signed)
    if a.is_integer and b in _MANTISSA:
        return a.bits - a.is_signed <= _MANTISSA[b] and (b is not DType.FLOAT16 or a.bits <= 8)
    if a in _MANTISSA and b in _MANTISSA:
        return _MANTISSA[a] <= _MANTISSA[b] and _EXPONENT[a] <= _EXPONENT[b]
    return False


def _cast_like(s: Site) -> GraphValue | None:
    to = s.inputs[1].dtype
    if to is None or s.call.attributes:
        return None
    return s.b.standard("Cast", [s.inputs[0]], {"to": int(to)})


# -- arithmetic ------------------------------------------------------------------------------------


def _keeps(s: Site, n: int, m: int) -> bool:
    """Whether broadcasting input `m` over input `n` leaves the shape of `n`."""
    shape, other = s.call.shape(n), s.call.shape(m)
    if len(other) > len(shape):
        return False
    return all(o == 1 or (o is not None and o == d) for d, o in zip(shape[::-1], other[::-1]))


def _is(array: Any, number: float, negative: bool | None = None) -> bool:
    """Whether an array is all of one number; `negative` asks for the sign of zeros too."""
    if array is None or array.dtype == object or not array.size:
        return False
    # The first element settles it for all but a few arrays, however large they are.
    if array.flat[0] != number or not bool((array == number).all()):
        return False
    if negative is None or array.dtype.kind in "iub":
        return True
    return bool((np.signbit(array) == negative).all())


def _add(s: Site) -> GraphValue | None:
    for n, m in ((0, 1), (1, 0)):
        # x + -0.0 is x; x + 0.0 is not, where x is -0.0.
        if _is(s.call.arrays[m], 0, negative=True) and _keeps(s, n, m):
            return s.inputs[n]  # type: ignore[no-any-return]
    return None


def _sub(s: Site) -> GraphValue | None:
    same = _is(s.call.arrays[1], 0, negative=False) and _keeps(s, 0, 1)
    return s.inputs[0] if same else None


def _mul(s: Site) -> GraphValue | None:
    for n, m in ((0, 1), (1, 0)):
        if _is(s.call.arrays[m], 1) and _keeps(s, n, m):
            return s.inputs[n]  # type: ignore[no-any-return]
    return None


def _by_one(s: Site) -> GraphValue | None:
    return s.inputs[0] if _is(s.call.arrays[1], 1) and _keeps(s, 0, 1) else None


def _logical(neutral: bool) -> Rule:
    def rule(s: Site) -> GraphValue | None:
        for n, m in ((0, 1), (1, 0)):
            if _is(s.call.arrays[m], neutral) and _keeps(s, n, m):
                return s.inputs[n]  # type: ignore[no-any-return]
        return s.inputs[0] if s.inputs[0].value is s.inputs[1].value else None

    return rule


def _twice(s: Site) -> GraphValue | None:
    """The operator is its own inverse."""
    earlier = s.b.made_by(s.inputs[0], s.call.name)
    return None if earlier is None else s.b.value_of(earlier.inputs[0])


def _where(s: Site) -> GraphValue | None:
    condition = s.call.arrays[0]
    chosen = None
    if condition is not None and condition.size and condition.all():
        chosen = 1
    elif condition is not None and condition.size and not condition.any():
        chosen = 2
    elif s.inputs[1].value is s.inputs[2].value:
        chosen = 1
    if chosen is None:
        return None
    others = [n for n in range(3) if n != chosen]
    return s.inputs[chosen] if all(_keeps(s, chosen, n) for n in others) else None


def _noop_reduction(s: Site) -> GraphValue | None:
    if not s.call.attr("noop_with_empty_axes", 0):
        return None
    return s.inputs[0] if not s.call.attr_or_input("axes", 1) else None


def _clip(s: Site) -> GraphValue | None:
    bounds = (
        s.call.has(1) or s.call.has(2) or "min" in s.call.attributes or "max" in s.call.attributes
    )
    if bounds or s.call.since < 11:
        return None
    # Without bounds, floats are clipped to the largest finite numbers: infinities change.
    return s.inputs[0] if s.call.tensor(0).dtype.is_integer else None  # type: ignore[union-attr]


def _dropout(s: Site) -> GraphValue | None:
    if s.call.since < 7:
        return s.inputs[0] if s.call.attr("is_test", 0) else None
    training = s.call.arrays[2] if s.call.has(2) else np.False_
    return s.inputs[0] if training is not None and not np.any(training) else None


# -- moving ----------------------------------------------------------------------------------------


def _transpose(s: Site) -> GraphValue | None:
    rank = len(s.call.shape(0))
    perm = _perm(s.call.attr("perm"), rank)
    if perm == list(range(rank)):
        return s.inputs[0]  # type: ignore[no-any-return]
    earlier = s.b.made_by(s.inputs[0], "Transpose")
    if earlier is None:
        return None
    attr = earlier.attributes.get("perm")
    if attr is not None and attr.is_ref():
        return None
    inner = _perm(None if attr is None else list(attr.as_ints()), rank)
    both = [inner[n] for n in perm]
    return s.b.standard("Transpose", [s.b.value_of(earlier.inputs[0])], {"perm": both})


def _perm(perm: Any, rank: int) -> list[int]:
    axes = list(range(rank))[::-1] if perm is None else list(perm)
    if sorted(axes) != list(range(rank)):
        raise UnknownError
    return axes


def _slice(s: Site) -> GraphValue | None:
    steps = s.call.numbers(4) if s.call.has(4) else (1,)
    if any(s != 1 for s in steps):
        return None
    shape = s.call.shape(0)
    if None not in shape and _result_shape(s) == shape:
        return s.inputs[0]  # type: ignore[no-any-return]
    starts, ends = s.call.attr_or_input("starts", 1), s.call.attr_or_input("ends", 2)
    if starts is not None and ends is not None:
        if not any(starts) and all(e >= _FAR for e in ends):
            return s.inputs[0]  # type: ignore[no-any-return]
    return rewrites.part_of_shape(s)


def _pad(s: Site) -> GraphValue | None:
    if "pads" in s.call.signature.attributes:
        return s.inputs[0] if not any(s.call.attr("pads")) else None
    return s.inputs[0] if s.call.arrays[1] is not None and not s.call.arrays[1].any() else None


def _tile(s: Site) -> GraphValue | None:
    return s.inputs[0] if s.call.since > 1 and all(n == 1 for n in s.call.numbers(1)) else None


def _reshape(s: Site) -> GraphValue | None:
    if _shape_kept(s):
        return s.inputs[0]  # type: ignore[no-any-return]
    if s.call.since < 5:
        return None
    sizes, copies = s.call.numbers(1), not s.call.attr("allowzero", 0)
    if len(sizes) == len(s.call.shape(0)) and all(
        size in (-1, dim) or (size == 0 and copies) for size, dim in zip(sizes, s.call.shape(0))
    ):  # what is inferred is the one size that is not known
        return s.inputs[0]  # type: ignore[no-any-return]
    if not copies or 0 in sizes:
        return None
    source = s.inputs[0]
    for name in ("Reshape", "Flatten", "Squeeze", "Unsqueeze"):
        earlier = s.b.made_by(source, name)
        if earlier is not None and len(earlier.outputs) == 1:
            source = s.b.value_of(earlier.inputs[0])
            return s.b.standard("Reshape", [source, s.inputs[1]])
    return None


def _flatten(s: Site) -> GraphValue | None:
    return s.inputs[0] if len(s.call.shape(0)) == 2 and s.call.attr("axis") in (1, -1) else None


def _squeeze(s: Site) -> GraphValue | None:
    shape, axes = s.call.shape(0), s.call.attr_or_input("axes", 1)
    if axes is None:
        return s.inputs[0] if all(type(d) is int and d != 1 for d in shape) else None
    earlier = s.b.made_by(s.inputs[0], "Unsqueeze")
    if earlier is None:
        return None
    new = s.b.axes_of(earlier, len(shape))
    return s.b.value_of(earlier.inputs[0]) if new == _normal(axes, len(shape)) else None


def _unsqueeze(s: Site) -> GraphValue | None:
    shape, axes = s.call.shape(0), s.call.attr_or_input("axes", 1)
    if axes is None:
        return None
    if not axes:
        return s.inputs[0]  # type: ignore[no-any-return]
    rewritten = rewrites.one_of_shape(s, axes)
    if rewritten is not None:
        return rewritten
    earlier = s.b.made_by(s.inputs[0], "Squeeze")
    if earlier is None:
        return None
    source = s.b.value_of(earlier.inputs[0])
    if source.shape is None or len(source.shape) != len(shape) + len(axes):
        return None
    gone = _normal(axes, len(source.shape))
    fits = all(source.shape[n] == 1 for n in gone) and shape == tuple(
        d for n, d in enumerate(source.shape) if n not in gone
    )
    return source if fits and s.b.axes_of(earlier, len(source.shape)) == gone else None


def _normal(axes: tuple[int, ...], rank: int) -> list[int]:
    return sorted(axis_in(a, rank) for a in axes)


def _gather(s: Site) -> GraphValue | None:
    return rewrites.gathered_shape(s)


def _split(s: Site) -> GraphValue | None:
    shape = s.call.shape(0)
    size = shape[axis_in(s.call.attr("axis"), len(shape))]
    if "split" in s.call.signature.attributes or s.call.has(1):
        split = s.call.attr("split") if "split" in s.call.signature.attributes else s.call.dims(1)
        if split is not None:
            return s.inputs[0] if len(split) == 1 and dims.equal(split[0], size) else None
    return s.inputs[0]  # type: ignore[no-any-return]


def _sequence_at(s: Site) -> GraphValue | None:
    sequence = s.b.made_by(s.inputs[0], "SequenceConstruct")
    if sequence is None or s.call.arrays[1] is None:
        return None
    return s.b.value_of(
        sequence.inputs[axis_in(int(s.call.arrays[1].item()), len(sequence.inputs))]
    )


def _element(s: Site) -> GraphValue | None:
    """What an optional value was made of; a tensor or a sequence is its own element."""
    if isinstance(s.call.types[0], (TensorType, SequenceType)):
        return s.inputs[0]  # type: ignore[no-any-return]
    producer = s.b.made_by(s.inputs[0], "Optional")
    has_input = producer is not None and producer.inputs and producer.inputs[0] is not None
    return s.b.value_of(producer.inputs[0]) if has_input else None  # type: ignore[union-attr]


def _has_element(s: Site) -> GraphValue | None:
    return None if _element(s) is None else s.b.constant(np.array(True))


_RULES: Mapping[str, Rule] = {
    "Add": _add,
    "And": _logical(True),
    "Cast": _cast,
    "CastLike": _cast_like,
    "Clip": _clip,
    "Concat": _alone,
    "Conv": rewrites.padded_convolution,
    "Div": _by_one,
    "Dropout": _dropout,
    "Expand": _if_shape_kept,
    "Flatten": _flatten,
    "Gather": _gather,
    "Identity": _first,
    "Max": _alone,
    "Mean": _alone,
    "Min": _alone,
    "Mul": _mul,
    "Neg": _twice,
    "Not": _twice,
    "OptionalGetElement": _element,
    "OptionalHasElement": _has_element,
    "Or": _logical(False),
    "Pad": _pad,
    "Pow": _by_one,
    "ReduceMax": _noop_reduction,
    "ReduceMean": _noop_reduction,
    "ReduceMin": _noop_reduction,
    "ReduceProd": _noop_reduction,
    "ReduceSum": _noop_reduction,
    "Reshape": _reshape,
    "SequenceAt": _sequence_at,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Sub": _sub,
    "Sum": _alone,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}
