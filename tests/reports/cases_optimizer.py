"""Reports about optimizers: a model, and what it computes whatever is done to it."""

from __future__ import annotations

import numpy as np

from tests.reports.table import F32, ModelReport, arange

NAN = np.array([np.nan, -0.0, 0.0, -3.0, 9.0], np.float32)

REPORTS = [
    ModelReport(
        "microsoft/onnxscript",
        2810,
        "an If around Squeeze, axes an initializer of the branch",
        """(float[1, 3] x) => (float[3] y) {
            c = Constant<value_int = 1>() t = Cast<to = 9>(c)
            y = If (t) <then_branch = a () => (float[3] u)
                            <int64[1] axes = {0}> { u = Squeeze(x, axes) },
                        else_branch = b () => (float[3] v) { v = Flatten<axis = 0>(x) }> }""",
        [arange(1, 3)],
        lambda x: x[0],
    ),
    ModelReport(
        "microsoft/onnxscript",
        2728,
        "a branch whose output folds to a constant",
        """(float[2] x, bool c) => (float[2] y) {
            y = If (c) <then_branch = a () => (float[2] u) {
                            k = Constant<value_floats = [1.0, 2.0]>() u = Add(k, k) },
                        else_branch = b () => (float[2] v) { v = Neg(x) }> }""",
        [arange(2), np.array(True)],
        lambda x, c: np.array([2, 4], F32),
    ),
    ModelReport(
        "microsoft/onnxscript",
        2673,
        "constants inside of a function are folded",
        """(float[2] x) => (float[2] y) { y = d.f(x) }""",
        [arange(2)],
        lambda x: x + 5,
        functions="""<domain: "d", opset_import: ["" : 20]> f (a) => (b) {
            k = Constant<value_float = 2.0>() l = Constant<value_float = 3.0>()
            s = Add(k, l) b = Add(a, s) }""",
    ),
    ModelReport(
        "inisis/OnnxSlim",
        277,
        "a Slice of a Slice, negative and with steps",
        """(float[4, 9] x) => (float[N, M] y)
            <int64[1] s = {1}, int64[1] e = {-1}, int64[1] a = {1}, int64[1] p = {2},
             int64[2] s2 = {-1, 0}, int64[2] e2 = {-5, 3}, int64[2] a2 = {0, 1},
             int64[2] p2 = {-1, 2}>
            { t = Slice(x, s, e, a, p) y = Slice(t, s2, e2, a2, p2) }""",
        [arange(4, 9)],
        lambda x: x[:, 1:-1:2][::-1, 0:3:2],
    ),
    ModelReport(
        "inisis/OnnxSlim",
        29,
        "one Pad read by two convolutions",
        """(float[1, 1, 3, 3] x) => (float[N, C, H, W] y)
            <int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}, float[1, 1, 1, 1] w = {2.0},
             float[1, 1, 1, 1] v = {3.0}>
            { t = Pad(x, p) a = Conv(t, w) b = Conv(t, v) y = Add(a, b) }""",
        [arange(1, 1, 3, 3)],
        lambda x: 5 * np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))),
    ),
    ModelReport(
        "microsoft/onnxruntime",
        28089,
        "a chain of Casts that loses digits is kept",
        """(float[4] x) => (float[4] y) { a = Cast<to = 7>(x) b = Cast<to = 9>(a)
            y = Cast<to = 1>(b) }""",
        [np.array([0.5, -0.5, 1.5, 0.0], F32)],
        lambda x: np.array([0, 0, 1, 0], F32),
    ),
    ModelReport(
        "microsoft/onnxruntime",
        17565,
        "a Cast to a narrower type and back is kept",
        """(int64[3] x) => (int64[3] y) { a = Cast<to = 3>(x) y = Cast<to = 7>(a) }""",
        [np.array([1, 300, -129])],
        lambda x: x.astype(np.int8).astype(np.int64),
    ),
    ModelReport(
        "onnx/onnx",
        8203,
        "a root mean square whose scale has another shape",
        """(float[2, 4] x, float[2, 1] s) => (float[2, 4] y)
            <float two = {2.0}, float e = {0.00001}> { q = Pow(x, two)
              axes = Constant<value_ints = [-1]>() m = ReduceMean(q, axes)
              n = Add(m, e) r = Sqrt(n) d = Div(x, r) y = Mul(d, s) }""",
        [arange(2, 4), np.array([[2], [3]], F32)],
        lambda x, s: s * x / np.sqrt((x**2).mean(-1, keepdims=True) + F32(1e-5)),
    ),
    ModelReport(
        "onnx/optimizer",
        275,
        "an Expand to a shape of ones that makes a tensor longer stays",
        """(float[1, 3] x, int64[2] s) => (float[N, M] y) { y = Expand(x, s) }""",
        [arange(1, 3), np.array([4, 1])],
        lambda x, s: np.repeat(x, 4, 0),
    ),
    ModelReport(
        "onnx/optimizer",
        254,
        "equal operators with other attributes are not shared",
        """(float[2, 3] x) => (float[2, 3] y) { a = Softmax<axis = 0>(x) b = Softmax<axis = 1>(x)
            y = Sub(a, b) }""",
        [arange(2, 3)],
        lambda x: np.exp(x) / np.exp(x).sum(0) - np.exp(x) / np.exp(x).sum(1, keepdims=True),
    ),
    ModelReport(
        "onnx/optimizer",
        259,
        "Clips of bounds that do not meet, with NaN and -0.0",
        """(float[5] x) => (float[5] y) <float a = {0.0}, float b = {1.0}, float c = {2.0},
            float d = {3.0}> { t = Clip(x, a, b) y = Clip(t, c, d) }""",
        [NAN],
        lambda x: np.where(np.isnan(x), x, F32(2)),
    ),
    ModelReport(
        "onnx/optimizer",
        267,
        "a Shape, Gather and Concat that lead to a Reshape",
        """(float[N, 2, 3] x) => (float[A, B] y) <int64 zero = {0}, int64[1] ax = {0},
            int64[1] rest = {-1}>
            { s = Shape(x) n = Gather(s, zero) u = Unsqueeze(n, ax)
              t = Concat<axis = 0>(u, rest) y = Reshape(x, t) }""",
        [arange(4, 2, 3)],
        lambda x: x.reshape(4, 6),
    ),
    ModelReport(
        "onnx/optimizer",
        255,
        "a BatchNormalization after a Conv that is an output, too",
        """(float[1, 1, 2, 2] x) => (float[1, 1, 2, 2] t, float[1, 1, 2, 2] y)
            <float[1, 1, 1, 1] w = {2.0}, float[1] s = {3.0}, float[1] b = {1.0},
             float[1] m = {0.5}, float[1] v = {1.0}>
            { t = Conv(x, w) y = BatchNormalization<epsilon = 0.0>(t, s, b, m, v) }""",
        [arange(1, 1, 2, 2)],
        lambda x: (2 * x, 3 * (2 * x - F32(0.5)) + 1),
    ),
    ModelReport(
        "onnx/onnx",
        7570,
        "Div of negative integers folds as it is computed",
        """(int64[3] x) => (int64[3] y) <int64[3] a = {-7, 7, -7}, int64[3] b = {2, -2, -2}>
            { q = Div(a, b) y = Add(x, q) }""",
        [np.zeros(3, np.int64)],
        lambda x: np.array([-3, -3, 3]),
    ),
    ModelReport(
        "onnx/tensorflow-onnx",
        2174,
        "Mod of negative integers folds as it is computed",
        """(int64[3] x) => (int64[3] y) <int64[3] a = {-7, 7, -7}, int64[3] b = {2, -2, -2}>
            { q = Mod(a, b) y = Add(x, q) }""",
        [np.zeros(3, np.int64)],
        lambda x: np.array([1, -1, -1]),
    ),
    ModelReport(
        "onnx/optimizer",
        269,
        "a Pad of zeros before a MaxPool of negative numbers",
        """(float[1, 1, 2, 2] x) => (float[N, C, H, W] y) <int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}>
            { t = Pad(x, p) y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(t) }""",
        [-1 - arange(1, 1, 2, 2)],
        np.zeros_like,
    ),
    ModelReport(
        "daquexian/onnx-simplifier",
        157,
        "two Unsqueezes, one after the other",
        """(float[2, 3] x) => (float[A, B, C, D] y) <int64[1] a = {0}, int64[1] b = {-1}>
            { t = Unsqueeze(x, a) y = Unsqueeze(t, b) }""",
        [arange(2, 3)],
        lambda x: x[None, :, :, None],
    ),
    ModelReport(
        "daquexian/onnx-simplifier",
        265,
        "constants that are nearly equal are two",
        """(float[2] x) => (float[2] y) <float[1] a = {1.0}, float[1] b = {1.0000001}>
            { s = Sub(b, a) y = Mul(x, s) }""",
        [np.array([1e7, 2e7], F32)],
        lambda x: x * (F32(1.0000001) - F32(1)),
    ),
    ModelReport(
        "onnx/onnx",
        2873,
        "two BatchNormalizations share their initializers",
        """(float[2, 1, 2] x) => (float[2, 1, 2] y) <float[1] s = {2.0}, float[1] b = {1.0},
            float[1] m = {0.0}, float[1] v = {1.0}>
            { t = BatchNormalization<epsilon = 0.0>(x, s, b, m, v)
              y = BatchNormalization<epsilon = 0.0>(t, s, b, m, v) }""",
        [arange(2, 1, 2)],
        lambda x: 2 * (2 * x + 1) + 1,
    ),
]
