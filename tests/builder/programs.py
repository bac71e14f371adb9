"""Random programs of operator calls, recorded on arrays and replayed on any backend."""

from __future__ import annotations

import random
import warnings

import numpy as np

from onnxwright.eager.backend import EagerBackend
from onnxwright.errors import OnnxwrightError
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.ops import Ops

OPSET = Opset("", 21)


def inputs(size: int, seed: int) -> dict[str, np.ndarray]:
    """What the programs start from; `N` is `size`."""
    rng = np.random.default_rng(seed)
    return {
        "x": rng.normal(size=(size, 6)).astype(np.float32),
        "image": rng.normal(size=(2, 3, size + 4)).astype(np.float32),
        "ints": rng.integers(-5, 6, size=(size, 2)).astype(np.int64),
    }


SHAPES = {"x": ("N", 6), "image": (2, 3, "N + 4"), "ints": ("N", 2)}


class Program:
    """Steps: each a function of (op, values) that gives one value."""

    def __init__(self, seed: int, length: int = 12, size: int = 3) -> None:
        self.random = random.Random(seed)
        self.steps = []
        op = Ops(EagerBackend(OPSET))
        values = [op.constant(a) for a in inputs(size, seed).values()]
        tries = 0
        while len(self.steps) < length and tries < 200:
            tries += 1
            step = self.random.choice(TEMPLATES)(self.random, values)
            if step is None:
                continue
            value = attempt(step, op, values)
            if value is not None and value.value.size <= 3000 and value.value.ndim <= 5:
                self.steps.append(step)
                values.append(value)

    def run(self, op, values):
        """All values, the given ones first."""
        values = list(values)
        for step in self.steps:
            values.append(step(op, values))
        return values


def attempt(step, op, values):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return step(op, values)
    except (OnnxwrightError, IndexError):
        return None


def pick(r, values, kinds="fib", ranks=range(6), smallest=0):
    candidates = [
        n
        for n, v in enumerate(values)
        if v.value.dtype.kind in kinds and v.value.ndim in ranks and v.value.size >= smallest
    ]
    return r.choice(candidates) if candidates else None


TEMPLATES = []


def template(kinds="f", ranks=range(6)):
    def add(function):
        def make(r, values):
            n = pick(r, values, kinds, ranks)
            return None if n is None else function(r, values, n)

        TEMPLATES.append(make)
        return function

    return add


@template("f")
def unary(r, values, n):
    name = r.choice(["Relu", "Abs", "Neg", "Tanh", "Identity", "Floor", "Sigmoid", "Sign"])
    return lambda op, v: getattr(op, name)(v[n])


@template("fi")
def scalar(r, values, n):
    number = r.choice([0, 1, 2, -1])
    name = r.choice(["Add", "Sub", "Mul", "Max", "Min"])
    left = r.random() < 0.3
    return lambda op, v: getattr(op, name)(*((number, v[n]) if left else (v[n], number)))


@template("f")
def by_one(r, values, n):
    name, number = r.choice([("Div", 1), ("Pow", 1), ("Sub", 0), ("Add", -0.0), ("Mul", 1)])
    return lambda op, v: getattr(op, name)(v[n], number)


@template("fi")
def binary(r, values, n):
    m = pick(r, values, values[n].value.dtype.kind)
    name = r.choice(["Add", "Sub", "Mul", "Max"])
    return lambda op, v: getattr(op, name)(v[n], v[m])


@template("fi", range(1, 6))
def transpose(r, values, n):
    perm = list(range(values[n].value.ndim))
    r.shuffle(perm)
    attributes = {} if r.random() < 0.2 else {"perm": perm}
    return lambda op, v: op.Transpose(v[n], **attributes)


