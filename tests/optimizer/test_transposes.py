"""Transposes moved through regions: random graphs of layers in two layouts."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import onnxwright as ow
from onnxwright.testing.proving import run_plainly

PERMS = ([0, 2, 3, 1], [0, 3, 1, 2])


class Maker:
    """Draws a graph of values `[n, a, b, c]`, some of them transposed on the way."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.values: list[tuple[str, tuple[int, ...]]] = [("x", (2, 3, 4, 5)), ("z", (2, 3, 4, 5))]

    def add(self, kind: str, inputs: list[str], shape: tuple[int, ...], **attrs: object) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attrs))
        self.values.append((name, shape))
        return name

    def weight(self, array: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def step(self) -> None:
        rng = self.rng
        name, shape = self.values[int(rng.integers(max(0, len(self.values) - 4), len(self.values)))]
        rank = len(shape)
        kind = rng.choice(["T", "T", "Relu", "Sigmoid", "const", "both", "Concat", "Pad", "Slice",
                           "Softmax", "Mean", "Clip", "Split", "Squeeze"])  # fmt: skip
        axis = int(rng.integers(-rank, rank)) if rank else 0
        if kind == "T" and rank == 4:
            perm = PERMS[int(rng.integers(2))]
            self.add("Transpose", [name], tuple(shape[n] for n in perm), perm=perm)
        elif kind in ("Relu", "Sigmoid"):
            self.add(str(kind), [name], shape)
        elif kind == "Clip":
            bounds = [self.weight(np.array(b, np.float32)) for b in (-0.5, 0.5)]
            self.add("Clip", [name, *bounds], shape)
        elif kind == "const":
            dims = shape[int(rng.integers(rank + 1)) :]
            dims = tuple(d if rng.integers(2) else 1 for d in dims)
            weight = self.weight(rng.normal(size=dims).astype(np.float32))
            pair = [name, weight] if rng.integers(2) else [weight, name]
            self.add(str(rng.choice(["Add", "Mul", "Sub"])), pair, shape)
        elif kind == "both":
            others = [n for n, s in self.values if s == shape]
            self.add("Add", [name, str(rng.choice(others))], shape)
        elif kind == "Concat" and rank:
            others = [n for n, s in self.values if s == shape]
            new_shape = tuple(d * 2 if n == axis % rank else d for n, d in enumerate(shape))
            if np.prod(new_shape) < 4000:
                self.add("Concat", [name, str(rng.choice(others))], new_shape, axis=axis)
        elif kind == "Pad" and rank:
            pads = rng.integers(0, 2, size=2 * rank)
            new_shape = tuple(int(d + pads[n] + pads[rank + n]) for n, d in enumerate(shape))
            self.add("Pad", [name, self.weight(pads)], new_shape)
        elif kind == "Slice" and rank and shape[axis] > 1:
            cut = [self.weight(np.array([n])) for n in (1, shape[axis], axis)]
            new_shape = tuple(d - 1 if n == axis % rank else d for n, d in enumerate(shape))
            self.add("Slice", [name, *cut], new_shape)
        elif kind == "Softmax" and rank:
            self.add("Softmax", [name], shape, axis=axis)
        elif kind == "Mean" and rank:
            new_shape = tuple(1 if n == axis % rank else d for n, d in enumerate(shape))
            self.add("ReduceMean", [name, self.weight(np.array([axis]))], new_shape, keepdims=1)
        elif kind == "Split" and rank and shape[axis] % 2 == 0:
            half = tuple(d // 2 if n == axis % rank else d for n, d in enumerate(shape))
            one, other = f"s{len(self.nodes)}", f"t{len(self.nodes)}"
            self.nodes.append(
                helper.make_node("Split", [name], [one, other], axis=axis, num_outputs=2)
            )
            self.values += [(one, half), (other, half)]
        elif kind == "Squeeze" and rank and shape[axis] == 1:
            new_shape = tuple(d for n, d in enumerate(shape) if n != axis % rank)
            self.add("Squeeze", [name, self.weight(np.array([axis]))], new_shape)

    def model(self) -> onnx.ModelProto:
        for _ in range(14):
            self.step()
        rng = self.rng
        last = [v for v in self.values[-3:] if v[0] not in "xz"] or [(self.add(
            "Relu", ["x"], (2, 3, 4, 5)), (2, 3, 4, 5))]  # fmt: skip
        if rng.integers(2) and len(self.values) > 6:
            last.append(self.values[5])
        last = [v for v in dict.fromkeys(last) if v[0] not in "xz"]
        graph = helper.make_graph(
            self.nodes, "g",
            [helper.make_tensor_value_info(n, 1, ["N", 3, 4, 5]) for n in "xz"],
            [helper.make_tensor_value_info(n, 1, [None] * len(s)) for n, s in last],
            self.weights,
        )  # fmt: skip
        return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 18)])


