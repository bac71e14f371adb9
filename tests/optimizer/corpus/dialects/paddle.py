"""As paddle2onnx writes: Identity for assign, scale as Mul and Add, shapes in INT32."""

from __future__ import annotations

import onnx

from tests.optimizer.corpus.dialects.building import model, register


def linear() -> onnx.ModelProto:
    """matmul_v2, elementwise_add, relu, scale."""
    return model(
        """(float[N,8] x) => (float[N,3] y) {
        i = Identity(x)  a = MatMul(i, w)  b = Add(a, bias)  c = Relu(b)  d = MatMul(c, v)
        e = Add(d, offset)  f = Mul(e, factor)  y = Identity(f) }""",
        11, w=(8, 6), bias=(6,), v=(6, 3), offset=(3,), factor=2.0,
    )  # fmt: skip


def hard_swish() -> onnx.ModelProto:
    """hard_swish written out, as below opset 14: x * clip(x + 3, 0, 6) / 6."""
    return model(
        """(float[N,4,6,6] x) => (float[N,4,6,6] y) {
        a = Conv<pads = [1,1,1,1], kernel_shape = [3,3]>(x, k)
        n = BatchNormalization(a, gamma, beta, mean, variance)
        b = Add(n, three)  c = Clip(b, zero, six)  d = Mul(n, c)  y = Div(d, six) }""",
        11, k=(4, 4, 3, 3), gamma=(4,), beta=(4,), mean=(4,), variance=[0.5, 1.0, 1.5, 0.75],
        three=3.0, zero=0.0, six=6.0,
    )  # fmt: skip


def squeeze_excitation() -> onnx.ModelProto:
    """A pool of the whole image, two Convs of 1 by 1, HardSigmoid, a product."""
    return model(
        """(float[N,4,6,6] x) => (float[N,4,6,6] y) {
        p = GlobalAveragePool(x)  a = Conv(p, k)  a1 = Reshape(b1, shape2)  a2 = Add(a, a1)
        r = Relu(a2)  c = Conv(r, m)  c1 = Reshape(b2, shape4)  c2 = Add(c, c1)
        h = HardSigmoid<alpha = 0.2, beta = 0.5>(c2)  y = Mul(x, h) }""",
        11, k=(2, 4, 1, 1), b1=(2,), m=(4, 2, 1, 1), b2=(4,), shape2=[1, 2, 1, 1],
        shape4=[1, 4, 1, 1],
    )  # fmt: skip


def flatten() -> onnx.ModelProto:
    """flatten_contiguous_range: Shape, two Slices, ReduceProd, Concat, Reshape."""
    return model(
        """(float[N,4,3,3] x) => (float[N,36] y) {
        s = Shape(x)  a = Slice(s, zero, one, zero)  b = Slice(s, one, four, zero)
        p = ReduceProd<axes = [0], keepdims = 1>(b)  t = Concat<axis = 0>(a, p)
        y = Reshape(x, t) }""",
        11, zero=[0], one=[1], four=[4],
    )  # fmt: skip


def resize() -> onnx.ModelProto:
    """nearest_interp_v2 by scale: the sizes of the other branch, through INT32."""
    return model(
        """(float[N,4,H,W] x, float[N,4,A,B] z) => (float[N,4,A,B] y) {
        s = Shape(z)  a = Slice(s, two, four, zero)  c = Cast<to = 6>(a)  d = Cast<to = 7>(c)
        t = Shape(x)  b = Slice(t, zero, two, zero)  n = Concat<axis = 0>(b, d)
        r = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric",
                   nearest_mode = "floor">(x, roi, empty, n)
        y = Add(r, z) }""",
        11, zero=[0], two=[2], four=[4], roi=(0,), empty=(0,),
    )  # fmt: skip


def layer_norm() -> onnx.ModelProto:
    """layer_norm below opset 17: ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add."""
    return model(
        """(float[N,5,8] x) => (float[N,5,8] y) {
        m = ReduceMean<axes = [-1]>(x)  d = Sub(x, m)  p = Pow(d, two)
        v = ReduceMean<axes = [-1]>(p)  e = Add(v, eps)  s = Sqrt(e)  n = Div(d, s)
        a = Mul(n, gamma)  y = Add(a, beta) }""",
        13, two=2.0, eps=1e-5, gamma=(8,), beta=(8,),
    )  # fmt: skip


def attention() -> onnx.ModelProto:
    """One product for q, k and v, split by Slices after a Transpose, scale as a Mul before."""
    return model(
        """(float[N,6,8] x) => (float[N,6,8] y) {
        a = MatMul(x, w)  b = Add(a, bias)  c = Reshape(b, apart)
        t = Transpose<perm = [2,0,3,1,4]>(c)
        q0 = Slice(t, zero, one, zero)  q1 = Squeeze(q0, zero)  k0 = Slice(t, one, two, zero)
        k = Squeeze(k0, zero)  v0 = Slice(t, two, three, zero)  v = Squeeze(v0, zero)
        q = Mul(q1, scaling)  kt = Transpose<perm = [0,1,3,2]>(k)  s = MatMul(q, kt)
        p = Softmax<axis = -1>(s)  o = MatMul(p, v)  r = Transpose<perm = [0,2,1,3]>(o)
        z = Reshape(r, rows)  f = MatMul(z, u)  y = Add(f, last) }""",
        13, w=(8, 24), bias=(24,), apart=[0, 6, 3, 2, 4], rows=[0, 6, 8], u=(8, 8), last=(8,),
        scaling=0.5, zero=[0], one=[1], two=[2], three=[3],
    )  # fmt: skip


def lstm() -> onnx.ModelProto:
    """rnn: a Transpose to time first, LSTM of both directions, Transpose and Reshape after it."""
    return model(
        """(float[N,5,3] x) => (float[N,5,8] y) {
        t = Transpose<perm = [1,0,2]>(x)  h, a, b = LSTM<hidden_size = 4,
        direction = "bidirectional">(t, w, r, bias)  p = Transpose<perm = [0,2,1,3]>(h)
        q = Reshape(p, shape)  y = Transpose<perm = [1,0,2]>(q) }""",
        11, w=(2, 16, 3), r=(2, 16, 4), bias=(2, 32), shape=[0, 0, -1],
    )  # fmt: skip


register(
    "paddle", linear=linear, hard_swish=hard_swish, squeeze_excitation=squeeze_excitation,
    flatten=flatten, resize=resize, layer_norm=layer_norm, attention=attention, lstm=lstm,
)  # fmt: skip
