"""As tf2onnx writes: NHWC with a Transpose on each side, shapes computed, Slices in parts."""

from __future__ import annotations

import onnx

from tests.optimizer.corpus.dialects.building import model, register

TO_NCHW, TO_NHWC = "Transpose<perm = [0,3,1,2]>", "Transpose<perm = [0,2,3,1]>"


def conv_block() -> onnx.ModelProto:
    """Conv, bias as an Add after the Transpose back, Relu6 as Min and Max, pooling."""
    return model(
        f"""(float[N,8,8,3] x) => (float[N,4,4,4] y) {{
        a = {TO_NCHW}(x)  b = Conv<pads = [1,1,1,1]>(a, k)  c = {TO_NHWC}(b)  d = Add(c, bias)
        e = Max(d, zero)  f = Min(e, six)  g = {TO_NCHW}(f)
        h = MaxPool<kernel_shape = [2,2], strides = [2,2]>(g)  y = {TO_NHWC}(h) }}""",
        k=(4, 3, 3, 3), bias=(4,), zero=0.0, six=6.0,
    )  # fmt: skip


def batch_norm() -> onnx.ModelProto:
    """FusedBatchNorm between Transposes, LeakyRelu, a residual."""
    return model(
        f"""(float[N,8,8,4] x) => (float[N,8,8,4] y) {{
        a = {TO_NCHW}(x)  b = Conv<pads = [1,1,1,1]>(a, k)  c = {TO_NHWC}(b)  d = {TO_NCHW}(c)
        e = BatchNormalization<epsilon = 0.001>(d, gamma, beta, mean, variance)  f = {TO_NHWC}(e)
        h = LeakyRelu<alpha = 0.2>(f)  y = Add(h, x) }}""",
        k=(4, 4, 3, 3), gamma=(4,), beta=(4,), mean=(4,), variance=abs_row(4),
    )  # fmt: skip


def abs_row(n: int) -> object:
    """Positive numbers, as variances are."""
    import numpy as np

    return np.linspace(0.5, 1.5, n).astype(np.float32)


def flatten() -> onnx.ModelProto:
    """tf.reshape(x, [tf.shape(x)[0], -1]): Shape, Cast, Slice, Squeeze, Unsqueeze, Concat, Cast."""
    return model(
        """(float[N,4,4,3] x) => (float[N,5] y) {
        s = Shape(x)  c = Cast<to = 6>(s)  l = Slice(c, zero, one, zero)  q = Squeeze(l, zero)
        u = Unsqueeze(q, zero)  r = Cast<to = 7>(u)  t = Concat<axis = 0>(r, rest)
        f = Reshape(x, t)  m = MatMul(f, w)  y = Add(m, b) }""",
        zero=[0], one=[1], rest=[-1], w=(48, 5), b=(5,),
    )  # fmt: skip


def strided_slice() -> onnx.ModelProto:
    """x[:, 1:3, 2:, ::2] as a Slice for each axis."""
    return model(
        """(float[N,6,6,4] x) => (float[N,2,4,2] y) {
        a = Slice(x, one, three, one)  b = Slice(a, two, big, two)
        y = Slice(b, zero, big, three, two) }""",
        zero=[0], one=[1], two=[2], three=[3], big=[9223372036854775807],
    )  # fmt: skip


def resize() -> onnx.ModelProto:
    """UpSampling2D: sizes from the shape, the Resize between Transposes."""
    return model(
        f"""(float[N,4,4,3] x) => (float[N,8,8,3] y) {{
        s = Shape(x)  h = Slice(s, one, three, zero)  d = Mul(h, twice)
        a = {TO_NCHW}(x)  t = Shape(a)  n = Slice(t, zero, two, zero)  z = Concat<axis = 0>(n, d)
        r = Resize<coordinate_transformation_mode = "asymmetric", mode = "nearest",
                   nearest_mode = "floor">(a, , , z)
        y = {TO_NHWC}(r) }}""",
        zero=[0], one=[1], two=[2], three=[3], twice=[2, 2],
    )  # fmt: skip


