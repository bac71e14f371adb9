"""`ow.optimize` as a whole: kinds of models, options, weights, what is kept, time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import onnxwright as ow
from onnxwright import FLOAT, OnnxwrightError, opset20, script
from onnxwright.testing import first_difference

TEXT = """<ir_version: 10, opset_import: ["" : 20]>
g (float[N, 2] x) => (float[N, 2] y)
<float[2, 2] w = {1.0, 2.0, 3.0, 4.0}, float[2] b = {5.0, 6.0}>
{ t = Transpose<perm = [1, 0]>(w)  a = MatMul(x, t)
  c = Add(a, b)  d = Identity(c)  y = Relu(d) }"""


def operators(model: onnx.ModelProto) -> list[str]:
    return [n.op_type for n in model.graph.node]


def test_kinds_of_models(tmp_path: Path) -> None:
    proto = onnx.parser.parse_model(TEXT)
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    assert operators(ow.optimize(proto)) == ["Gemm", "Relu"]
    for source in (ir.from_proto(proto), path, str(path)):
        optimized = ow.optimize(source)
        assert isinstance(optimized, ir.Model)
        assert [n.op_type for n in optimized.graph] == ["Gemm", "Relu"]
    with pytest.raises(OnnxwrightError, match="OW752"):
        ow.optimize(3)


def test_what_weights_make_follows_them() -> None:
    optimized = ow.optimize(onnx.parser.parse_model(TEXT))
    held = {i.name: onnx.numpy_helper.to_array(i) for i in optimized.graph.initializer}
    assert held["w.folded"].tolist() == [[1, 3], [2, 4]]
    assert first_difference(onnx.parser.parse_model(TEXT), optimized) is None


def test_weights_in_files_are_not_read(tmp_path: Path) -> None:
    proto = onnx.parser.parse_model(TEXT)
    big = onnx.numpy_helper.from_array(np.ones((64, 64), np.float32), "big")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "big"], ["y"])], "g",
        [onnx.helper.make_tensor_value_info("x", 1, ["N", 64])],
        [onnx.helper.make_tensor_value_info("y", 1, ["N", 64])], [big],
    )  # fmt: skip
    proto = onnx.helper.make_model(graph, ir_version=10, opset_imports=proto.opset_import)
    path = tmp_path / "model.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    optimized = ow.optimize(path)
    assert isinstance(optimized.graph.initializers["big"].const_value, ir.ExternalTensor)


def test_weights_whose_file_is_gone_are_named(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(TEXT)
    array = np.ones((2, 2), np.float32)
    del model.graph.initializer[:]  # of one type and shape, two are read
    for name in ("w", "u", "b"):
        tensor = onnx.numpy_helper.from_array(array[0] if name == "b" else array, name)
        model.graph.initializer.append(tensor)
    model.graph.node.add(op_type="MatMul", input=["y", "u"], output=["z"])
    model.graph.output[0].name = "z"
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    optimized = ow.optimize(path, skip=["share_weights"])
    (tmp_path / "w.bin").unlink()
    for call in (
        lambda: ow.save(optimized, tmp_path / "b.onnx"),
        lambda: ow.run_model(optimized, [array]),
        lambda: ow.to_half(optimized),
        lambda: ow.quantize_weights(optimized),
        lambda: ow.optimize(path),
        lambda: ow.fold_constants(path, output=tmp_path / "b.onnx"),
    ):
        with pytest.raises(OnnxwrightError, match=r"OW743.*`w\.bin`") as caught:
            call()
        assert caught.value.diagnostics[0].span.file == __file__
    assert not (tmp_path / "b.onnx").exists()


def test_options() -> None:
    model = onnx.parser.parse_model(TEXT)
    assert operators(ow.optimize(model, skip=["matmul_and_bias"])) == ["MatMul", "Add", "Relu"]
    assert operators(ow.optimize(model, level="exact")) == ["MatMul", "Add", "Relu"]
    assert operators(ow.optimize(model, keep=["a"])) == ["MatMul", "Add", "Relu"]
    assert "w" in {i.name for i in ow.optimize(model, keep=["w"]).graph.initializer}
    for wrong in ({"level": "close"}, {"skip": ["no_rule"]}, {"assume": ["luck"]},
                  {"target": "moon"}, {"only": "no_rule"}, {"only": 3}, {"rules": ["no_rule"]},
                  {"rules": "move_transposes"}):  # fmt: skip
        with pytest.raises(OnnxwrightError, match="OW853"):
            ow.optimize(model, **wrong)


def test_only_some_rules() -> None:
    body = "{ a = MatMul(x, w)  c = Add(a, b)  d = Identity(c)  e = Relu(d)  y = Relu(e) }"
    model = onnx.parser.parse_model(TEXT.partition("{ t")[0] + body)
    product, plain = ["Gemm"], ["MatMul", "Add"]
    gemm = ow.library_rules()["matmul_and_bias"]
    for only, skip, expected in (
        (None, (), [*product, "Relu"]),
        ([], (), [*plain, "Relu", "Relu"]),
        ("matmul_and_bias", (), [*product, "Relu", "Relu"]),
        (gemm, "relu_of_relu", [*product, "Relu", "Relu"]),
        ({"relu_of_relu", "share_weights"}, (), [*plain, "Relu"]),
        (["relu_of_relu", gemm], ["matmul_and_bias"], [*plain, "Relu"]),
    ):
        optimized = ow.optimize(model, only=only, skip=skip)
        assert operators(optimized) == expected, (only, skip)
        assert first_difference(model, optimized) is None
        held = ir.from_proto(model)
        assert ow.passes.Optimize(only=only, skip=skip)(held).model is held
        assert [n.op_type for n in held.graph] == expected
    assert operators(ow.rewrite(model, gemm.name)) == [*product, "Identity", "Relu", "Relu"]


def test_only_some_passes() -> None:
    text = """<ir_version: 10, opset_import: ["" : 18]> g (float[1, 2, 4, 4] x, float[N, 2] u)
        => (float[1, 2, 3, 3] y, float[N, 2] z) <float[2] s = {1.0, 2.0},
        float[2, 2] m = {1.0, 2.0, 3.0, 4.0}, float[2, 2] n = {1.0, 2.0, 3.0, 4.0}>
        { c = Conv(x, w)  y = BatchNormalization(c, s, s, s, s)  t = Transpose<perm = [1, 0]>(u)
          e = Exp(t)  f = Transpose<perm = [1, 0]>(e)  g = MatMul(f, m)  z = MatMul(g, n) }"""
    model = onnx.parser.parse_model(text)
    w = onnx.numpy_helper.from_array(np.ones((2, 2, 2, 2), np.float32), "w")
    model.graph.initializer.append(w)
    expected_by_pass = {
        "fold_batch_norms": ["Conv", "Transpose", "Exp", "Transpose", "MatMul", "MatMul"],
        "move_transposes": ["Conv", "BatchNormalization", "Exp", "MatMul", "MatMul"],
        "share_weights": ["Conv", "BatchNormalization", "Transpose", "Exp", "Transpose", "MatMul",
                          "MatMul"],
    }  # fmt: skip
    for name, expected in expected_by_pass.items():
        optimized = ow.optimize(model, only=name)
        assert operators(optimized) == expected, name
        assert ("n" in {i.name for i in optimized.graph.initializer}) == (name != "share_weights")
        assert first_difference(model, optimized) is None


def test_a_rule_that_may_not_be_used_is_told() -> None:
    model = onnx.parser.parse_model(TEXT)
    for rule, more, reason in (
        ("gelu_of_runtime", {}, 'for `target="onnxruntime"`'),
        ("attention", {}, "the rule is for opset 23 or newer"),
        ("matmul_and_bias", {"level": "exact"}, 'level="exact"'),
        ("group_normalization", {"target": "onnxruntime", "opset_version": 21}, "slower"),
        ("swish", {"target": "onnxruntime", "opset_version": 24}, "slower"),
        ("attention_of_visible", {"opset_version": 23}, "it needs `assume=['visible']`"),
    ):
        with pytest.warns(ow.errors.OnnxwrightWarning, match="OW888") as told:
            ow.optimize(model, only=rule, **more)
        assert reason in str(told[0].message), rule
    with pytest.warns(ow.errors.OnnxwrightWarning, match="opset 23 or newer"):
        ow.rewrite(model, "attention")


def test_what_a_runtime_takes_longer_for_is_used_where_it_is_named() -> None:
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 24]>
        g (float[N] x) => (float[N] y) { s = Sigmoid(x) y = Mul(x, s) }""")
    assert operators(ow.optimize(model)) == ["Sigmoid", "Mul"]
    asked = (
        ow.optimize(model, rules="swish"),
        ow.optimize(model, only="swish"),
        ow.rewrite(model, "swish"),
    )
    for new_model in asked:
        assert operators(new_model) == ["Swish"]


