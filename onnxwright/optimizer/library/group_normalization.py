"""InstanceNormalization and GroupNormalization that are written out."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.optimizer.constants import number, numbers
from onnxwright.optimizer.drawing import Draw, floats
from onnxwright.optimizer.patterns import Attr, Const
from onnxwright.optimizer.rule_types import Op, Value
from onnxwright.optimizer.rules import rule
from onnxwright.optimizer.value_facts import facts
from onnxwright.types.dtypes import DType

_FLOATS = (DType.FLOAT, DType.FLOAT16, DType.DOUBLE)


def _channels(op: Op, weight: Value, x: Value) -> Any:
    """A weight of shape [C, 1, ..., 1] as a vector, where `x` has C channels; None for others."""
    if weight.shape is None or x.shape is None or weight.dtype is not x.dtype:
        return None
    count, spatial = x.shape[1], len(x.shape) - 2
    before = len(weight.shape) - spatial - 1
    expected_shape = (*(1,) * before, count, *(1,) * spatial)
    if not isinstance(count, int) or before not in (0, 1) or tuple(weight.shape) != expected_shape:
        return None
    return op.Reshape(weight, [count])


def _spatial(rng: Any) -> Draw:
    shape = tuple(int(d) for d in rng.integers(1, 6, size=int(rng.integers(3, 6))))
    lead = (1,) if rng.integers(2) else ()
    weights = (*lead, shape[1], *(1,) * (len(shape) - 2))
    back = len(shape) if rng.integers(2) else 0
    return {
        "x": floats(rng, shape),
        "scale": floats(rng, weights),
        "bias": floats(rng, weights),
        "axes": np.arange(2, len(shape)) - back,
        "epsilon": np.array(1e-3, np.float32),
        "two": np.array(2, np.float32),
    }


def _normalized(op: Op, x: Any, axes: Any, two: Any, epsilon: Any, root: str) -> Any:
    """Pattern of a difference from the mean over its standard deviation."""
    centered = x - op.ReduceMean(x, axes)
    square = centered * centered if two is None else op.Pow(centered, two)
    deviation = op.Sqrt(op.ReduceMean(square, axes) + epsilon)
    if root == "Div":
        return centered / deviation
    return centered * (op.Reciprocal(deviation) if root == "Reciprocal" else 1.0 / deviation)


@rule(since=6, level="rounding", cases=_spatial)
def instance_normalization(
    op: Op, x: Any, axes: Const, two: Const, epsilon: Const, scale: Const, bias: Const
) -> Any:
    """InstanceNormalization written with a mean and a variance, with or without an affine map."""
    return _normalized(op, x, axes, two, epsilon, "Div") * scale + bias


def _add_forms(root: str) -> None:
    """Add the patterns of one way to divide by the standard deviation."""

    @instance_normalization.also
    def _(op: Op, x: Any, axes: Const, epsilon: Const, scale: Const, bias: Const) -> Any:
        return _normalized(op, x, axes, None, epsilon, root) * scale + bias

    @instance_normalization.also
    def _(op: Op, x: Any, axes: Const, two: Const, epsilon: Const) -> Any:
        return _normalized(op, x, axes, two, epsilon, root)

    @instance_normalization.also
    def _(op: Op, x: Any, axes: Const, epsilon: Const) -> Any:
        return _normalized(op, x, axes, None, epsilon, root)

    if root != "Div":

        @instance_normalization.also
        def _(
            op: Op, x: Any, axes: Const, two: Const, epsilon: Const, scale: Const, bias: Const
        ) -> Any:
            return _normalized(op, x, axes, two, epsilon, root) * scale + bias


for _root in ("Div", "Reciprocal", "one"):
    _add_forms(_root)


@instance_normalization.to
def _(op: Any, x: Any, axes: Any, two: Any, epsilon: Any, scale: Any, bias: Any) -> Any:
    small, reduced = number(epsilon), numbers(axes)
    if small is None or small < 0 or (two is not None and number(two) != 2):
        return None
    # The runtimes have the kernel for float32; each element of the result has its own channel.
    if x.dtype is not DType.FLOAT or x.shape is None or reduced is None or len(x.shape) < 3:
        return None
    if sorted(a % len(x.shape) for a in reduced) != list(range(2, len(x.shape))):
        return None
    if scale is not None:
        weights = [_channels(op, w, x) for w in (scale, bias)]
        if any(w is None for w in weights):
            return None
        return op.InstanceNormalization(x, *weights, epsilon=small)
    count = x.shape[1]
    if not isinstance(count, int) or (len(x.shape) == 3 and facts(x).made_by != "Reshape"):
        return None  # of three dimensions, it is as likely a LayerNormalization
    ones, zeros = np.ones(count, np.float32), np.zeros(count, np.float32)
    return op.InstanceNormalization(x, ones, zeros, epsilon=small)


def _affine(rng: Any) -> Draw:
    drawn = _spatial(rng)
    count = drawn["x"].shape[1:2]
    return {**drawn, "s": floats(rng, count), "b": floats(rng, count), "epsilon": 1e-3}


@rule(since=6, level="rounding", cases=_affine)
def instance_normalization_and_affine(
    op: Op, x: Value, s: Const, b: Const, scale: Const, bias: Const, epsilon: Attr
) -> Any:
    """A factor and a sum for each channel after InstanceNormalization: they go into its own."""
    return op.InstanceNormalization(x, s, b, epsilon=epsilon) * scale + bias


@instance_normalization_and_affine.to
def _(op: Op, x: Value, s: Value, b: Value, scale: Value, bias: Value, epsilon: Any) -> Any:
    factor, term = _channels(op, scale, x), _channels(op, bias, x)
    if factor is None or term is None:
        return None
    return op.InstanceNormalization(
        x, op.Mul(s, factor), op.Add(op.Mul(b, factor), term), epsilon=epsilon
    )


def _groups(rng: Any) -> Draw:
    groups, batch = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    count = groups * int(rng.integers(1, 4))
    shape = (batch, count, *(int(d) for d in rng.integers(1, 5, size=int(rng.integers(1, 4)))))
    grouped = [batch if rng.integers(2) else 0, groups, -1]
    if rng.integers(2):
        grouped = [0, groups, count // groups, -1]
    weights = (count, *(1,) * (len(shape) - 2))
    dims = ("n", *shape[1:]) if rng.integers(2) and grouped[0] == 0 else shape
    return {
        "x": floats(rng, shape),
        "grouped": np.array(grouped),
        "back": np.array([0, *shape[1:]]),
        "s": floats(rng, (groups,)),
        "b": floats(rng, (groups,)),
        "scale": floats(rng, weights),
        "bias": floats(rng, weights),
        "epsilon": 1e-3,
        "dims": {"x": dims},
    }


# From opset 21 on: the form of opset 18, with a scale for each group, is deprecated.
# Only where it is asked for: ONNX Runtime inlines GroupNormalization, which takes it 1.8 times as
# long as the kernel of InstanceNormalization between two Reshapes.
@rule(since=21, level="rounding", cases=_groups, avoid=("onnxruntime",))
def group_normalization(
    op: Op, x: Value, grouped: Const, back: Const, s: Const, b: Const, scale: Const, bias: Const,
    epsilon: Attr,
) -> Any:  # fmt: skip
    """GroupNormalization written as InstanceNormalization of a reshaped tensor."""
    normal = op.InstanceNormalization(op.Reshape(x, grouped), s, b, epsilon=epsilon)
    return op.Reshape(normal, back) * scale + bias


@group_normalization.also
def _(
    op: Op, x: Value, grouped: Const, s: Const, b: Const, scale: Const, bias: Const, epsilon: Attr
) -> Any:
    normal = op.InstanceNormalization(op.Reshape(x, grouped), s, b, epsilon=epsilon)
    return op.Reshape(normal, op.Shape(x)) * scale + bias


@group_normalization.also
def _(op: Op, x: Value, grouped: Const, back: Const, s: Const, b: Const, epsilon: Attr) -> Any:
    normal = op.InstanceNormalization(op.Reshape(x, grouped), s, b, epsilon=epsilon)
    return op.Reshape(normal, back)


@group_normalization.also
def _(op: Op, x: Value, grouped: Const, s: Const, b: Const, epsilon: Attr) -> Any:
    normal = op.InstanceNormalization(op.Reshape(x, grouped), s, b, epsilon=epsilon)
    return op.Reshape(normal, op.Shape(x))


def _restores(back: Any, x: Any) -> bool:
    """Whether a Reshape to `back` gives the shape of `x`; its first dimension may be kept."""
    dims = numbers(back)
    if dims is None or len(dims) != len(x.shape) or dims.count(-1) > 1:
        return False
    return all(
        d == -1 or (d == 0 and n == 0) or (d == x.shape[n] and d != 0) for n, d in enumerate(dims)
    )


@group_normalization.to
def _(
    op: Op, x: Any, grouped: Any, back: Any, s: Any, b: Any, scale: Any, bias: Any, epsilon: Any
) -> Any:
    dims = numbers(grouped)
    if x.shape is None or len(x.shape) < 3 or x.dtype not in _FLOATS or dims is None:
        return None
    count, groups = x.shape[1], s.shape[0] if s.rank == 1 else None
    if not isinstance(count, int) or not isinstance(groups, int) or not groups or count % groups:
        return None
    # The batch stays, and a group has whole channels.
    if len(dims) < 3 or dims[1] != groups or not (dims[0] == 0 or dims[0] == x.shape[0]):
        return None
    if back is not None and not _restores(back, x):
        return None
    each = count // groups

    def of_channels(weight: Any) -> Any:
        wide = op.Expand(op.Reshape(weight, [groups, 1]), [groups, each])
        return op.Reshape(wide, [count])

    s, b = of_channels(s), of_channels(b)
    if scale is not None:
        factor, term = _channels(op, scale, x), _channels(op, bias, x)
        if factor is None or term is None:
            return None
        s, b = op.Mul(s, factor), op.Add(op.Mul(b, factor), term)
    return op.GroupNormalization(x, s, b, num_groups=groups, epsilon=epsilon)
