"""Patterns and replacements: what matches, what is bound, what is declined."""

from __future__ import annotations

import onnx
import pytest

import onnxwright as ow
from onnxwright.testing import prove


def parse(text: str, opset: int = 20) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]>\n{text}')


def operators(model: onnx.ModelProto) -> list[str]:
    return [n.op_type for n in model.graph.node]


@ow.rule
def silu(op, x):
    return x * op.Sigmoid(x)


@silu.to
def _(op, x):
    return op.Elu(x)  # any one operator: these tests are about matching


def test_commuted_operands() -> None:
    for product in ("Mul(x, s)", "Mul(s, x)"):
        model = parse(f"g (float[N] x) => (float[N] y) {{ s = Sigmoid(x)  y = {product} }}")
        assert operators(ow.rewrite(model, silu)) == ["Elu"]


def test_an_interior_value_with_another_reader_stays() -> None:
    text = (
        "g (float[N] x) => (float[N] y, float[N] z) { s = Sigmoid(x)  y = Mul(x, s)  z = Neg(s) }"
    )
    assert operators(ow.rewrite(parse(text), silu)) == ["Sigmoid", "Mul", "Neg"]
    text = "g (float[N] x) => (float[N] y, float[N] s) { s = Sigmoid(x)  y = Mul(x, s) }"
    assert operators(ow.rewrite(parse(text), silu)) == ["Sigmoid", "Mul"]


def test_a_reader_in_a_branch_is_a_reader() -> None:
    model = parse("""g (float[N] x, bool c) => (float[N] y, float[N] z) {
        s = Sigmoid(x)
        y = Mul(x, s)
        z = If(c) <then_branch = t () => (float[N] a) { a = Neg(s) },
                   else_branch = e () => (float[N] b) { b = Abs(s) }> }""")
    assert operators(ow.rewrite(model, silu)) == ["Sigmoid", "Mul", "If"]


