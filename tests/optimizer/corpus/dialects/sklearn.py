"""As sklearn-onnx writes: operators of ai.onnx.ml, probabilities as maps, numbers cast back."""

from __future__ import annotations

import onnx
from onnx import TensorProto, helper

from tests.optimizer.corpus.dialects.building import model, register

ML = '"ai.onnx.ml" : 3'


def logistic_regression() -> onnx.ModelProto:
    """LinearClassifier, Normalizer, a Cast of labels, ZipMap."""
    proto = model(
        """(float[N,3] X) => (int64[N] label, float[N,2] probabilities) {
        l, s = ai.onnx.ml.LinearClassifier<classlabels_ints = [0,1], multi_class = 1,
        coefficients = [0.5,-1.0,0.25,-0.5,1.0,-0.25], intercepts = [0.1,-0.1],
        post_transform = "LOGISTIC">(X)
        n = ai.onnx.ml.Normalizer<norm = "L1">(s)  c = Cast<to = 7>(l)  label = Identity(c)
        probabilities = Identity(n)
        zipped = ai.onnx.ml.ZipMap<classlabels_int64s = [0,1]>(n) }""",
        15, ir=8, domains=ML,
    )  # fmt: skip
    number = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    kind = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.INT64, number))
    proto.graph.output.append(helper.make_value_info("zipped", kind))
    return proto


def scaler_and_imputer() -> onnx.ModelProto:
    """A pipeline of Imputer, Scaler, a constant feature dropped by ArrayFeatureExtractor."""
    return model(
        """(float[N,4] X) => (float[N,3] variable) {
        a = ai.onnx.ml.Imputer<imputed_value_floats = [0.5,0.25,-1.0,2.0],
        replaced_value_float = 9.0>(X)
        b = ai.onnx.ml.Scaler<offset = [1.0,2.0,3.0,4.0], scale = [0.5,0.25,1.0,2.0]>(a)
        c = ai.onnx.ml.ArrayFeatureExtractor(b, columns)  variable = Identity(c) }""",
        15, ir=8, domains=ML, columns=[0, 1, 3],
    )  # fmt: skip


def k_means() -> onnx.ModelProto:
    """Distances by Gemm and ReduceSumSquare, ArgMin, labels reshaped."""
    return model(
        """(float[N,3] X) => (int64[N] label, float[N,4] scores) {
        r = ReduceSumSquare<axes = [1], keepdims = 1>(X)
        g = Gemm<alpha = -2.0, transB = 1>(X, centers)  a = Add(r, g)  b = Add(squares, a)
        s = Sqrt(b)  i = ArgMin<axis = 1, keepdims = 0>(b)  label = Identity(i)
        scores = Identity(s) }""",
        15, ir=8, centers=(4, 3), squares=[[9.0, 9.5, 10.0, 11.0]],
    )  # fmt: skip


def linear_regression() -> onnx.ModelProto:
    """LinearRegressor on integers, cast before, reshaped after."""
    return model(
        """(int64[N,3] X) => (float[N,1] variable) {
        a = Cast<to = 1>(X)  b = ai.onnx.ml.LinearRegressor<coefficients = [0.5,-1.0,0.25],
        intercepts = [0.1]>(a)  c = Reshape(b, shape)  variable = Identity(c) }""",
        15, ir=8, domains=ML, shape=[-1, 1],
    )  # fmt: skip


def random_forest() -> onnx.ModelProto:
    """TreeEnsembleRegressor of two trees, and its mean."""
    return model(
        """(float[N,2] X) => (float[N,1] variable) {
        a = ai.onnx.ml.TreeEnsembleRegressor<n_targets = 1, aggregate_function = "AVERAGE",
        nodes_treeids = [0,0,0,1,1,1], nodes_nodeids = [0,1,2,0,1,2],
        nodes_featureids = [0,0,0,1,0,0], nodes_values = [0.5,0.0,0.0,-0.25,0.0,0.0],
        nodes_modes = ["BRANCH_LEQ","LEAF","LEAF","BRANCH_LEQ","LEAF","LEAF"],
        nodes_truenodeids = [1,0,0,1,0,0], nodes_falsenodeids = [2,0,0,2,0,0],
        target_treeids = [0,0,1,1], target_nodeids = [1,2,1,2], target_ids = [0,0,0,0],
        target_weights = [1.0,2.0,3.0,4.0]>(X)
        variable = Identity(a) }""",
        15, ir=8, domains=ML,
    )  # fmt: skip


