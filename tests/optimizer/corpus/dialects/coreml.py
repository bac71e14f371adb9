"""As converters from Core ML write: opset 7 to 9, images scaled first, padding of its own."""

from __future__ import annotations

import onnx

from tests.optimizer.corpus.dialects.building import model, register


def image_classifier() -> onnx.ModelProto:
    """A scaled image, Conv, Relu, pooling with pads, InnerProduct as a Gemm."""
    return model(
        """(float[1,3,8,8] x) => (float[1,5] y) {
        a = Mul(x, by)  b = Add(a, bias)  c = Conv<pads = [1,1,1,1]>(b, k, kb)  d = Relu(c)
        e = MaxPool<kernel_shape = [2,2], strides = [2,2]>(d)  f = Flatten<axis = 1>(e)
        h = Gemm<transB = 1>(f, w, wb)  y = Softmax(h) }""",
        9, ir=4, by=0.017, bias=(3, 1, 1), k=(4, 3, 3, 3), kb=(4,), w=(5, 64), wb=(5,),
    )  # fmt: skip


def batch_norm_of_instances() -> onnx.ModelProto:
    """batchnorm with instanceNormalization, mvn, and a unary power."""
    return model(
        """(float[1,4,6,6] x) => (float[1,4,6,6] y) {
        a = InstanceNormalization<epsilon = 0.00001>(x, gamma, beta)
        m = ReduceMean<axes = [2,3], keepdims = 1>(a)  d = Sub(a, m)  p = Mul(d, d)
        y = Add(p, one) }""",
        9, ir=4, gamma=(4,), beta=(4,), one=1.0,
    )  # fmt: skip


def padding_and_crop() -> onnx.ModelProto:
    """A padding layer as a Pad of attributes, a Conv, a crop as two Slices."""
    return model(
        """(float[1,3,6,6] x) => (float[1,2,4,4] y) {
        a = Pad<mode = "constant", pads = [0,0,1,1,0,0,1,1], value = 0.0>(x)
        b = Conv(a, k)  c = Slice<axes = [2], starts = [1], ends = [5]>(b)
        y = Slice<axes = [3], starts = [1], ends = [5]>(c) }""",
        9, ir=4, k=(2, 3, 3, 3),
    )  # fmt: skip


def permute_and_reshape() -> onnx.ModelProto:
    """permute, reshape with channels last, and back; an identity in between."""
    return model(
        """(float[1,4,2,2] x) => (float[1,4,2,2] y) {
        a = Transpose<perm = [0,2,3,1]>(x)  b = Reshape(a, flat)  c = Identity(b)
        d = Reshape(c, whole)  e = Transpose<perm = [0,3,1,2]>(d)  y = Relu(e) }""",
        9, ir=4, flat=[1, 16, 1, 1], whole=[1, 2, 2, 4],
    )  # fmt: skip


def uni_directional_lstm() -> onnx.ModelProto:
    """Reshape to [sequence, 1, size], LSTM with states that are inputs, Reshape back."""
    return model(
        """(float[S,1,3,1,1] x, float[1,4] h0, float[1,4] c0) => (float[S,4] y, float[1,4] h) {
        a = Squeeze<axes = [3,4]>(x)  p = Unsqueeze<axes = [0]>(h0)  q = Unsqueeze<axes = [0]>(c0)
        b, s, c = LSTM<hidden_size = 4>(a, w, r, bias, , p, q)  t = Squeeze<axes = [1]>(b)
        y = Squeeze<axes = [1]>(t)  h = Squeeze<axes = [0]>(s) }""",
        9, ir=4, w=(1, 16, 3), r=(1, 16, 4), bias=(1, 32),
    )  # fmt: skip


def activations() -> onnx.ModelProto:
    """linear, scaled tanh, thresholded and clipped units, one after the other."""
    return model(
        """(float[1,4] x) => (float[1,4] y) {
        a = Mul(x, two)  b = Tanh(a)  c = Mul(b, by)  d = Clip<max = 1.0,
        min = -1.0>(c)  e = Clip<max = 0.5, min = 0.0>(d)  y = ThresholdedRelu<alpha = 0.1>(e) }""",
        10, ir=5, by=1.7159, two=2.0,
    )  # fmt: skip


register(
    "coreml", image_classifier=image_classifier, batch_norm_of_instances=batch_norm_of_instances,
    padding_and_crop=padding_and_crop, permute_and_reshape=permute_and_reshape,
    uni_directional_lstm=uni_directional_lstm, activations=activations,
)  # fmt: skip