def test_report() -> None:
    _, report = ow.optimize(onnx.parser.parse_model(TEXT), report=True)
    assert report.nodes == (5, 2)
    assert report.rules == {"matmul_and_bias": 1}
    assert report.operators["Transpose"] == (1, 0)
    assert "matmul_and_bias" in str(report)


def test_a_rule_counts_once_for_a_place() -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 18]>
        g (float[N,4] x) => (float[N,4] y, float[N,4] z)
        <int64[1] ax = {-1}, float two = {2.0}, float e = {1e-5}, float h = {0.5}> {
          m = ReduceMean(x, ax)  d = Sub(x, m)  p = Pow(d, two)  v = ReduceMean(p, ax)
          w = Add(v, e)  r = Sqrt(w)  n = Div(d, r)  q = Mul(n, s)  y = Add(q, b)
          t = MatMul(y, k)  u = Mul(t, h)  f = MatMul(u, l)  z = Mul(f, h) }""")
    for name, shape in (("s", 4), ("b", 4), ("k", (4, 4)), ("l", (4, 4))):
        array = np.random.default_rng(0).normal(size=shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    _, report = ow.optimize(model, report=True)
    # The factor of both products is one value; the second weight is a weight all the same.
    assert report.rules == {"layer_normalization": 1, "matmul_and_scale": 2}
    assert report.rounds == 2


def test_rules_that_decline_cost_no_replay() -> None:
    tried = []

    @ow.rule
    def relu_of_sum(op: Any, x: Any, y: Any) -> Any:
        return op.Relu(op.Add(x, y))

    @relu_of_sum.to
    def _(op: Any, x: Any, y: Any) -> Any:
        tried.append(op.Max(op.Add(y, x), np.float32(0)))  # it is built, and given up
        return None

    text = """<ir_version: 10, opset_import: ["" : 18]>
        g (float[N] x) => (float[N] y)
        { a = Add(x, x)  b = Relu(a)  c = Sin(b)  d = Add(x, c)  y = Relu(d) }"""
    optimized, report = ow.optimize(onnx.parser.parse_model(text), rules=relu_of_sum, report=True)
    assert len(tried) == 3  # both orders of the second sum
    assert report.rounds == 1
    assert operators(optimized) == ["Add", "Relu", "Sin", "Add", "Relu"]
    assert not optimized.graph.initializer


def test_a_rule_at_the_last_place_is_found() -> None:
    relu_of_sum = ow.rule(lambda op, x, y: op.Relu(op.Add(x, y)), name="relu_of_sum").to(
        lambda op, x, y: op.Elu(op.Add(x, y)) if str(x.shape) == "('N', 3)" else None
    )

    text = """<ir_version: 10, opset_import: ["" : 18]>
        g (float[N, 4] x, float[N, 3] z, bool p) => (float[N, 4] y, float[M, 3] w)
        { a = Add(x, x)  y = Relu(a)
          w = If(p) <then_branch = t () => (float[N, 3] u) { b = Add(z, z)  u = Relu(b) },
                     else_branch = e () => (float[N, 3] v) { v = Sin(z) }> }"""
    optimized, report = ow.optimize(onnx.parser.parse_model(text), rules=relu_of_sum, report=True)
    assert report.rules == {"relu_of_sum": 1}
    (branch,) = [a.g for a in optimized.graph.node[-1].attribute if a.name == "then_branch"]
    assert [n.op_type for n in branch.node] == ["Add", "Elu"]


def test_another_opset() -> None:
    text = """<ir_version: 7, opset_import: ["" : 13]> g (float[N] x) => (float[N] y)
    <float h = {0.5}, float o = {1.0}, float r = {1.41421356}>
    { a = Div(x, r)  b = Erf(a)  c = Add(b, o)  d = Mul(x, c)  y = Mul(d, h) }"""
    model = onnx.parser.parse_model(text)
    assert "Gelu" not in operators(ow.optimize(model))
    optimized = ow.optimize(model, opset_version=20)
    assert operators(optimized) == ["Gelu"]
    assert optimized.opset_import[0].version == 20
    onnx.checker.check_model(optimized)


def test_functions_are_kept_or_inlined() -> None:
    text = """<ir_version: 10, opset_import: ["" : 20, "local" : 1]>
    g (float[N] x) => (float[N] y) { y = local.f(x) }
    <domain: "local", opset_import: ["" : 20]> f (a) => (b) { c = Identity(a)  b = Relu(c) }"""
    model = onnx.parser.parse_model(text)
    kept = ow.optimize(model)
    assert operators(kept) == ["f"]
    assert [n.op_type for n in kept.functions[0].node] == ["Relu"]
    assert len(ow.optimize(model, prune=True).functions) == 1
    inlined = ow.optimize(model, inline=True)
    assert [o.domain for o in inlined.opset_import] == [""]
    assert operators(inlined) == ["Relu"]
    assert not inlined.functions


def test_a_function_whose_result_is_a_constant() -> None:
    optimized = ow.optimize(
        onnx.parser.parse_model(
            """<ir_version: 10, opset_import: ["" : 20, "local" : 1]>
            g (float[2] x) => (float[2] y) { a = local.f(x)  y = Add(x, a) }
            <domain: "local", opset_import: ["" : 20]>
            f (a) => (r) { r = Constant <value = float[2] {1.0, 2.0}> () }"""
        )
    )
    assert ow.CompiledModel(optimized)(np.ones(2, np.float32)).tolist() == [2, 3]


def test_scripts_compile_to_optimized_models() -> None:
    @script()
    def twice(x: FLOAT["N"]) -> FLOAT["N"]:
        return opset20.Relu(opset20.Relu(x))

    assert operators(twice.to_model_proto(optimize=True)) == ["Relu"]


def test_time_is_linear() -> None:
    def chain(count: int) -> onnx.ModelProto:
        names = ["x", *(f"v{n}" for n in range(count - 1)), "y"]
        nodes = [
            onnx.helper.make_node(("Sin", "Cos", "Tanh")[n % 3], [names[n]], [names[n + 1]])
            for n in range(count)
        ]
        graph = onnx.helper.make_graph(
            nodes, "g", [onnx.helper.make_tensor_value_info("x", 1, ["N"])],
            [onnx.helper.make_tensor_value_info("y", 1, ["N"])],
        )  # fmt: skip
        imports = [onnx.helper.make_opsetid("", 20)]
        return onnx.helper.make_model(graph, opset_imports=imports, ir_version=10)

    taken = []
    for count in (500, 4000):
        model = chain(count)
        begun = time.process_time()
        ow.optimize(model)
        taken.append(time.process_time() - begun)
    assert taken[1] < 40 * taken[0]  # eight times the nodes; what is quadratic takes 64 times


def test_exported_programs_take_weights_afterwards() -> None:
    torch = pytest.importorskip("torch", reason="programs are exported from PyTorch")
    module = torch.nn.Sequential(
        torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.ReLU(), torch.nn.BatchNorm1d(3)
    ).eval()
    x = torch.randn(2, 4)
    program = ow.export(module, (x,))
    optimized = ow.optimize(program)
    assert type(optimized) is type(program)
    assert [n.op_type for n in optimized.model.graph].count("Relu") == 1
    assert torch.allclose(optimized(x), module(x), atol=1e-5)
    state = {k: v * 1.5 if v.is_floating_point() else v for k, v in module.state_dict().items()}
    module.load_state_dict(state)
    optimized.apply_weights(state)
    assert torch.allclose(optimized(x), module(x), atol=1e-5)


def test_nodes_of_a_graph_have_names_of_their_own() -> None:
    """ONNX Runtime refuses two nodes of one name; exporters write names that new nodes get, too."""
    held = ", ".join(
        f"float[4,2] w{n} = {{1,2,3,4,5,6,7,{k}}}, float[2] b{n} = {{1,{k}}}"
        for k, n in enumerate("abc")
    )
    model = onnx.parser.parse_model(
        f"""<ir_version: 10, opset_import: ["" : 20]>
        g (float[N,3,4] x) => (float[N,3,2] r) <{held}> {{
            d = MatMul(x, wa)  p = Add(d, ba)  e = MatMul(x, wb)  q = Add(e, bb)
            f = MatMul(x, wc)  s = Add(f, bc)  r = Sum(p, q, s) }}"""
    )
    model.graph.node[1].name, model.graph.node[6].name = "node_MatMul_1", "node_Add_4"
    optimized = ow.optimize(model)
    assert [n.op_type for n in optimized.graph.node] == ["MatMul", "Add", "Split", "Sum"]
    names = {n.name for n in optimized.graph.node}
    assert len(names) == 4
    assert names > {"node_MatMul_1", "node_Add_4"}
    feeds = {"x": np.ones((2, 3, 4), np.float32)}
    assert first_difference(model, optimized, feeds=[feeds]) is None


def test_functions_that_nothing_calls_are_removed_where_that_is_asked() -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 20, "used" : 1, "unused" : 1]>
        g (float[N] x) => (float[N] y) { y = used.f(x) }
        <domain: "used", opset_import: ["" : 20]>
        f (a) => (b) { b = Relu(a) }
        <domain: "unused", opset_import: ["" : 20]>
        f (a) => (b) { b = Neg(a) }""")
    assert len(ow.optimize(model).functions) == 2
    pruned = ow.optimize(model, prune=True)
    assert [f.domain for f in pruned.functions] == ["used"]
    assert [o.domain for o in pruned.opset_import] == ["", "used"]