def test_bodies_and_functions() -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 20, "local" : 1]>
        g (float[N] x, bool c) => (float[N] z) {
            z = If(c) <then_branch = t () => (float[N] a) { s = Sigmoid(x)  a = Mul(s, x) },
                       else_branch = e () => (float[N] b) { b = local.f(x) }> }
        <domain: "local", opset_import: ["" : 20]>
        f (u) => (v) { w = Sigmoid(u)  v = Mul(u, w) }""")
    rewritten = ow.rewrite(model, silu)
    assert [n.op_type for n in rewritten.functions[0].node] == ["Elu"]
    then = next(a.g for a in rewritten.graph.node[0].attribute if a.name == "then_branch")
    assert [n.op_type for n in then.node] == ["Elu"]


def test_names_notes_and_origins() -> None:
    model = parse("g (float[N] x) => (float[N] z) { s = Sigmoid(x)  y = Mul(x, s)  z = Neg(y) }")
    for n, node in enumerate(model.graph.node):
        node.name = f"node_{n}"
        node.metadata_props.add(key="onnxwright.origin", value=f"model.py:{n}:1")
    rewritten = ow.rewrite(model, silu)
    node = rewritten.graph.node[0]
    notes = {p.key: p.value for p in node.metadata_props}
    assert (node.name, list(node.output)) == ("node_1", ["y"])
    assert notes["onnxwright.rules"] == "silu"
    assert notes["onnxwright.origins"] == "model.py:1:1; model.py:0:1"


@pytest.mark.parametrize(
    ("number", "matches"), [(0.5, True), (0.5000001, True), (0.51, False), (-0.5, False)]
)
def test_numbers_are_compared_within_rounding(number: float, matches: bool) -> None:
    half = ow.rule(lambda op, x: op.Tanh(x * 0.5), name="half").to(lambda op, x: op.Abs(x))
    model = parse(f"""g (float[N] x) => (float[N] y) {{
        h = Constant <value_float: float = {number}> ()  m = Mul(h, x)  y = Tanh(m) }}""")
    assert (operators(ow.rewrite(model, half))[-1] == "Abs") is matches


def test_optional_and_variadic_inputs_and_attributes() -> None:
    @ow.rule
    def join(op, *xs, axis: ow.Attr):
        return op.Neg(op.Concat(*xs, axis=axis))

    @join.to
    def _(op, *xs, axis):
        return op.Concat(*(op.Abs(x) for x in xs[:1]), *xs[1:], axis=axis)

    model = parse("""g (float[N] a, float[N] b, float[N] c) => (float[M] y) {
        j = Concat<axis = 0>(a, b, c)  y = Neg(j) }""")
    rewritten = ow.rewrite(model, join)
    assert operators(rewritten) == ["Abs", "Concat"]
    assert list(rewritten.graph.node[1].input)[1:] == ["b", "c"]

    @ow.rule
    def product(op, x, w: ow.Const, b=None, attrs: ow.Attrs = None):
        return op.Relu(op.Gemm(x, w, b, **attrs))

    @product.to
    def _(op, x, w, b, attrs):
        return None if attrs.get("transB") else op.Gemm(x, w, b, **attrs)

    for bias in ("", ", w0"):
        for flag, expected in ((0, ["Gemm"]), (1, ["Gemm", "Relu"])):
            model = parse(f"""g (float[N, 2] x) => (float[N, 2] y)
                <float[2, 2] w = {{1.0, 2.0, 3.0, 4.0}}, float[2] w0 = {{1.0, 2.0}}>
                {{ p = Gemm<transB = {flag}>(x, w{bias})  y = Relu(p) }}""")
            assert operators(ow.rewrite(model, product)) == expected


def test_several_results() -> None:
    both = ow.rule(lambda op, x: (op.Sin(x), op.Cos(x)), name="both").to(
        lambda op, x: (op.Abs(x), op.Neg(x))
    )

    model = parse("g (float[N] x) => (float[N] y, float[N] z) { y = Sin(x)  z = Cos(x) }")
    assert operators(ow.rewrite(model, both)) == ["Abs", "Neg"]
    model = parse("g (float[N] x) => (float[N] y, float[N] z) { z = Cos(x)  y = Sin(z) }")
    assert operators(ow.rewrite(model, both)) == ["Cos", "Sin"]


def test_facts() -> None:
    seen = []

    @ow.rule
    def known_reshape(op, x, s):
        return op.Reshape(x, s)

    @known_reshape.to
    def _(op, x, s):
        seen.append((ow.facts(s).dims, ow.facts(x).shape, ow.facts(x).made_by))

    model = parse("""g (float[N, 6] x) => (float[a, b] y) {
        s = Shape(x)  a = Abs(x)  y = Reshape(a, s) }""")
    ow.rewrite(model, known_reshape)
    assert seen[0] == (("N", 6), ("N", 6), "Abs")


def test_types_never_change() -> None:
    wider = ow.rule(lambda op, x: op.Abs(x), name="wider").to(lambda op, x: op.Cast(x, to=11))
    model = parse("g (float[N] x) => (float[N] y) { y = Abs(x) }")
    assert operators(ow.rewrite(model, wider)) == ["Abs"]


def test_no_rule_adds_nodes() -> None:
    longer = ow.rule(lambda op, x: op.Abs(x), name="longer").to(lambda op, x: op.Relu(op.Exp(x)))
    model = parse("g (float[N] x) => (float[N] y) { y = Abs(x) }")
    assert operators(ow.rewrite(model, longer)) == ["Abs"]


def test_find_and_explain() -> None:
    model = parse("""g (float[N] x) => (float[N] y, float[N] z) {
        s = Sigmoid(x)  y = Mul(x, s)  t = Tanh(x)  z = Mul(x, t) }""")
    (match,) = ow.find(model, silu)
    assert match.values == {"x": "x"}
    assert [n.op_type for n in match.nodes] == ["Mul", "Sigmoid"]
    near = ow.find(model, silu, explain=True)
    assert str(near[0]).startswith("`z = Mul(...)`: Sigmoid(x) (line ")
    first, *beside = str(near[0]).splitlines()
    assert first.endswith("does not match at `t = Tanh(...)`: it is Tanh")
    assert beside == [
        "    the pattern           the model",
        "    Mul(x, Sigmoid(...))  z = Mul(x, t)",
        "  > Sigmoid(x)            t = Tanh(x)",
    ]


def test_outlining() -> None:
    from onnxwright import FLOAT, opset20, script

    @script(default_opset=opset20)
    def swish(x: FLOAT) -> FLOAT:
        return x * opset20.Sigmoid(x)

    model = parse("g (float[N] x) => (float[N] z) { s = Sigmoid(x)  y = Mul(s, x)  z = Neg(y) }")
    rewritten = ow.rewrite(model, ow.rule.function(swish))
    assert operators(rewritten) == ["swish", "Neg"]
    assert [f.name for f in rewritten.functions] == ["swish"]
    onnx.checker.check_model(rewritten)


def test_a_wrong_rule_is_disproved() -> None:
    wrong = ow.rule(lambda op, x: x + 0.0, name="wrong").to(lambda op, x: op.Identity(x))
    with pytest.raises(AssertionError, match="changes the result"):
        prove(wrong)


def test_a_rule_that_never_matches_fails() -> None:
    never = ow.rule(lambda op, x: op.Slice(op.Slice(x, [0], [1]), [0], [1]), name="never").to(
        lambda op, x: None
    )
    with pytest.raises(AssertionError, match="nothing is proven: its pattern matched"):
        prove(never, tries=4)


def test_comparisons_and_logic_are_operators() -> None:
    larger = ow.rule(lambda op, x, y: op.Where(~(x > y), y, abs(x)), name="larger").to(
        lambda op, x, y: op.Max(x, y)
    )
    model = parse("""g (float[N] x, float[N] z) => (float[N] y) {
        c = Greater(x, z)  n = Not(c)  a = Abs(x)  y = Where(n, z, a) }""")
    assert operators(ow.rewrite(model, larger)) == ["Max"]


def test_a_number_with_its_own_tolerance() -> None:
    half = ow.rule(lambda op, x: x * op.number(0.5, rtol=1e-2), name="half").to(
        lambda op, x: op.Abs(x)
    )
    for number, expected in ((0.503, "Abs"), (0.51, "Mul")):
        model = parse(
            f"g (float[N] x) => (float[N] y) <float h = {{{number}}}> {{ y = Mul(h, x) }}"
        )
        assert operators(ow.rewrite(model, half)) == [expected]


def test_a_constant_written_as_an_operator() -> None:
    plus_one = ow.rule(lambda op, x: op.Add(x, op.Constant(value_float=1.0)), name="plus_one").to(
        lambda op, x: op.Abs(x)
    )
    for one in ("c = Constant<value_float = 1.0>()", "c = Constant<value = float {1.0}>()"):
        model = parse(f"g (float[N] x) => (float[N] y) {{ {one}  y = Add(c, x) }}")
        assert operators(ow.rewrite(model, plus_one))[-1] == "Abs"


def test_a_replacement_that_calls_a_function_of_the_model() -> None:
    from onnxwright import FLOAT, opset20, script

    @script(default_opset=opset20)
    def swish(x: FLOAT) -> FLOAT:
        return x * opset20.Sigmoid(x)

    relu = ow.rule(lambda op, x: op.Relu(x), name="relu").to(
        lambda op, x, match: match.call(swish, x)
    )
    model = parse("g (float[N] x) => (float[N] y) { a = Abs(x)  y = Relu(a) }")
    for new_model in (ow.rewrite(model, relu), ow.optimize(model, rules=relu)):
        assert operators(new_model) == ["Abs", "swish"]
        assert [f.name for f in new_model.functions] == ["swish"]
        onnx.checker.check_model(new_model, full_check=True)


def test_why_a_rule_was_not_used() -> None:
    model = parse("g (float[N] x) => (float[N] y) { y = Relu(x) }")
    reasons = {
        "the result would be FLOAT16[N], not FLOAT[N]": lambda op, x: op.Cast(x, to=10),
        "it would add more nodes": lambda op, x: op.Exp(op.Log(x)),
    }
    for reason, replacement in reasons.items():
        rule = ow.rule(lambda op, x: op.Relu(x), name="mine").to(replacement)
        optimized, report = ow.optimize(model, rules=rule, report=True)
        assert operators(optimized) == ["Relu"]
        assert report.declined["mine"].startswith(reason)


def test_a_smaller_rule_does_not_undo_a_larger_one() -> None:
    three = ow.rule(lambda op, x: op.Neg(op.Exp(op.Sin(x))), name="three").to(
        lambda op, x: op.Elu(x)
    )

    two = ow.rule(lambda op, x: op.Cos(op.Neg(x)), name="two").to(lambda op, x: op.Tan(x))
    model = parse("g (float[N] x) => (float[N] y) { a = Sin(x) b = Exp(a) c = Neg(b) y = Cos(c) }")
    assert operators(ow.rewrite(model, [two, three])) == ["Elu", "Cos"]


WRONG = {
    "there is no operator `Reluu`; did you mean `Relu`": lambda op, x: op.Reluu(x),
    "`Softmax` has no attribute `axes` (it has axis)": lambda op, x: op.Softmax(x, axes=1),
    "is not known while the pattern is traced": lambda op, x: op.Relu(x) if x > 0 else op.Abs(x),
    "it does not use its parameter `y`": lambda op, x, y: op.Relu(x),
    "it returns its parameter `x`": lambda op, x: x,
    "`x` cannot be indexed": lambda op, x: op.Relu(x[0]),
    "it is of type str, and a function is needed": "Relu",
    "`Split(...)` is one value": lambda op, x: op.Add(*op.Split(x)),
}


@pytest.mark.parametrize("reason", WRONG)
def test_what_is_not_a_pattern(reason: str) -> None:
    with pytest.raises(ow.OnnxwrightError) as raised:
        ow.rule(WRONG[reason])
    assert "OW850" in str(raised.value)
    assert reason in str(raised.value)


def test_options_and_rules_that_are_not_valid() -> None:
    model = parse("g (float[N] x) => (float[N] y) { y = Relu(x) }")
    with pytest.raises(ow.OnnxwrightError, match="OW853"):
        ow.rule(leval="exact")
    with pytest.raises(ow.OnnxwrightError, match="OW852"):
        ow.rewrite(model, ow.rule(lambda op, x: op.Relu(x)))
    with pytest.raises(ow.OnnxwrightError, match="OW853"):
        ow.rewrite(model, lambda op, x: op.Relu(x))


MICROSOFT = ow.Opset("com.microsoft", 1)


def test_operators_of_other_domains() -> None:
    fast_gelu = ow.rule(lambda op, x: MICROSOFT.FastGelu(op.Neg(x)), name="fast_gelu").to(
        lambda op, x: MICROSOFT.QuickGelu(x, alpha=1.0)
    )

    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 20, "com.microsoft" : 1]>
        g (float[N] x) => (float[N] y) { n = Neg(x)  y = com.microsoft.FastGelu(n) }""")
    rewritten = ow.rewrite(model, fast_gelu)
    assert [(n.domain, n.op_type) for n in rewritten.graph.node] == [("com.microsoft", "QuickGelu")]