@template("fi", range(1, 6))
def reshape(r, values, n):
    rank = values[n].value.ndim
    kind = r.randrange(4)
    if kind == 0:
        return lambda op, v: op.Reshape(v[n], [-1])
    if kind == 1:
        return lambda op, v: op.Reshape(v[n], [0, -1])
    axis = r.randrange(rank)
    if kind == 2:  # two axes as one, by arithmetic on the shape

        def joined(op, v):
            shape = op.Shape(v[n])
            parts = [shape[:axis], op.ReduceProd(shape[axis : axis + 2]), shape[axis + 2 :]]
            return op.Reshape(v[n], op.Concat(*parts, axis=0))

        return joined

    def split(op, v):
        size = op.Gather(op.Shape(v[n]), axis)
        half = op.Unsqueeze(op.Div(size, 2), [0])
        shape = op.Shape(v[n])
        return op.Reshape(v[n], op.Concat(shape[:axis], half, [2], shape[axis + 1 :], axis=0))

    return split


@template("fi", range(1, 6))
def sliced(r, values, n):
    axis = r.randrange(values[n].value.ndim)
    start, stop = r.choice([0, 1, -2, 2, None]), r.choice([None, -1, 1, 4, 100])
    step = r.choice([None, 1, 2, -1])
    index = (slice(None),) * axis + (slice(start, stop, step),)
    return lambda op, v: v[n][index]


@template("fi", range(1, 6))
def to_shape_end(r, values, n):
    def apply(op, v):
        size = op.Shape(v[n], start=0, end=1)
        return op.Slice(v[n], op.Div(size, 2), size, [0])

    return apply


@template("fi", range(1, 6))
def gather(r, values, n):
    axis = r.randrange(values[n].value.ndim)
    index = r.choice([0, -1, [0], [0, -1, 0], [[0], [0]]])
    return lambda op, v: op.Gather(v[n], index, axis=axis)


@template("fi", range(1, 6))
def concat(r, values, n):
    axis = r.randrange(values[n].value.ndim)
    count = r.choice([1, 2, 3])
    return lambda op, v: op.Concat(*[v[n]] * count, axis=axis)


@template("f", range(1, 6))
def split_parts(r, values, n):
    axis = r.randrange(values[n].value.ndim)
    part = r.randrange(2)
    return lambda op, v: op.Split(v[n], num_outputs=2, axis=axis, _outputs=2)[part]


@template("fi")
def unsqueeze(r, values, n):
    axes = r.choice([[0], [-1], [0, 1]])
    back = r.random() < 0.4

    def apply(op, v):
        unsqueezed = op.Unsqueeze(v[n], axes)
        return op.Squeeze(unsqueezed, axes) if back else unsqueezed

    return apply


@template("fi", range(1, 4))
def expand(r, values, n):
    m = pick(r, values, "fi", range(1, 4))
    return lambda op, v: op.Expand(v[n], op.Shape(v[m]))


@template("fi", range(1, 4))
def tile(r, values, n):
    rank = values[n].value.ndim
    repeats = [r.choice([1, 1, 2]) for _ in range(rank)]
    return lambda op, v: op.Tile(v[n], repeats)


@template("f", range(1, 4))
def pad(r, values, n):
    rank = values[n].value.ndim
    pads = [r.choice([0, 0, 1, 2]) for _ in range(2 * rank)]
    return lambda op, v: op.Pad(v[n], pads)


@template("fi", range(1, 6))
def reduce(r, values, n):
    name = r.choice(["ReduceSum", "ReduceMax", "ReduceMin"])
    axes = r.choice([None, [0], [-1], []])
    keep, noop = r.randrange(2), r.randrange(2)
    return lambda op, v: getattr(op, name)(v[n], axes, keepdims=keep, noop_with_empty_axes=noop)


@template("fi", range(1, 6))
def arg(r, values, n):
    axis = r.randrange(values[n].value.ndim)
    keep = r.randrange(2)
    return lambda op, v: op.ArgMax(v[n], axis=axis, keepdims=keep)


@template("f", range(1, 6))
def top(r, values, n):
    part = r.randrange(2)
    return lambda op, v: op.TopK(v[n], [1], axis=0)[part]


