"""Inputs drawn for a model are those that it can take: in range, of the sizes that weights ask."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from onnxwright.errors import ModelToolError
from onnxwright.verification.valid_inputs import drawn
from onnxwright.verification.verifying import first_difference, verify
from tests.harness.tables import each

HEAD = '<ir_version: 10, opset_import: ["" : 20, "com.microsoft" : 1]> '


def model(text: str, **arrays: object) -> onnx.ModelProto:
    """A model with weights."""
    proto = onnx.parser.parse_model(HEAD + text)
    for name, array in arrays.items():
        proto.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return proto


TABLE = np.arange(14, dtype=np.float32).reshape(7, 2)
# A model, the input that is looked at, and the bounds of its elements.
CASES = {
    "gather": ("g (int64[N] i) => (float[N,2] y) { y = Gather(w, i) }", 0, 6),
    "cast and reshape first": (
        ("g (float[N,2] i) => (float[k,2] y) { a = Cast<to = 7>(i)  b = Reshape(a, flat) "
        "y = Gather(w, b) }"), 0, 6,
    ),
    "an offset": (
        "g (int64[N] i) => (float[N,2] y) { j = Add(i, two)  y = Gather(w, j) }", -2, 4,
    ),
    "in a function": (
        ("g (int64[N] i) => (float[N,2] y) { y = local.look(w, i) } "
        '<domain: "local", opset_import: ["" : 20]> look (t, n) => (r) { r = Gather(t, n) }'), 0, 6,
    ),
    "in a branch": (
        ("g (int64[N] i, bool c) => (float[N,2] y) { y = If(c) <"
        "then_branch = a () => (float[N,2] p) { p = Gather(w, i) }, "
        "else_branch = b () => (float[N,2] q) { z = Gather(w, i)  q = Neg(z) }> }"), 0, 6,
    ),
    "gather elements": ("g (int64[N,2] i) => (float[N,2] y) { y = GatherElements(w, i) }", 0, 6),
    "one hot": ("g (int64[N] i) => (float[N,d] y) { y = OneHot(i, five, ends) }", 0, 4),
    "logarithm": ("g (float[N] i) => (float[N] y) { y = Log(i) }", 0.05, 3),
    "arc sine": ("g (float[N] i) => (float[N] y) { y = Asin(i) }", -1, 1),
    "labels": (
        "g (float[N,5] s, int64[N] i) => (float y) { y = SoftmaxCrossEntropyLoss(s, i) }", 0, 4,
    ),
    "any byte": ("g (uint8[N] i) => (float[N] y) { y = Cast<to = 1>(i) }", 0, 255),
}  # fmt: skip
HELD = {
    "w": TABLE, "flat": np.array([-1]), "two": np.array(2), "five": np.array(5),
    "ends": np.array([0, 1], np.float32),
}  # fmt: skip


@each("name", CASES)
def test_elements_are_in_range_and_reach_it(name: str) -> None:
    text, low, high = CASES[name]
    text, _, functions = text.partition(" <domain")
    proto = model(text + (" <domain" + functions if functions else ""), **HELD)
    if functions:
        proto.opset_import.add(domain="local", version=1)
    indices = np.concatenate([
        drawn(proto, 40, np.random.default_rng(n))["i"].reshape(-1).astype(np.float64)
        for n in range(20)
    ])  # fmt: skip
    assert low <= indices.min() <= low + 0.1 * (high - low)
    assert high - 0.1 * (high - low) <= indices.max() <= high
    assert first_difference(proto, proto) is None


def test_sizes_that_weights_ask_for_and_names_that_agree() -> None:
    proto = model(
        "g (float[N,C,H,H] x, float[N,K] z) => (float[N,q,H,H] y, float[N,3] p) "
        "{ y = Conv<pads = [1,1,1,1]>(x, k)  p = Gemm<transB = 1>(z, m) }",
        k=np.ones((2, 3, 3, 3), np.float32), m=np.ones((3, 5), np.float32),
    )  # fmt: skip
    feeds = drawn(proto, 4, np.random.default_rng(0))
    assert {name: value.shape for name, value in feeds.items()} == {"x": (4, 3, 4, 4), "z": (4, 5)}
    apart = drawn(proto, 4, np.random.default_rng(0), apart=True)
    assert apart["x"].shape[2] == apart["x"].shape[3] != apart["x"].shape[0] == apart["z"].shape[0]


def test_larger_sizes_where_small_ones_do_not_fit() -> None:
    proto = model("g (float[N,3,H,W] x) => (float[N,3,1,1] y) "
                 "{ a = MaxPool<kernel_shape = [9,9]>(x)  y = GlobalMaxPool(a) }")  # fmt: skip
    assert verify(proto, proto).runs == ("size 16",)


def test_largest_difference_of_each_output() -> None:
    text = "g (float[N] x) => (float[N] y, float[N] z) { y = Add(x, %s)  z = Neg(x) }"
    one = model(text % "a", a=np.float32(1))
    other = model(text % "a", a=np.float32(1.5))
    verification = verify(one, other)
    gaps = {o.name: o.largest for o in verification.outputs}
    assert gaps["z"] == 0
    assert gaps["y"] == pytest.approx(0.5, rel=1e-3)
    assert (verification.difference or "").startswith("output `y` at size 2: ")
    assert verification.table().splitlines()[1].split()[:2] == ["y", "0.5"]


def test_masks_hide_no_row_whole() -> None:
    proto = model("g (int64[B,T] m, bool[B,T] k) => (bool[B,T] y) "
                 "{ a = Cast<to = 9>(m)  y = And(a, k) }")  # fmt: skip
    masks = drawn(proto, 6, np.random.default_rng(0))
    assert set(masks) == {"m", "k"}
    for name, mask in masks.items():
        assert mask.any(axis=-1).all(), name
        assert not mask.all(), name


def test_sequences_and_optionals_are_drawn_and_compared_item_by_item() -> None:
    text = (
        "g (seq(float[N]) s, optional(float[2]) o) => (seq(float[N]) y, bool h) "
        "{ h = OptionalHasElement(o)  a = SequenceAt(s, %s)  y = SequenceInsert(s, a) }"
    )
    one, other = (model(text % "i", i=np.int64(n)) for n in (0, 1))
    feeds = drawn(one, 3, np.random.default_rng(0))
    assert [array.shape for array in feeds["s"]] == [(3,)] * 3
    assert feeds["o"].shape == (2,)
    assert verify(one, one).difference is None
    assert {o.name: o.largest for o in verify(one, one).outputs} == {"y": 0, "h": 0}
    assert (first_difference(one, other) or "").startswith("output `y` at size 2: item 2: ")


def test_maps_are_drawn_and_compared_key_by_key() -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 15, "ai.onnx.ml" : 1]> g (map(int64, float) m) => '
        "(seq(map(int64, float)) y) { a = ai.onnx.ml.DictVectorizer<int64_vocabulary = [0, 1]>(m)  "
        "b = Mul(a, k)  y = ai.onnx.ml.ZipMap<classlabels_int64s = [7, 8]>(b) }"
    )
    models = [onnx.parser.parse_model(text) for _ in range(3)]
    for one, factor in zip(models, (1.0, 1.0 + 1e-7, 2.0)):
        one.graph.initializer.append(numpy_helper.from_array(np.float32(factor), "k"))
    assert sorted(drawn(models[0], 2, np.random.default_rng(0))["m"]) == [0, 1]
    assert first_difference(models[0], models[1]) is None  # another rounding
    assert (first_difference(models[0], models[2]) or "").startswith(
        "output `y` at size 2: item 0: item 7: "
    )


def test_models_that_cannot_be_compared_are_refused_in_our_words() -> None:
    head = '<ir_version: 8, opset_import: ["" : 17, "own": 1]> g (float[3] x) => (float[3] y)'
    model = onnx.parser.parse_model(head + "{ y = own.Unknown(x) }")
    with pytest.raises(ModelToolError, match="OW882.*first model does not run"):
        first_difference(model, model)
    model.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(ModelToolError, match="OW882.*nothing can be drawn for the input `x`"):
        first_difference(model, model)