def test_operators_of_an_opset() -> None:
    def pattern(op, x):
        return ow.opset20.Relu(ow.opset18.Neg(x))

    model = parse("g (float[N] x) => (float[N] y) { n = Neg(x)  y = Relu(n) }")
    assert len(ow.find(model, pattern)) == 1


def test_results_are_as_many_as_the_names() -> None:
    def pattern(op, x, k):
        values, places = op.TopK(x, k)
        a, b, c = op.Split(values, num_outputs=3)
        return op.Sum(a, b, c), places

    model = parse("""g (float[9] x, int64[1] k) => (float[M] y, int64[K] p) {
        v, p = TopK(x, k)  a, b, c = Split<num_outputs = 3>(v)  y = Sum(a, b, c) }""")
    assert len(ow.find(model, pattern)) == 1


def test_an_array_is_a_constant_of_its_shape() -> None:
    def pattern(op, x):
        return x + op.constant([[1.0, 2.0]])

    for shape, count in (("1, 2", 1), ("2", 0)):
        model = parse(f"""g (float[3, 2] x) => (float[3, 2] y)
            <float[{shape}] c = {{1.0, 2.0}}> {{ y = Add(x, c) }}""")
        assert len(ow.find(model, pattern)) == count


def test_constants_of_nodes_are_known_to_replacements() -> None:
    @ow.rule
    def mean(op, x, axes: ow.Const):
        return op.ReduceMean(x, axes)

    @mean.to
    def _(op, x, axes):
        return None if axes.constant is None else op.ReduceSum(x, axes)

    model = parse("""g (float[3, 2] x) => (float[3, 1] y) {
        a = Constant<value_ints = [1]>()  y = ReduceMean(x, a) }""")
    assert operators(ow.rewrite(model, mean)) == ["Constant", "ReduceSum"]