@template("fi")
def where(r, values, n):
    condition = r.choice([True, False, None])

    def apply(op, v):
        return op.Where(op.Greater(v[n], 0) if condition is None else condition, v[n], op.Neg(v[n]))

    return apply


@template("fi")
def casts(r, values, n):
    kinds = [1, 11, 7, 6, 9]
    first, second = r.choice(kinds), r.choice(kinds)
    return lambda op, v: op.Cast(op.Cast(v[n], to=first), to=second)


@template("f", range(1, 6))
def along(r, values, n):
    axis = r.randrange(values[n].value.ndim)
    name = r.choice(["Softmax", "LogSoftmax"])
    return lambda op, v: getattr(op, name)(v[n], axis=axis)


@template("f", range(3, 4))
def windows(r, values, n):
    weight = np.random.default_rng(r.randrange(99)).normal(size=(4, 3, 3))
    attributes = r.choice(
        [
            {"pads": [1, 1]},
            {"strides": [2]},
            {"auto_pad": "SAME_UPPER", "strides": [2]},
            {"dilations": [2]},
            {"pads": [2, 0], "strides": [3]},
        ]
    )
    return lambda op, v: op.Conv(v[1], weight.astype(np.float32), **attributes)


@template("f", range(3, 4))
def pool(r, values, n):
    attributes = r.choice(
        [{"strides": [2]}, {"strides": [2], "ceil_mode": 1}, {"pads": [1, 1], "strides": [1]}]
    )
    name = r.choice(["MaxPool", "AveragePool"])
    # Of the image alone: what a pooling gives of less than its window is nobody's contract.
    return lambda op, v: getattr(op, name)(v[1], kernel_shape=[3], **attributes)


@template("f", range(3, 4))
def transposed_conv(r, values, n):
    channels = values[n].value.shape[1]
    weight = np.random.default_rng(r.randrange(99)).normal(size=(channels, 2, 2))
    attributes = r.choice(
        [{}, {"strides": [2]}, {"pads": [1, 0]}, {"strides": [2], "dilations": [2]}]
    )
    return lambda op, v: op.ConvTranspose(v[n], weight.astype(np.float32), **attributes)


@template("f", range(1, 5))
def matmul(r, values, n):
    return lambda op, v: op.MatMul(v[n], op.Transpose(v[n])) if v[n].rank == 2 else None


@template("f", range(1, 4))
def resized(r, values, n):
    rank = values[n].value.ndim
    scales = [r.choice([1.0, 2.0, 0.5]) for _ in range(rank)]
    return lambda op, v: op.Resize(v[n], None, scales, mode="nearest", nearest_mode="floor",
                                   coordinate_transformation_mode="asymmetric")  # fmt: skip


@template("i", range(1, 2))
def ranges(r, values, n):
    step = r.choice([1, 2])
    return lambda op, v: op.Range(0, op.Gather(op.Shape(v[n]), 0), step)


@template("fi", range(1, 4))
def filled(r, values, n):
    return lambda op, v: op.ConstantOfShape(op.Shape(v[n]))


@template("fi", range(2, 6))
def flatten(r, values, n):
    axis = r.choice([0, 1, -1])
    return lambda op, v: op.Flatten(v[n], axis=axis)


@template("f")
def branches(r, values, n):
    decided = r.choice([True, False, None])

    def apply(op, v):
        condition = op.Greater(op.ReduceSum(v[n], keepdims=0), 0.0) if decided is None else decided
        return op.If(
            op.constant(np.array(condition)) if decided is not None else condition,
            then_branch=lambda: op.Add(v[n], 1.0),
            else_branch=lambda: op.Identity(v[n]),
        )

    return apply


@template("f")
def loops(r, values, n):
    turns = r.choice([1, 3])

    def apply(op, v):
        grown, total = op.Loop(
            turns,
            None,
            op.Identity(v[n]),
            op.constant(np.float32(0)),
            body=lambda i, c, a, s: (c, op.Mul(a, 0.5), op.Add(s, op.Cast(i, to=1))),
        )
        return op.Add(grown, total)

    return apply