def test_verify_runs_both_and_raises_where_they_differ() -> None:
    squares = ow.rule(lambda op, x: op.Sqrt(x * x), name="squares").to(lambda op, x: op.Identity(x))

    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 20]> g (float[N] x) => (float[N] y) '
        "{ a = Mul(x, x)  y = Sqrt(a) }"
    )
    _, report = ow.optimize(model, verify=True, report=True)
    assert report.largest_differences == {"y": 0.0}
    with pytest.raises(ow.ScriptError, match=r"OW859.*`y` at size 2.*\n(.*\n)*.*`squares`"):
        ow.optimize(model, rules=squares, verify=True)
    fine = [{"x": np.array([1, 2], np.float32)}]
    assert ow.optimize(model, rules=squares, verify=fine).graph.node[0].op_type == "Identity"
    with pytest.raises(ow.ScriptError, match="at run 1"):
        ow.optimize(model, rules=squares, verify=[*fine, {"x": -fine[0]["x"]}])


def test_steps_add_up_to_the_nodes_that_are_gone() -> None:
    from tests.optimizer.corpus.stored import names, stored

    for name in names()[:6]:
        _, report = ow.optimize(stored(name).model, report=True)
        gone = sum(s.before - s.after for s in report.steps)
        assert gone == report.nodes[0] - report.nodes[1], name
        used = {s.name: s.times for s in report.steps if s.name in report.rules}
        assert set(used) == set(report.rules), name