def test_find_explains_other_readers_of_a_rule() -> None:
    text = "g (float[N] x) => (float[N] y, float[N] s) { s = Sigmoid(x)  y = Mul(x, s) }"
    assert ow.find(parse(text), silu) == []
    (miss,) = ow.find(parse(text), silu, explain=True)
    assert (miss.expected, miss.reason) == ("Sigmoid(x)", "`s` is an output of the graph")
    assert len(ow.find(parse(text), silu, shared=True)) == 1


def test_a_rule_that_grows() -> None:
    def grown(**options):
        relu = ow.rule(lambda op, x: op.Relu(x), name="relu", **options).to(
            lambda op, x: op.Abs(op.Neg(op.Abs(x)))
        )

        return relu

    model = parse("g (float[N] x) => (float[N] y) { y = Relu(x) }")
    with pytest.warns(ow.errors.OnnxwrightWarning, match="OW888"):
        assert operators(ow.rewrite(model, grown())) == ["Relu"]
    assert operators(ow.rewrite(model, grown(grows=True))) == ["Abs", "Neg", "Abs"]


com = ow.Opset("com.microsoft", 1)


@ow.rule
def sum_and_norm(op, x, s, g, b):
    total = x + s
    return op.LayerNormalization(total, g, b, axis=-1), total