def standard_scaler_and_pca() -> onnx.ModelProto:
    """StandardScaler of doubles as Sub and Div, PCA as a Sub and a MatMul, a Cast back."""
    return model(
        """(double[N,3] X) => (double[N,2] variable) {
        a = Sub(X, mean)  b = Div(a, spread)  c = Sub(b, middle)  d = MatMul(c, axes)
        variable = Cast<to = 11>(d) }""",
        15, ir=8, **{k: v.astype("float64") for k, v in _pca().items()},
    )  # fmt: skip


def _pca() -> dict[str, object]:
    import numpy as np

    rng = np.random.default_rng(3)
    return {
        "mean": rng.normal(size=3), "spread": rng.uniform(0.5, 2, 3), "middle": rng.normal(size=3),
        "axes": rng.normal(size=(3, 2)),
    }  # fmt: skip


def naive_bayes() -> onnx.ModelProto:
    """GaussianNB: sums of logarithms, ReduceLogSumExp, Exp, ArgMax, labels extracted."""
    return model(
        """(float[N,3] X) => (int64[N] label, float[N,2] probabilities) {
        a = Reshape(X, apart)  b = Sub(a, theta)  c = Pow(b, two)  d = Div(c, variance)
        e = ReduceSum<keepdims = 0>(d, last)  f = Mul(e, half)  g = Sub(prior, f)
        h = ReduceLogSumExp<axes = [1], keepdims = 0>(g)  i = Reshape(h, column)
        j = Sub(g, i)  probabilities = Exp(j)  k = ArgMax<axis = 1, keepdims = 0>(g)
        l = ai.onnx.ml.ArrayFeatureExtractor(classes, k)  m = Cast<to = 1>(l)
        n = Reshape(m, flat)  label = Cast<to = 7>(n) }""",
        13, ir=8, domains=ML, apart=[-1, 1, 3], theta=(1, 2, 3), two=2.0, last=[2],
        variance=[[[0.5, 1.0, 2.0], [1.5, 0.75, 1.0]]], half=0.5, prior=[[-0.7, -0.6]],
        column=[-1, 1], flat=[-1], classes=[[3, 7]],
    )  # fmt: skip


def neural_network() -> onnx.ModelProto:
    """MLPClassifier: products and sums with a Cast on each side, Relu, sigmoid of one column."""
    return model(
        """(float[N,3] X) => (int64[N] label, float[N,2] probabilities) {
        a = Cast<to = 1>(X)  b = MatMul(a, w)  c = Add(b, bias)  d = Relu(c)  e = MatMul(d, v)
        f = Add(e, last)  p = Sigmoid(f)  q = Sub(one, p)
        probabilities = Concat<axis = 1>(q, p)
        k = ArgMax<axis = 1>(probabilities)  l = ai.onnx.ml.ArrayFeatureExtractor(classes, k)
        m = Cast<to = 1>(l)  n = Reshape(m, flat)  label = Cast<to = 7>(n) }""",
        13, ir=8, domains=ML, w=(3, 5), bias=[[0.1, 0.2, 0.3, 0.4, 0.5]], v=(5, 1), last=[[0.25]],
        one=[1.0], flat=[-1], classes=[[0, 1]],
    )  # fmt: skip


register(
    "sklearn", logistic_regression=logistic_regression, scaler_and_imputer=scaler_and_imputer,
    k_means=k_means, linear_regression=linear_regression, random_forest=random_forest,
    standard_scaler_and_pca=standard_scaler_and_pca, naive_bayes=naive_bayes,
    neural_network=neural_network,
)  # fmt: skip
