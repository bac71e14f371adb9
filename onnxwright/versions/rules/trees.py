"""Trees of ai.onnx.ml: TreeEnsembleRegressor and -Classifier to TreeEnsemble (5), and back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.ops import Ops
from onnxwright.types.dtypes import DType
from onnxwright.versions.call import Array, Call, Refused, down, up

_ML = "ai.onnx.ml"
_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
_LEAF, _MEMBER = "LEAF", 6
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_KEPT = "keep ai.onnx.ml at version 4 or lower: other domains keep their version by default"

Leaf = list[tuple[int, float]]  # target and weight, as often as a leaf has them


@dataclass
class _Node:
    """A node of a tree of version 3: a comparison, or a leaf."""

    mode: str
    feature: int
    split: float
    yes: int
    no: int
    missing: int
    weights: Leaf = field(default_factory=list)


class _Writer:
    """The trees of a TreeEnsemble, as lists of its attributes."""

    def __init__(self, kind: DType) -> None:
        self.kind = kind
        self.divisor = 1  # of every weight
        self.added: list[float] = []  # to the weights of each target
        self.roots: list[int] = []
        self.nodes: list[list[float]] = []  # feature, mode, split, missing, and the two branches
        self.targets: list[int] = []
        self.weights: list[float] = []

    def tree(self, nodes: dict[int, _Node], root: int, part: int) -> None:
        """Add a tree in which each leaf has the weight of one number in its list."""
        places: dict[int, int] = {}
        leaves: dict[int, int] = {}
        order = [root]
        while order:
            key = order.pop()
            if key in places or key in leaves:
                continue
            node = nodes.get(key)
            if node is None:
                raise Refused(f"a branch of its trees leads to node {key}, which is missing")
            if node.mode == _LEAF:
                target, weight = node.weights[part] if part < len(node.weights) else (0, 0.0)
                leaves[key] = len(self.targets)
                self.targets.append(target)
                self.weights.append(
                    weight / self.divisor + (self.added[target] if self.added else 0)
                )
            else:
                places[key] = len(self.nodes)
                mode = _MODES.index(node.mode)
                self.nodes.append([node.feature, mode, node.split, node.missing, 0, 0, 0, 0])
                order += [node.no, node.yes]
        if root in leaves:  # a tree of one leaf is a comparison with this leaf on both sides
            # NOTE: onnx before 1.23 and ONNX Runtime before 1.30 take the number of the node for
            # that of the leaf where both sides are one leaf; so there are two equal ones.
            places[root] = len(self.nodes)
            first, second = leaves[root], len(self.targets)
            self.targets.append(self.targets[first])
            self.weights.append(self.weights[first])
            self.nodes.append([0, 0, 0.0, 0, first, 1, second, 1])
        for key, place in places.items():
            if key not in leaves:
                for n, branch in ((4, nodes[key].yes), (6, nodes[key].no)):
                    inner = branch in leaves
                    child = leaves[branch] if inner else places[branch]
                    self.nodes[place][n : n + 2] = [child, int(inner)]
        self.roots.append(places[root])

    def attributes(self) -> dict[str, Any]:
        """The attributes of the trees."""

        def column(n: int) -> list[int]:
            return [int(node[n]) for node in self.nodes]

        return {
            "tree_roots": self.roots,
            "nodes_featureids": column(0),
            "nodes_modes": np.array(column(1), np.uint8),
            "nodes_splits": np.array([node[2] for node in self.nodes], self.kind.numpy),
            "nodes_missing_value_tracks_true": column(3),
            "nodes_truenodeids": column(4),
            "nodes_trueleafs": column(5),
            "nodes_falsenodeids": column(6),
            "nodes_falseleafs": column(7),
            "leaf_targetids": self.targets,
            "leaf_weights": np.array(self.weights, self.kind.numpy),
        }


@up(5, "TreeEnsembleRegressor", domain=_ML)
def regressor_becomes_tree_ensemble(op: Ops, call: Call) -> Any:
    """The same trees, each leaf with one target.  Source: ai.onnx.ml TreeEnsemble 5."""
    targets = int(call.attr("n_targets", 1))
    aggregate = str(call.attr("aggregate_function", "SUM"))
    transform = str(call.attr("post_transform", "NONE"))
    return _as_float(op, _scores(op, call, "target", targets, aggregate, transform))


@up(5, "TreeEnsembleClassifier", domain=_ML)
def classifier_becomes_tree_ensemble(op: Ops, call: Call) -> Any:
    """The scores of TreeEnsemble, and the label of the largest.  Source: ai.onnx.ml 5."""
    labels = call.attr("classlabels_strings") or call.attr("classlabels_int64s")
    if not labels:
        raise Refused("it has no class labels", "repair the model")
    std = Ops(op.backend)
    kind: Any = object if isinstance(labels[0], (str, bytes)) else np.int64
    table = std.constant(np.array(list(labels), kind))
    if len(labels) < 3 and len(set(call.attr("class_ids", ()))) < 2:
        place, scores = _one_class(op, call, len(labels))
    elif len(labels) == 2 and call.used[0]:
        raise Refused("runtimes choose its label, of two classes with scores, differently", _KEPT)
    else:
        transform = str(call.attr("post_transform", "NONE"))
        raw = _scores(op, call, "class", len(labels), "SUM")
        place = std.ArgMax(raw, axis=1, keepdims=0)
        if transform in ("NONE", "SOFTMAX", "LOGISTIC"):
            scores = _transformed(std, raw, transform)
        else:
            scores = _scores(op, call, "class", len(labels), "SUM", transform)
    return [std.Gather(table, place), _as_float(op, scores)]


def _one_class(op: Ops, call: Call, labels: int) -> tuple[GraphValue, GraphValue]:
    """The place of the label and both scores where only one class of two is scored.

    Runtimes agree where the sum is a probability, or becomes one by LOGISTIC.
    """
    transform = str(call.attr("post_transform", "NONE"))
    positive = min(_numbers(call, "class_weights"), default=0.0) >= 0
    if labels != 2 or transform != ("NONE" if positive else "LOGISTIC"):
        raise Refused("runtimes compute its scores, of one class alone, differently", _KEPT)
    std = Ops(op.backend)
    raw = _scores(op, call, "class", 1, "SUM")
    limit = std.constant(np.array(0.5 if positive else 0, _dtype(raw).numpy))
    place = std.Squeeze(
        std.Cast(std.Greater(raw, limit), to=int(DType.INT64)),
        std.constant(np.array([1], np.int64)),
    )
    if positive:
        other = std.Sub(std.constant(np.array(1, _dtype(raw).numpy)), raw)
        return place, std.Concat(other, raw, axis=1)
    return place, std.Concat(std.Sigmoid(std.Neg(raw)), std.Sigmoid(raw), axis=1)


def _dtype(value: GraphValue) -> DType:
    assert value.dtype is not None
    return value.dtype


def _as_float(op: Ops, scores: GraphValue) -> Any:
    """The scores as FLOAT, which is what the older operators compute."""
    double = scores.dtype is DType.DOUBLE
    return Ops(op.backend).Cast(scores, to=int(DType.FLOAT)) if double else scores


def _scores(
    op: Ops, call: Call, prefix: str, targets: int, aggregate: str, transform: str = "NONE"
) -> GraphValue:
    """A TreeEnsemble that includes the base values.

    They are trees of one leaf in a sum, and in every leaf where the least or largest is taken.
    """
    std = Ops(op.backend)
    x, kind = call.input(0), call.dtype(0)
    if kind not in (DType.FLOAT, DType.DOUBLE):
        kind = DType.DOUBLE if call.has_attr("nodes_values_as_tensor") else DType.FLOAT
        x = std.Cast(x, to=int(kind))
    base = _numbers(call, "base_values")
    if base and len(base) != targets:
        raise Refused(f"it has {len(base)} base values for {targets} targets", _KEPT)
    trees = _trees(call, prefix)
    writer = _Writer(kind)
    if aggregate == "AVERAGE" and (base or _copies(trees)):
        writer.divisor, aggregate = len(trees), "SUM"
    if aggregate in ("MIN", "MAX"):
        writer.added = base
    for nodes, root in trees:
        leaves = [len(n.weights) for n in nodes.values() if n.mode == _LEAF]
        if aggregate in ("MIN", "MAX") and min(leaves) != max(leaves):
            raise Refused(f"{aggregate} of leaves that have different numbers of targets", _KEPT)
        for part in range(max(1, *leaves)):
            writer.tree(nodes, root, part)
    for target, value in enumerate(base if aggregate == "SUM" else []):
        leaf = _Node(_LEAF, 0, 0.0, 0, 0, 0, [(target, value * writer.divisor)])
        writer.tree({0: leaf}, 0, 0)
    # The numbers of SOFTMAX and LOGISTIC are exchanged in ONNX Runtime, which for one target
    # applies neither.
    inside = targets == 1 or transform not in ("SOFTMAX", "LOGISTIC")
    attributes = writer.attributes() | {
        "n_targets": targets,
        "aggregate_function": _AGGREGATES.index(aggregate),
        "post_transform": _TRANSFORMS.index(transform if inside else "NONE"),
    }
    scores: GraphValue = op.backend.emit(op.opset["TreeEnsemble"], [x], attributes, 1)[0]
    return scores if inside else _transformed(std, scores, transform)


def _transformed(std: Ops, scores: GraphValue, transform: str) -> GraphValue:
    if transform == "NONE":
        return scores
    transformed: GraphValue = (
        std.Softmax(scores, axis=1) if transform == "SOFTMAX" else std.Sigmoid(scores)
    )
    return transformed


def _numbers(call: Call, name: str) -> list[float]:
    """An attribute that is a list of floats, or a tensor under another name."""
    tensor = call.attr(f"{name}_as_tensor")
    if tensor is not None:
        return [float(v) for v in _array(tensor).ravel()]
    return [float(v) for v in call.attr(name, ())]


def _array(tensor: Any) -> Array:
    return np.asarray(tensor.numpy() if hasattr(tensor, "numpy") else tensor)


def _copies(trees: list[tuple[dict[int, _Node], int]]) -> bool:
    return any(len(n.weights) > 1 for nodes, _ in trees for n in nodes.values())


def _trees(call: Call, prefix: str) -> list[tuple[dict[int, _Node], int]]:
    """The trees, and the first node of each, which is its root."""
    ids = call.attr("nodes_treeids", ())
    splits = _numbers(call, "nodes_values")
    missing = list(call.attr("nodes_missing_value_tracks_true", ())) or [0] * len(ids)
    columns = [
        call.attr(f"nodes_{name}", ())
        for name in ("nodeids", "modes", "featureids", "truenodeids", "falsenodeids")
    ]
    if not ids or any(len(c) != len(ids) for c in (*columns, splits, missing)):
        raise Refused("the lists of its nodes have different lengths", "repair the model")
    trees: dict[int, dict[int, _Node]] = defaultdict(dict)
    for tree, key, mode, feature, yes, no, split, track in zip(
        ids, *columns, splits, missing, strict=True
    ):
        word = mode.decode() if isinstance(mode, bytes) else str(mode)
        if word != _LEAF and word not in _MODES:
            raise Refused(f"version 5 has no comparison {word}", "repair the model")
        trees[tree][key] = _Node(word, feature, split, yes, no, track)
    weights = _numbers(call, f"{prefix}_weights")
    places = [call.attr(f"{prefix}_{name}", ()) for name in ("treeids", "nodeids", "ids")]
    for tree, key, target, weight in zip(*places, weights, strict=True):
        if key not in trees[tree]:
            raise Refused(f"a weight is for node {key} of tree {tree}, which is missing")
        trees[tree][key].weights.append((target, weight))
    return [(nodes, next(iter(nodes))) for nodes in trees.values()]


# -- down ------------------------------------------------------------------------------------------


@down(5, "TreeEnsemble", domain=_ML)
def tree_ensemble_becomes_regressor(op: Ops, call: Call) -> Any:
    """The same trees as TreeEnsembleRegressor, which computes FLOAT.  Source: ai.onnx.ml 3."""
    kind = call.dtype(0)
    if kind is not DType.FLOAT:
        raise Refused(f"its input is {kind.name}, and the older operator's result is FLOAT", _KEPT)
    reader = _Reader(call)
    for tree, root in enumerate(call.attr("tree_roots", ())):
        reader.tree(tree, int(root))
    attributes = reader.columns | {
        "n_targets": int(call.attr("n_targets", 1)),
        "aggregate_function": _AGGREGATES[int(call.attr("aggregate_function", 1))],
        "post_transform": _TRANSFORMS[int(call.attr("post_transform", 0))],
    }
    return call.same(op, None, attributes, name="TreeEnsembleRegressor")


class _Reader:
    """The attributes of TreeEnsembleRegressor from those of a TreeEnsemble."""

    def __init__(self, call: Call) -> None:
        self.modes = [int(v) for v in _array(call.attr("nodes_modes")).ravel()]
        self.splits = [float(v) for v in _array(call.attr("nodes_splits")).ravel()]
        self.features = call.attr("nodes_featureids", ())
        self.missing = call.attr("nodes_missing_value_tracks_true") or [0] * len(self.modes)
        self.yes = (call.attr("nodes_truenodeids", ()), call.attr("nodes_trueleafs", ()))
        self.no = (call.attr("nodes_falsenodeids", ()), call.attr("nodes_falseleafs", ()))
        self.targets = call.attr("leaf_targetids", ())
        self.weights = [float(v) for v in _array(call.attr("leaf_weights")).ravel()]
        self.members = self._members(call)
        held = len(self.modes) + len(self.targets) + sum(map(len, self.members.values()))
        self.limit = 16 * held + 16
        nodes = ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids",
                 "falsenodeids", "missing_value_tracks_true")  # fmt: skip
        self.columns: dict[str, list[Any]] = {f"nodes_{name}": [] for name in nodes}
        self.columns |= {f"target_{n}": [] for n in ("treeids", "nodeids", "ids", "weights")}

    def _members(self, call: Call) -> dict[int, list[float]]:
        """The members that each node tests; the sets are separated by NaN."""
        membership = call.attr("membership_values")
        sets: list[list[float]] = [[]]
        for value in [] if membership is None else _array(membership).ravel():
            if np.isnan(value):
                sets.append([])
            else:
                sets[-1].append(float(value))
        places = [n for n, mode in enumerate(self.modes) if mode == _MEMBER]
        if len(places) > len(sets):
            raise Refused("it has fewer sets of members than nodes that test them")
        return dict(zip(places, sets))

    def tree(self, tree: int, root: int) -> None:
        """Add a tree; a test of members is a chain of comparisons with each of them.

        A leaf or node that two branches lead to is written twice: ONNX Runtime needs it so.
        """
        waiting: list[tuple[int, bool, int]] = []
        count = 0

        def name(leaf: bool, n: int) -> int:
            nonlocal count
            key = count
            count += max(1, len(self.members[n])) if not leaf and n in self.members else 1
            waiting.append((key, leaf, n))
            if count > self.limit:
                raise Refused("the branches of a tree lead to the same nodes again", _KEPT)
            return key

        name(False, root)
        while waiting:
            key, leaf, n = waiting.pop()
            if leaf:
                self._row(tree, key, _LEAF, 0, 0.0, 0, 0, 0)
                row = zip(("treeids", "nodeids", "ids", "weights"),
                          (tree, key, self.targets[n], self.weights[n]))  # fmt: skip
                for column, value in row:
                    self.columns[f"target_{column}"].append(value)
                continue
            yes, no = (name(bool(leaves[n]), int(ids[n])) for ids, leaves in (self.yes, self.no))
            feature, track = self.features[n], self.missing[n]
            if n not in self.members:
                mode = _MODES[self.modes[n]]
                self._row(tree, key, mode, feature, self.splits[n], yes, no, track)
                continue
            tests: Sequence[float] = self.members[n] or [float("nan")]
            for place, member in enumerate(tests):
                last = place == len(tests) - 1
                to = no if last else key + place + 1
                self._row(tree, key + place, "BRANCH_EQ", feature, member, yes, to, track)

    def _row(self, *row: Any) -> None:
        for column, value in zip(list(self.columns)[:8], row):
            self.columns[column].append(value)