@sum_and_norm.to
def _(op, x, s, g, b):
    y, _, _, total = com.SkipLayerNormalization(x, s, g, b, epsilon=1e-5)
    return y, total


SUM_AND_NORM = """g (float[b,n,8] x, float[b,n,8] s, float[8] g, float[8] h)
    => (float[b,n,8] y, float[b,n,8] w)"""


@pytest.mark.parametrize(
    "body",
    [
        "{ t = Add(x, s) y = LayerNormalization<axis=-1>(t, g, h) w = Relu(t) }",
        "{ t = Add(x, s) w = Relu(t) y = LayerNormalization<axis=-1>(t, g, h) }",
        "{ t = Add(s, x) v = Neg(t) y = LayerNormalization<axis=-1>(t, g, h) w = Abs(v) }",
    ],
)
def test_a_result_inside_of_another(body: str) -> None:
    model = parse(f"{SUM_AND_NORM} {body}")
    assert len(ow.find(model, sum_and_norm)) == 1
    kinds = operators(ow.rewrite(model, sum_and_norm))
    assert kinds[0] == "SkipLayerNormalization"
    assert not {"Add", "LayerNormalization"} & set(kinds)


def test_results_that_no_node_can_make_in_time_are_reported() -> None:
    model = parse(f"""{SUM_AND_NORM} {{
        t = Add(x, s) w = Relu(t) m = ReduceMean<keepdims=0>(w) k = Mul(g, m)
        y = LayerNormalization<axis=-1>(t, k, h) }}""")
    assert len(ow.find(model, sum_and_norm)) == 1
    with pytest.warns(ow.errors.OnnxwrightWarning, match="`t` is computed before the value of `g`"):
        rewritten = ow.rewrite(model, sum_and_norm)
    assert operators(rewritten) == operators(model)
    _, report = ow.optimize(model, rules=[sum_and_norm], report=True)
    assert "`g`" in report.declined["sum_and_norm"]


