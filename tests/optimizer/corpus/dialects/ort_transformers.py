"""As onnxruntime.transformers writes: operators of com.microsoft, LayerNormalization before 17."""

from __future__ import annotations

import onnx

from tests.optimizer.corpus.dialects.building import model, register

MS = '"com.microsoft" : 1'


def layer_norm_of_opset_11() -> onnx.ModelProto:
    """LayerNormalization, which ONNX Runtime has in every opset."""
    return model(
        """(float[N,5,8] x) => (float[N,5,8] y) {
        a = Add(x, x)  b = LayerNormalization<axis = -1, epsilon = 0.00001>(a, gamma, beta)
        c = Identity(b)  y = Relu(c) }""",
        11, gamma=(8,), beta=(8,),
    )  # fmt: skip


def bert_layer() -> onnx.ModelProto:
    """Attention, SkipLayerNormalization with a bias, FastGelu, SkipLayerNormalization."""
    return model(
        """(float[2,5,8] x, int32[2] mask) => (float[2,5,8] y) {
        a = com.microsoft.Attention<num_heads = 2>(x, w, bias, mask)  b = MatMul(a, o)
        c = com.microsoft.SkipLayerNormalization<epsilon = 1e-12>(b, x, gamma, beta, b1)
        d = MatMul(c, v)  e = com.microsoft.BiasGelu(d, b2)  f = MatMul(e, u)
        y = com.microsoft.SkipLayerNormalization<epsilon = 1e-12>(f, c, gamma, beta, b3) }""",
        14, domains=MS, w=(8, 24), bias=(24,), o=(8, 8), gamma=(8,), beta=(8,), b1=(8,),
        v=(8, 16), b2=(16,), u=(16, 8), b3=(8,),
    )  # fmt: skip


def embedding() -> onnx.ModelProto:
    """EmbedLayerNormalization with segments and a mask."""
    return model(
        """(int32[2,5] ids, int32[2,5] segments, int32[2,5] mask) =>
           (float[2,5,8] y, int32[2] index) {
        y, index = com.microsoft.EmbedLayerNormalization<epsilon = 1e-12>(ids, segments, words,
        places, kinds, gamma, beta, mask) }""",
        14, domains=MS, words=(11, 8), places=(6, 8), kinds=(2, 8), gamma=(8,), beta=(8,),
    )  # fmt: skip


def fast_gelu() -> onnx.ModelProto:
    """FastGelu with a bias between MatMuls, an Identity left behind."""
    return model(
        """(float[N,8] x) => (float[N,8] y) {
        a = MatMul(x, w)  b = com.microsoft.FastGelu(a, bias)  c = Identity(b)
        d = MatMul(c, v)  y = Add(d, last) }""",
        14, domains=MS, w=(8, 16), bias=(16,), v=(16, 8), last=(8,),
    )  # fmt: skip


def fused_matmul() -> onnx.ModelProto:
    """FusedMatMul with a transposed operand, QuickGelu."""
    return model(
        """(float[N,4,8] x) => (float[N,4,4] y) {
        a = com.microsoft.FusedMatMul<transB = 1, alpha = 0.5>(x, x)
        b = com.microsoft.QuickGelu<alpha = 1.702>(a)  y = Softmax<axis = -1>(b) }""",
        14, domains=MS,
    )  # fmt: skip


def simplified_layer_norm() -> onnx.ModelProto:
    """SimplifiedLayerNormalization of the standard domain, SkipSimplifiedLayerNormalization."""
    return model(
        """(float[2,5,8] x) => (float[2,5,8] y) {
        a = SimplifiedLayerNormalization<axis = -1, epsilon = 0.00001, stash_type = 1>(x, gamma)
        b = MatMul(a, w)
        y, , , s = com.microsoft.SkipSimplifiedLayerNormalization<epsilon = 0.00001>(b, x, gamma)
        }""",
        14, domains=MS, gamma=(8,), w=(8, 8),
    )  # fmt: skip


def multi_head_attention() -> onnx.ModelProto:
    """MultiHeadAttention of three products, each with a bias in one vector."""
    return model(
        """(float[2,5,8] x) => (float[2,5,8] y) {
        q = MatMul(x, wq)  k = MatMul(x, wk)  v = MatMul(x, wv)
        a = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k, v, bias)
        o = MatMul(a, w)  y = Add(o, last) }""",
        14, domains=MS, wq=(8, 8), wk=(8, 8), wv=(8, 8), bias=(24,), w=(8, 8), last=(8,),
    )  # fmt: skip


register(
    "ort_transformers", layer_norm_of_opset_11=layer_norm_of_opset_11, bert_layer=bert_layer,
    embedding=embedding, fast_gelu=fast_gelu, fused_matmul=fused_matmul,
    simplified_layer_norm=simplified_layer_norm, multi_head_attention=multi_head_attention,
)  # fmt: skip
