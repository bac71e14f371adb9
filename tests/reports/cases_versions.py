"""Reports about converting models between opset versions."""

from __future__ import annotations

import numpy as np

from tests.reports.table import F32, ModelReport, arange


def softmax(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Softmax over several axes together."""
    made = np.exp(x - x.max(axes, keepdims=True))
    return made / made.sum(axes, keepdims=True)


def group_norm(x: np.ndarray, s: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Normalized in two groups, scaled by channel."""
    flat = x.reshape(x.shape[0], 2, -1)
    flat = flat - flat.mean(-1, keepdims=True)
    flat = flat / np.sqrt((flat**2).mean(-1, keepdims=True) + F32(1e-5))
    return flat.reshape(x.shape) * s[:, None] + b[:, None]


# Report -> the versions that have no equivalent.
REFUSED: dict[int, tuple[int, ...]] = {3805: (7, 9), 5812: (7, 9, 11, 13, 17, 18)}

REPORTS = [
    ModelReport(
        "onnx/onnx",
        6340,
        "Softmax of version 13 is along one axis, before over all that follow",
        "(float[2, 3, 2] x) => (float[2, 3, 2] y) { y = Softmax<axis = 1>(x) }",
        [arange(2, 3, 2)],
        lambda x: softmax(x, (1,)),
        opset=13,
    ),
    ModelReport(
        "onnx/onnx",
        6340,
        "Softmax of version 12 is over all axes that follow",
        "(float[2, 3, 2] x) => (float[2, 3, 2] y) { y = Softmax<axis = 1>(x) }",
        [arange(2, 3, 2)],
        lambda x: softmax(x, (1, 2)),
        opset=12,
    ),
    ModelReport(
        "onnx/onnx",
        5808,
        "GroupNormalization of version 18 scales by group",
        """(float[2, 4, 3] x, float[2] s, float[2] b) => (float[2, 4, 3] y)
            { y = GroupNormalization<num_groups = 2>(x, s, b) }""",
        [arange(2, 4, 3), np.array([2, 3], F32), np.array([1, -1], F32)],
        lambda x, s, b: group_norm(x, np.repeat(s, 2), np.repeat(b, 2)),
        opset=18,
    ),
    ModelReport(
        "onnx/onnx",
        5808,
        "GroupNormalization of version 21 scales by channel",
        """(float[2, 4, 3] x, float[4] s, float[4] b) => (float[2, 4, 3] y)
            { y = GroupNormalization<num_groups = 2>(x, s, b) }""",
        [arange(2, 4, 3), np.array([2, 3, 4, 5], F32), np.array([1, -1, 2, -2], F32)],
        group_norm,
        opset=21,
    ),
    ModelReport(
        "onnx/onnx",
        3805,
        "Resize with half pixels has no equivalent in Upsample",
        """(float[1, 1, 2, 2] x) => (float[A, B, C, D] y) <float[4] s = {1.0, 1.0, 2.0, 2.0}>
            { y = Resize<mode = "linear", coordinate_transformation_mode = "half_pixel">
                  (x, , s) }""",
        [np.array([[[[0, 4], [8, 12]]]], F32)],
        lambda x: np.array([[[[0, 1, 3, 4], [2, 3, 5, 6], [6, 7, 9, 10], [8, 9, 11, 12]]]], F32),
        opset=13,
    ),
    ModelReport(
        "onnx/onnx",
        3328,
        "a Loop that reads a value around it",
        """(float[2] x) => (float[2] y) <int64 n = {3}, bool t = {1}> {
            y = Loop (n, t, x) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w)
                { d = Identity(c) w = Add(v, x) }> }""",
        [arange(2)],
        lambda x: 4 * x,
        opset=13,
    ),
    ModelReport(
        "onnx/onnx",
        3050,
        "Slice, Pad and Clip of opset 9 have attributes",
        """(float[3, 4] x) => (float[A, B] y) {
            s = Slice<starts = [0, 1], ends = [2, 9]>(x)
            p = Pad<pads = [1, 0, 0, 1], value = 5.0>(s)
            y = Clip<min = 0.0, max = 2.0>(p) }""",
        [arange(3, 4)],
        lambda x: np.clip(np.pad(x[0:2, 1:], ((1, 0), (0, 1)), constant_values=F32(5)), 0, 2),
        opset=9,
    ),
    ModelReport(
        "onnx/onnx",
        2873,
        "Dropout, ReduceSum and Split of opset 9",
        """(float[2, 4] x) => (float[2] y) { d = Dropout<ratio = 0.3>(x)
            a, b = Split<axis = 1, split = [1, 3]>(d)
            y = ReduceSum<axes = [1], keepdims = 0>(b) }""",
        [arange(2, 4)],
        lambda x: x[:, 1:].sum(1),
        opset=9,
    ),
    ModelReport(
        "onnx/onnx",
        5812,
        "QuantizeLinear to 16 bits is new in version 21",
        """(float[3] x) => (uint16[3] y) <float s = {0.5}, uint16 z = {10}>
            { y = QuantizeLinear(x, s, z) }""",
        [np.array([1.0, 2.0, 40000.0], F32)],
        lambda x: np.array([12, 14, 65535], np.uint16),
        opset=21,
    ),
]