PRODUCTS = """g (float[b,n,2] x) => (float[b,n,2] y, float[b,n,2] k, float[b,n,2] v)
    <float[2,2] wq = {1, 2, 3, 4}, float[2,2] wk = {1, 2, 3, 5}, float[2,2] wv = {1, 2, 3, 6}>"""


@ow.rule(level="rounding", grows=True)
def attention(op, x, wq: ow.Const, wk: ow.Const, wv: ow.Const):
    q, k, v = x @ wq, x @ wk, x @ wv
    return op.Softmax(q @ op.Transpose(k, perm=[0, 2, 1])) @ v, k, v


@attention.to
def _(op, x, wq, wk, wv):
    return com.Heads(x, wq, wk, wv, _outputs=3)


@pytest.mark.parametrize("order", ["qkv", "qvk", "kvq", "vqk"])
def test_three_results_of_one_value(order: str) -> None:
    products = " ".join(f"{c} = MatMul(x, w{c})" for c in order)
    model = parse(f"""{PRODUCTS} {{ {products} t = Transpose<perm=[0,2,1]>(k)
        s = MatMul(q, t)  p = Softmax(s)  y = MatMul(p, v) }}""")
    rewritten = ow.rewrite(model, attention)
    assert operators(rewritten) == ["Heads"]
    assert list(rewritten.graph.node[0].output) == ["y", "k", "v"]
    assert list(rewritten.graph.node[0].input) == ["x", "wq", "wk", "wv"]


def test_results_in_any_order() -> None:
    both = ow.rule(lambda op, x: (op.Relu(x), op.Neg(x)), name="both").to(
        lambda op, x: com.Both(x, _outputs=2)
    )
    for body in ("{ y = Relu(x) z = Neg(x) }", "{ z = Neg(x) y = Relu(x) }"):
        rewritten = ow.rewrite(parse(f"g (float[N] x) => (float[N] y, float[N] z) {body}"), both)
        assert operators(rewritten) == ["Both"]
        assert list(rewritten.graph.node[0].output) == ["y", "z"]


def replaced_by(replacement):
    rule = ow.rule()(lambda op, x: op.Relu(op.Neg(x)))
    rule.to(replacement)
    model = parse("g (float[N] x) => (float[N] y) { a = Neg(x)  y = Relu(a) }")
    return ow.rewrite(model, rule).graph.node[0]


def test_keywords_of_other_domains() -> None:
    node = replaced_by(lambda op, x: com.Foo(x, _outputs=2, _name="foo")[0])
    assert (len(node.output), node.name, len(node.attribute)) == (2, "foo", 0)
    for wrong in (
        lambda op, x: com.Foo(x, outputs=2),
        lambda op, x: com.Foo(x, outputs=["a", "b"]),
        lambda op, x: com.Foo(x, name="foo"),
    ):
        with pytest.raises(ow.errors.OnnxwrightError, match=r"OW854.*would be an attribute"):
            replaced_by(wrong)
    node = replaced_by(lambda op, x: com.Foo(x, name="plugin", _name="foo"))
    assert (node.name, node.attribute[0].s) == ("foo", b"plugin")
