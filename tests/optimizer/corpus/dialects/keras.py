"""As keras2onnx and keras' own export write: NHWC inputs, recurrent layers in Squeezes."""

from __future__ import annotations

import onnx

from tests.optimizer.corpus.dialects.building import model, register


def dense_of_three_axes() -> onnx.ModelProto:
    """Dense on three axes: Shape, Gather, Reshape to rows, MatMul, Reshape back."""
    return model(
        """(float[N,5,8] x) => (float[N,5,4] y) {
        r = Reshape(x, rows)  m = MatMul(r, w)  s = Shape(x)  g = Slice(s, zero, two, zero)
        t = Concat<axis = 0>(g, four)  z = Reshape(m, t)  y = Add(z, b) }""",
        12, rows=[-1, 8], w=(8, 4), b=(4,), zero=[0], two=[2], four=[4],
    )  # fmt: skip


def lstm() -> onnx.ModelProto:
    """LSTM(return_sequences=False): zero states as inputs, the last state squeezed."""
    return model(
        """(float[N,5,3] x) => (float[N,2] y) {
        t = Transpose<perm = [1,0,2]>(x)  s = Shape(x)  b = Slice(s, zero, one, zero)
        u = Concat<axis = 0>(one, b, four)  h0 = Expand(zero_number, u)
        c0 = Expand(zero_number, u)
        a, h, c = LSTM<hidden_size = 4>(t, w, r, bias, , h0, c0)  q = Squeeze(h, zero)
        m = MatMul(q, v)  n = Add(m, last)  y = Sigmoid(n) }""",
        13, w=(1, 16, 3), r=(1, 16, 4), bias=(1, 32), v=(4, 2), last=(2,), zero=[0], one=[1],
        four=[4], zero_number=0.0,
    )  # fmt: skip


def gru() -> onnx.ModelProto:
    """GRU(return_sequences=True, reset_after=True)."""
    return model(
        """(float[N,5,3] x) => (float[N,5,4] y) {
        t = Transpose<perm = [1,0,2]>(x)
        a, h = GRU<hidden_size = 4, linear_before_reset = 1>(t, w, r, bias)
        q = Squeeze<axes = [1]>(a)  y = Transpose<perm = [1,0,2]>(q) }""",
        12, w=(1, 12, 3), r=(1, 12, 4), bias=(1, 24),
    )  # fmt: skip


def mobile_block() -> onnx.ModelProto:
    """Rescaling, Conv, BatchNormalization with a Mul and an Add, ReLU6, a mean, Dense."""
    return model(
        """(float[N,8,8,3] x) => (float[N,5] y) {
        a = Mul(x, by)  b = Add(a, offset)  c = Transpose<perm = [0,3,1,2]>(b)
        d = Conv<auto_pad = "SAME_UPPER", strides = [2,2]>(c, k)  e = Mul(d, gamma)
        f = Add(e, beta)  g = Clip(f, low, high)  h = Transpose<perm = [0,2,3,1]>(g)
        i = ReduceMean<axes = [1,2], keepdims = 0>(h)  j = MatMul(i, w)  l = Add(j, bias)
        y = Softmax<axis = -1>(l) }""",
        13, by=0.0078125, offset=-1.0, k=(6, 3, 3, 3), gamma=(6, 1, 1), beta=(6, 1, 1), low=0.0,
        high=6.0, w=(6, 5), bias=(5,),
    )  # fmt: skip


def transposed_convolution() -> onnx.ModelProto:
    """Conv2DTranspose with its bias as an Add of NHWC, and a crop by Slices."""
    return model(
        """(float[N,4,4,3] x) => (float[N,8,8,2] y) {
        a = Transpose<perm = [0,3,1,2]>(x)  b = ConvTranspose<strides = [2,2]>(a, k)
        c = Slice(b, zero, eight, two)  d = Slice(c, zero, eight, three)
        e = Transpose<perm = [0,2,3,1]>(d)  y = Add(e, bias) }""",
        13, k=(3, 2, 3, 3), zero=[0], eight=[8], two=[2], three=[3], bias=(2,),
    )  # fmt: skip


def embedding_pool() -> onnx.ModelProto:
    """Embedding of floats cast to integers, GlobalAveragePooling1D, Dense with a swish."""
    return model(
        """(float[N,6] ids) => (float[N,3] y) {
        c = Cast<to = 6>(ids)  e = Gather(table, c)  p = ReduceMean<axes = [1], keepdims = 0>(e)
        m = MatMul(p, w)  a = Add(m, b)  s = Sigmoid(a)  y = Mul(a, s) }""",
        13, table=(9, 4), w=(4, 3), b=(3,),
    )  # fmt: skip


register(
    "keras", dense_of_three_axes=dense_of_three_axes, lstm=lstm, gru=gru,
    mobile_block=mobile_block, transposed_convolution=transposed_convolution,
    embedding_pool=embedding_pool,
)  # fmt: skip
