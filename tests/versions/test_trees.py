"""Tree ensembles between versions 4 and 5 of ai.onnx.ml, in ONNX Runtime."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnx
import onnx.reference
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxwright as ow
from onnxwright.errors import ConversionError
from tests.harness.tables import each
from tests.versions.backend_cases import run

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
FEATURES = 4
X = np.random.default_rng(5).integers(-2, 3, size=(40, FEATURES)).astype(np.float32) / 2
X[3, 1] = X[5, :] = np.nan


def trees(prefix: str, targets: int, several: bool, seed: int, depth: int = 3) -> dict[str, Any]:
    """Random trees of version 3; the last one is a leaf alone."""
    rng = np.random.default_rng(seed)
    names = ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids",
             "falsenodeids", "missing_value_tracks_true")  # fmt: skip
    columns: dict[str, list[Any]] = {f"nodes_{n}": [] for n in names}
    columns |= {f"{prefix}_{n}": [] for n in ("treeids", "nodeids", "ids", "weights")}

    def row(*values: Any) -> None:
        for name, value in zip(names, values, strict=True):
            columns[f"nodes_{name}"].append(value)

    for tree, levels in enumerate((depth, depth, 0)):
        inner = 2**levels - 1
        for n in range(2 * inner + 1):
            feature, split = int(rng.integers(FEATURES)), float(rng.integers(-2, 3)) / 2
            if n < inner:
                mode = MODES[rng.integers(6)]
                row(tree, n, mode, feature, split, 2 * n + 1, 2 * n + 2, int(rng.integers(2)))
                continue
            row(tree, n, "LEAF", 0, 0.0, 0, 0, 0)
            for target in range(targets) if several else [int(rng.integers(targets))]:
                entry = (tree, n, target, float(np.float32(rng.normal())))
                for name, value in zip(("treeids", "nodeids", "ids", "weights"), entry):
                    columns[f"{prefix}_{name}"].append(value)
    return columns


def model(op: str, attributes: dict[str, Any], dtype: int = TensorProto.FLOAT) -> onnx.ModelProto:
    outputs = ["label", "y"] if op.endswith("Classifier") else ["y"]
    label = TensorProto.STRING if "classlabels_strings" in attributes else TensorProto.INT64
    infos = [
        helper.make_tensor_value_info("label", label, ["n"]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", None]),
    ][-len(outputs) :]
    node = helper.make_node(op, ["x"], outputs, domain="ai.onnx.ml", **attributes)
    x = helper.make_tensor_value_info("x", dtype, ["n", FEATURES])
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    graph = helper.make_graph([node], "g", [x], infos)
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def check(before: onnx.ModelProto, x: Any = X) -> onnx.ModelProto:
    """Version 5 and version 3 again compute what the model does."""
    new = ow.convert_version(before, domains={"ai.onnx.ml": 5})
    onnx.checker.check_model(new, full_check=True)
    assert "TreeEnsemble" in [n.op_type for n in new.graph.node]
    converted = [new]
    if before.graph.input[0].type.tensor_type.elem_type != TensorProto.DOUBLE:
        converted.append(ow.convert_version(new, domains={"ai.onnx.ml": 3}))
        assert "TreeEnsemble" not in [n.op_type for n in converted[-1].graph.node]
    for other in converted:
        for want, got in zip(run(before, [x]), run(other, [x]), strict=True):
            assert want.dtype == got.dtype
            if want.dtype.kind == "f":
                np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-6)
            else:
                assert want.tolist() == got.tolist()
    return new


REGRESSORS = [
    (targets, several, aggregate, transform, base)
    for targets, several, aggregate, transform, base in itertools.product(
        (1, 3), (False, True), ("SUM", "AVERAGE", "MIN", "MAX"),
        ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"), (False, True),
    )
    if not (transform == "PROBIT" and aggregate != "SUM")  # it needs a number of 0 to 1
    and not (base and targets == 3 and not several)  # runtimes differ for targets without a score
    and (targets == 3 or transform in ("NONE", "LOGISTIC"))
]  # fmt: skip


@pytest.mark.parametrize(("targets", "several", "aggregate", "transform", "base"), REGRESSORS)
def test_regressor(targets: int, several: bool, aggregate: str, transform: str, base: bool) -> None:
    attributes = trees("target", targets, several, seed=targets)
    attributes |= {"n_targets": targets, "aggregate_function": aggregate}
    attributes |= {"post_transform": transform}
    if base:
        attributes["base_values"] = [0.25, -1.5, 3.0][:targets]
    check(model("TreeEnsembleRegressor", attributes))


@each("dtype", [TensorProto.INT64, TensorProto.INT32, TensorProto.DOUBLE])
def test_other_inputs(dtype: int) -> None:
    attributes = trees("class", 3, True, seed=9) | {"classlabels_int64s": [5, 6, 7]}
    if dtype == TensorProto.DOUBLE:
        for name in ("nodes_values", "class_weights"):
            array = np.array(attributes.pop(name), np.float64)
            attributes[f"{name}_as_tensor"] = numpy_helper.from_array(array, name)
    x = np.nan_to_num(X).astype(helper.tensor_dtype_to_np_dtype(dtype))
    check(model("TreeEnsembleClassifier", attributes, dtype), x)


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"])
@pytest.mark.parametrize("base", [False, True])
@pytest.mark.parametrize("labels", [[7, 3, 5], [b"cat", b"dog", b"cow"]], ids=["ints", "texts"])
def test_classifier(labels: list[Any], base: bool, transform: str) -> None:
    attributes = trees("class", 3, several=True, seed=2) | {"post_transform": transform}
    attributes[f"classlabels_{'int64s' if labels[0] == 7 else 'strings'}"] = labels
    if base:
        attributes["base_values"] = [0.5, -0.5, 0.1]
    check(model("TreeEnsembleClassifier", attributes))


@pytest.mark.parametrize("base", [False, True])
@pytest.mark.parametrize("labels", [[4, 9], [b"no", b"yes"]], ids=["ints", "texts"])
@pytest.mark.parametrize("positive", [False, True], ids=["LOGISTIC", "NONE"])
def test_one_class_of_two(positive: bool, labels: list[Any], base: bool) -> None:
    attributes = trees("class", 1, False, seed=2)
    attributes[f"classlabels_{'int64s' if labels[0] == 4 else 'strings'}"] = labels
    weights = attributes["class_weights"]
    attributes["class_weights"] = [abs(w) / 4 for w in weights] if positive else weights
    attributes["post_transform"] = "NONE" if positive else "LOGISTIC"
    if base:
        attributes["base_values"] = [0.1]
    check(model("TreeEnsembleClassifier", attributes))


def test_what_runtimes_compute_differently_is_refused() -> None:
    attributes = trees("class", 1, False, seed=2) | {"classlabels_int64s": [0, 1]}
    with pytest.raises(ConversionError, match="TreeEnsembleClassifier.*one class alone"):
        ow.convert_version(model("TreeEnsembleClassifier", attributes), domains={"ai.onnx.ml": 5})
    attributes = trees("class", 2, False, seed=2) | {"classlabels_int64s": [0, 1]}
    with pytest.raises(ConversionError, match="TreeEnsembleClassifier.*choose its label"):
        ow.convert_version(model("TreeEnsembleClassifier", attributes), domains={"ai.onnx.ml": 5})


def ensemble(kind: int = TensorProto.FLOAT) -> onnx.ModelProto:
    """Version 5: tests of members, a leaf and a node that two branches share."""
    dtype = helper.tensor_dtype_to_np_dtype(kind)

    def array(values: list[float], dtype: Any = dtype) -> onnx.TensorProto:
        return numpy_helper.from_array(np.array(values, dtype), "")

    node = helper.make_node(
        "TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", n_targets=2, aggregate_function=1,
        post_transform=0, tree_roots=[0, 3], nodes_modes=array([6, 6, 0, 4], np.uint8),
        nodes_featureids=[0, 1, 2, 3], nodes_splits=array([0, 0, 0.5, 1]),
        membership_values=array([-1, 2, np.nan, 1, 3, -2, np.nan]),
        nodes_truenodeids=[1, 0, 1, 2], nodes_trueleafs=[0, 1, 1, 1],
        nodes_falsenodeids=[2, 1, 2, 3], nodes_falseleafs=[0, 1, 1, 1],
        leaf_targetids=[0, 1, 0, 1], leaf_weights=array([1.5, -2, 3.25, 4]),
    )  # fmt: skip
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info("x", kind, ["n", FEATURES])],
        [helper.make_tensor_value_info("y", kind, ["n", 2])],
    )  # fmt: skip
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 5)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def test_members_become_comparisons() -> None:
    new = ow.convert_version(ensemble(), domains={"ai.onnx.ml": 4})
    x = np.nan_to_num(X) * 2
    want = onnx.reference.ReferenceEvaluator(ensemble()).run(None, {"x": x})[0]
    np.testing.assert_array_equal(run(new, [x])[0], want)
    np.testing.assert_array_equal(run(new, [x])[0], run(ensemble(), [x])[0])
    assert [n.op_type for n in new.graph.node] == ["TreeEnsembleRegressor"]


def test_double_is_refused_down() -> None:
    with pytest.raises(ConversionError, match="TreeEnsemble.*its input is DOUBLE"):
        ow.convert_version(ensemble(TensorProto.DOUBLE), domains={"ai.onnx.ml": 4})