def transposes(model: onnx.ModelProto) -> int:
    return sum(n.op_type == "Transpose" for n in model.graph.node)


def check(seed: int, level: str) -> tuple[int, int]:
    model = Maker(seed).model()
    rng = np.random.default_rng(seed)
    feeds = {n: rng.normal(size=(2, 3, 4, 5)).astype(np.float32) for n in "xz"}
    before = run_plainly(model, feeds)
    assert before is not None
    optimized = ow.optimize(model, level=level)
    onnx.checker.check_model(optimized, full_check=True)
    assert [o.name for o in optimized.graph.output] == [o.name for o in model.graph.output]
    after = run_plainly(optimized, feeds, onnx.printer.to_text(optimized))
    assert after is not None
    for a, b in zip(before, after, strict=True):
        assert a.shape == b.shape
        if level == "exact":
            assert np.array_equal(a, b)
        else:
            assert np.allclose(a, b, rtol=1e-4, atol=1e-5)
    return transposes(model), transposes(optimized)


@pytest.mark.parametrize("level", ["exact", "rounding"])
def test_random_graphs(level: str) -> None:
    counts = [check(seed, level) for seed in range(40)]
    assert all(after <= before for before, after in counts)
    assert sum(after for _, after in counts) < sum(before for before, _ in counts)


@pytest.mark.slow
@pytest.mark.parametrize("level", ["exact", "rounding"])
def test_more_random_graphs(level: str) -> None:
    for seed in range(1000, 2000):
        check(seed, level)


def test_values_that_are_kept_and_a_rule_that_is_skipped() -> None:
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 18]>
        g (float[N, 3, 4, 5] x) => (float[N, 3, 4, 5] y) {
        a = Transpose<perm = [0, 2, 3, 1]>(x)  b = Relu(a)  c = Sigmoid(b)  d = Mul(b, c)
        y = Transpose<perm = [0, 3, 1, 2]>(d) }""")
    assert transposes(ow.optimize(model)) == 0
    assert transposes(ow.optimize(model, keep=["c"])) == 2
    assert transposes(ow.optimize(model, skip=["move_transposes"])) == 2


def test_bodies_and_functions() -> None:
    inside = """{ a = Transpose<perm = [0, 2, 3, 1]>(x)  b = Relu(a)  c = Sigmoid(b)
        d = Mul(b, c)  y = Transpose<perm = [0, 3, 1, 2]>(d) }"""
    model = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 18, "local" : 1]>
        g (float[N, 3, 4, 5] x, bool k) => (float[N, 3, 4, 5] z) {{
        z = If(k) <then_branch = t () => (float[N, 3, 4, 5] y) {inside},
                   else_branch = e () => (float[N, 3, 4, 5] w) {{ w = local.f(x) }}> }}
        <domain: "local", opset_import: ["" : 18]> f (x) => (y) {inside}""")
    optimized = ow.optimize(model)
    onnx.checker.check_model(optimized, full_check=True)
    kinds = [n.op_type for f in optimized.functions for n in f.node]
    kinds += [n.op_type for a in optimized.graph.node[0].attribute for n in a.g.node]
    assert sorted(kinds) == ["Mul", "Mul", "Relu", "Relu", "Sigmoid", "Sigmoid", "f"]