def depthwise() -> onnx.ModelProto:
    """DepthwiseConv2D and the pointwise Conv, padded by a Pad, Relu6 as a Clip."""
    return model(
        f"""(float[N,8,8,4] x) => (float[N,4,4,6] y) {{
        p = Pad(x, pads)  a = {TO_NCHW}(p)
        b = Conv<group = 4, strides = [2,2]>(a, d)  c = {TO_NHWC}(b)  e = Add(c, bias)
        f = Clip(e, low, high)  g = {TO_NCHW}(f)  h = Conv(g, w)  y = {TO_NHWC}(h) }}""",
        pads=[0, 0, 0, 0, 0, 1, 1, 0], d=(4, 1, 3, 3), bias=(4,), low=0.0, high=6.0,
        w=(6, 4, 1, 1),
    )  # fmt: skip


def layer_norm() -> onnx.ModelProto:
    """tf.nn.moments and batch_normalization: the scale first, Reciprocal of Sqrt."""
    return model(
        """(float[N,5,8] x) => (float[N,5,8] y) {
        m = ReduceMean<axes = [2], keepdims = 1>(x)  d = Sub(x, m)  q = Mul(d, d)
        v = ReduceMean<axes = [2], keepdims = 1>(q)  e = Add(v, eps)  s = Sqrt(e)
        r = Reciprocal(s)  g = Mul(r, gamma)  a = Mul(x, g)  b = Mul(m, g)  c = Sub(beta, b)
        y = Add(a, c) }""",
        17, eps=1e-5, gamma=(8,), beta=(8,),
    )  # fmt: skip


def attention() -> onnx.ModelProto:
    """Dense as Reshape, MatMul, Reshape; heads by Transpose; scores scaled; a mask."""
    lines = [
        f"{n}0 = Reshape(x, rows)  {n}1 = MatMul({n}0, w{n})  {n}2 = Add({n}1, b{n})  "
        f"{n}3 = Reshape({n}2, heads)  {n} = Transpose<perm = [0,2,1,3]>({n}3)"
        for n in "qkv"
    ]
    return model(
        f"""(float[2,5,8] x, float[2,5] mask) => (float[2,5,8] y) {{ {" ".join(lines)}
        kt = Transpose<perm = [0,1,3,2]>(k)  s = MatMul(q, kt)  t = Mul(s, scaling)
        u = Unsqueeze(mask, axes)  i = Sub(one, u)  j = Mul(i, low)  a = Add(t, j)
        p = Softmax<axis = -1>(a)  o = MatMul(p, v)  r = Transpose<perm = [0,2,1,3]>(o)
        z = Reshape(r, rows)  f = MatMul(z, wo)  g = Add(f, bo)  y = Reshape(g, whole) }}""",
        rows=[10, 8], heads=[2, 5, 2, 4], whole=[2, 5, 8], axes=[1, 2], scaling=0.5, one=1.0,
        low=-10000.0, wq=(8, 8), wk=(8, 8), wv=(8, 8), wo=(8, 8), bq=(8,), bk=(8,), bv=(8,),
        bo=(8,),
    )  # fmt: skip


def gelu() -> onnx.ModelProto:
    """tf.nn.gelu(approximate=True): Pow as products, Tanh."""
    return model(
        """(float[N,8] x) => (float[N,8] y) {
        p = Pow(x, three)  a = Mul(p, small)  b = Add(x, a)  c = Mul(b, root)  t = Tanh(c)
        d = Add(t, one)  e = Mul(d, half)  y = Mul(x, e) }""",
        20, ir=9, three=3.0, small=0.044715, root=0.7978845608028654, one=1.0, half=0.5,
    )  # fmt: skip


def one_hot_embedding() -> onnx.ModelProto:
    """Embedding by OneHot and MatMul, cast from INT32, and a gather of position zero."""
    return model(
        """(int32[N,5] ids) => (float[N,6] y) {
        c = Cast<to = 7>(ids)  o = OneHot<axis = -1>(c, depth, ends)  f = Cast<to = 1>(o)
        e = MatMul(f, w)  s = Slice(e, zero, one, one)  y = Squeeze(s, one) }""",
        depth=7, ends=[0.0, 1.0], w=(7, 6), zero=[0], one=[1],
    )  # fmt: skip


register(
    "tensorflow", conv_block=conv_block, batch_norm=batch_norm, flatten=flatten,
    strided_slice=strided_slice, resize=resize, depthwise=depthwise, layer_norm=layer_norm,
    attention=attention, gelu=gelu, one_hot_embedding=one_hot_embedding,
)  # fmt: skip
