"""What `convert_version` keeps, what it refuses, and what it gives back."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper, numpy_helper, parser

import onnxwright as ow
from onnxwright.errors import ConversionError, ConversionValueError, ModelError
from onnxwright.ir.nested import all_nodes
from onnxwright.opset import registry
from tests.harness.tables import each
from tests.versions.backend_cases import run, same


def model_of(version, text, functions="", ir_version=10, imports=""):
    head = f'<ir_version: {ir_version}, opset_import: ["" : {version}{imports}]>'
    return parser.parse_model(f"{head} {text} {functions}")


SMALL = (
    "g (float[2,3] x, float[9] unused) => (float[2] y) { y = ReduceSum<axes=[1], keepdims=0>(x) }"
)


def test_the_same_version_changes_nothing():
    model = model_of(20, "g (float[2,3] x) => (float[2,3] y) { z = Gelu(x) y = HardSwish(z) }")
    converted = ow.convert_version(model, 20)
    assert onnx.printer.to_text(converted) == onnx.printer.to_text(model)
    assert converted is not model


def test_interface_names_and_metadata_stay():
    model = model_of(11, SMALL)
    model.graph.node[0].name = "sum"
    entry = model.graph.node[0].metadata_props.add()
    entry.key, entry.value = "onnxwright.origin", "model.py:3:4"
    model.metadata_props.add(key="author", value="me")
    converted = ow.convert_version(model, 18)
    assert [i.name for i in converted.graph.input] == ["x", "unused"]
    assert converted.graph.output == model.graph.output
    assert converted.metadata_props == model.metadata_props
    constant, node = converted.graph.node
    assert node.name == "sum"
    assert constant.name == "sum/Constant"
    assert {p.key: p.value for n in (node, constant) for p in n.metadata_props} == {
        "onnxwright.origin": "model.py:3:4"
    }
    assert model.graph.node[0].attribute[0].name == "axes"  # what was given did not change


def test_kinds(tmp_path):
    model = model_of(11, SMALL)
    assert isinstance(ow.convert_version(model, 13), onnx.ModelProto)
    assert isinstance(ow.convert_version(ir.from_proto(model), 13), ir.Model)
    path = tmp_path / "a.onnx"
    onnx.save(model, path)
    assert isinstance(ow.convert_version(path, 13), ir.Model)
    target = ow.convert_version(path, 13, output=tmp_path / "b.onnx")
    assert onnx.load(target).opset_import[0].version == 13
    with pytest.raises(FileNotFoundError, match="OW741"):
        ow.convert_version(tmp_path / "no.onnx", 13)
    (tmp_path / "bad.onnx").write_bytes(b"nonsense")
    with pytest.raises(ModelError, match="OW741"):
        ow.convert_version(tmp_path / "bad.onnx", 13)


def test_weights_in_files_are_not_read(tmp_path):
    model = model_of(11, "g (float[2,3] x) => (float[2,3] y) { y = Add(x, w) }")
    weight = np.arange(6, dtype=np.float32).reshape(2, 3)
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    path = tmp_path / "a.onnx"
    onnx.save(model, path, save_as_external_data=True, location="a.bin", size_threshold=0)
    converted = ow.convert_version(path, 18)
    tensor = converted.graph.initializers["w"].const_value
    assert isinstance(tensor, ir.ExternalTensor)
    folder = tmp_path / "other"
    folder.mkdir()
    target = ow.convert_version(path, 18, output=folder / "b.onnx")
    x = np.ones((2, 3), np.float32)
    assert same([x + weight], run(onnx.load(target), [x]))


FUNCTION = """
<domain: "f", opset_import: ["" : 11]>
total <axis> (x) => (y) { y = ReduceSum<axes: ints = @axis, keepdims: int = 0>(x) }
"""


def test_functions_are_converted():
    model = model_of(
        11,
        "g (float[2,3] x) => (float[2] y) { y = f.mean(x) }",
        '<domain: "f", opset_import: ["" : 11]> mean (x) => (y) '
        "{ y = ReduceSum<axes=[1], keepdims=0>(x) }",
        imports=', "f" : 1',
    )
    converted = ow.convert_version(model, 18)
    (function,) = converted.functions
    assert [n.op_type for n in function.node] == ["Constant", "ReduceSum"]
    assert {o.domain: o.version for o in function.opset_import}[""] == 18
    x = np.ones((2, 3), np.float32)
    assert same(run(model, [x]), run(converted, [x]))


def test_a_function_that_needs_its_arguments_is_inlined():
    model = model_of(
        11,
        "g (float[2,3] x) => (float[2] y) { y = f.total<axis=[1]>(x) }",
        FUNCTION,
        imports=', "f" : 1',
    )
    converted = ow.convert_version(model, 18)
    assert not converted.functions
    x = np.ones((2, 3), np.float32)
    assert same([np.full(2, 3, np.float32)], run(converted, [x]))


def test_other_domains_keep_their_version():
    model = model_of(
        11,
        "g (string[3] x) => (int64[3] y) "
        '{ y = ai.onnx.ml.LabelEncoder<classes_strings=["a","b"], default_int64=-1>(x) }',
        imports=', "ai.onnx.ml" : 1',
    )
    converted = ow.convert_version(model, 18)
    assert {o.domain: o.version for o in converted.opset_import} == {"": 18, "ai.onnx.ml": 1}
    newer = ow.convert_version(model, domains={"ai.onnx.ml": 3})
    x = np.array(["b", "a", "c"], dtype=object)
    assert same(run(model, [x]), run(newer, [x]))
    assert same(run(model, [x]), run(ow.convert_version(newer, domains={"ai.onnx.ml": 1}), [x]))


def test_everything_that_cannot_be_converted_is_reported_at_once():
    model = model_of(
        23,
        "g (float[2,3] x, string[2] s, bool c) => (float[2,3] y, string[2] t, float[a,b] z) { "
        "y = Cast<to=1>(x) t = StringConcat(s, s) "
        "z = If(c) <then_branch = p () => (float[2,3] u) { u = Det9(x) }, "
        "else_branch = q () => (float[2,3] v) { v = CumProd9(x) }> }",
    )
    body = model.graph.node[2].attribute
    for attr, name in zip(body, ("BitCast", "Col2Im")):
        attr.g.node[0].op_type = name
    body[0].g.node[0].attribute.add(name="to", type=2, i=6)
    body[1].g.node[0].input.extend(["x", "x"])
    body[1].g.node[0].metadata_props.add(key="onnxwright.origin", value="net.py:7:3")
    before = model.SerializeToString()
    with pytest.raises(ConversionError) as caught:
        ow.convert_version(model, 13)
    by_operator = {d.operation: d for d in caught.value.diagnostics}
    assert {"StringConcat", "Col2Im"} <= set(by_operator)
    assert "net.py:7:3" in by_operator["Col2Im"].place
    assert model.SerializeToString() == before


@each("version", [0, 6, 99, "18", None, True, 17.5])
def test_versions_that_do_not_exist(version):
    with pytest.raises(ConversionValueError):
        ow.convert_version(model_of(11, SMALL), version)


def test_ir_version_goes_with_the_opset():
    model = model_of(11, SMALL, ir_version=6)
    assert ow.convert_version(model, 23).ir_version >= 11
    assert ow.convert_version(ow.convert_version(model, 23), 9).ir_version == 4
    assert ow.convert_version(model, 13, ir_version=12).ir_version == 12
    with pytest.raises(ConversionValueError, match="OW872"):
        ow.convert_version(model, 23, ir_version=5)


def test_initializers_that_are_inputs_are_not_constants():
    model = model_of(13, "g (float[4] x, int64[1] k) => (float[a] y) { y = Squeeze(x, k) }")
    model.graph.initializer.append(numpy_helper.from_array(np.array([0]), "k"))
    with pytest.raises(ConversionError, match="computed when the model runs"):
        ow.convert_version(model, 12)


def test_captured_values_stay_connected():
    """A replaced node whose result is read only in a branch."""
    model = model_of(
        9,
        "g (float[2,3] x, bool c) => (float[a,b] y) { s = Softmax<axis=0>(x) y = If(c) "
        "<then_branch = t () => (float[2,3] p) { p = Relu(s) }, "
        "else_branch = e () => (float[2,3] q) { q = Neg(s) }> }",
    )
    converted = ow.convert_version(model, 18)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for flag in (True, False):
        inputs = [x, np.array(flag)]
        assert same(run(model, inputs), run(converted, inputs))


def test_trainable_weights_stay_whatever_their_values():
    model = model_of(
        11,
        "g (float[2,3] x) => (float[2,3] y) "
        "{ a = Mul(x, one) b = Add(a, zero) y = Softmax<axis=0>(b) }",
    )
    for name, value in (("one", 1), ("zero", 0)):
        array = np.full(3, value, np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    converted = ow.convert_version(model, 18)
    assert [n.op_type for n in converted.graph.node][:2] == ["Mul", "Add"]
    assert converted.graph.initializer == model.graph.initializer


def test_bfloat16_is_computed_in_float_where_it_must():
    model = model_of(
        22, "g (bfloat16[3] x) => (bfloat16[3] y) { a = Elu(x) y = Gelu(a) }", ir_version=10
    )
    converted = ow.convert_version(model, 17)
    onnx.checker.check_model(converted, full_check=True)
    assert "Cast" in [n.op_type for n in converted.graph.node]


RESHAPED = """g (float[N,6] x) => (float[a,b,c] y) {
    n = Shape<start=0, end=1>(x) s = Concat<axis=0>(two, n, three)
    y = Reshape<allowzero=1>(x, s) }"""


def test_sizes_that_may_be_zero_are_refused_unless_they_cannot_be():
    model = model_of(18, RESHAPED)
    for name, size in (("two", 2), ("three", 3)):
        model.graph.initializer.append(numpy_helper.from_array(np.array([size]), name))
    with pytest.raises(ConversionError, match="allowzero"):
        ow.convert_version(model, 13)
    converted = ow.convert_version(model, 13, assume={"nonempty"})
    x = np.ones((4, 6), np.float32)
    assert same(run(model, [x]), run(converted, [x]))
    with pytest.raises(ConversionValueError, match="OW872"):
        ow.convert_version(model, 13, assume={"luck"})


@each("k", [-1, 0, 2])
@each("upper", [0, 1])
def test_triangles_of_dynamic_size(k, upper):
    model = model_of(14, f"g (float[N,M] x, int64 k) => (float[N,M] y) "
                     f"{{ y = Trilu<upper={upper}>(x, k) }}")  # fmt: skip
    inputs = [np.arange(20, dtype=np.float32).reshape(4, 5), np.array(k)]
    assert same(run(model, inputs), run(ow.convert_version(model, 13), inputs))


SCATTERED = [
    ("ScatterND", (4, 3), [[0], [2], [0], [-1]], (4, 3), {}),
    ("ScatterND", (4, 3), [[0, 1], [3, -1], [0, 1]], (3,), {}),
    ("ScatterND", (2, 2, 3), [[[0, 1]], [[0, 1]]], (2, 1, 3), {}),
    ("ScatterND", (3,), [[0], [0]], (2,), {}),
    ("ScatterElements", (3, 4), [[0, 1, 1], [0, 2, -1]], (2, 3), {"axis": 0}),
    ("ScatterElements", (3, 4), [[0, 1, 1], [0, 2, 0]], (2, 3), {"axis": -1}),
    ("ScatterElements", (5,), [1, 1, 1, 4], (4,), {}),
    ("ScatterElements", (2, 3, 2), [[[1, 1], [2, 0]]], (1, 2, 2), {"axis": 1}),
]


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize(("name", "size", "places", "update_size", "attributes"), SCATTERED)
def test_scattered_sums(name, size, places, update_size, attributes, reduction):
    """Several updates of one place are combined in versions whose operators replace."""
    rng = np.random.default_rng(0)
    node = helper.make_node(name, ["x", "i", "u"], ["y"], reduction=reduction, **attributes)
    i = np.array(places, np.int64)
    infos = [helper.make_tensor_value_info(n, 1, [f"{n}{k}" for k in range(len(s))])
             for n, s in (("x", size), ("u", update_size), ("y", size))]  # fmt: skip
    indices = helper.make_tensor_value_info("i", 7, ["n", *i.shape[1:]])
    graph = helper.make_graph([node], "g", [infos[0], indices, infos[1]], infos[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    runs = [rng.normal(size=size).astype("f"), i, rng.normal(size=update_size).astype("f")]
    want = run(model, runs)[0]
    for version in (17, 15, 11):
        converted = ow.convert_version(model, version)
        onnx.checker.check_model(converted, full_check=True)
        np.testing.assert_allclose(run(converted, runs)[0], want, rtol=1e-6)


EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("bid,bjd->bij", (2, 3, 4), (2, 5, 4)), ("ij,j", (2, 3), (3,)),
    ("bhid,bhjd->bhij", (2, 2, 3, 4), (2, 2, 5, 4)), ("i,i->", (3,), (3,)), ("i,j->ij", (3,), (2,)),
    ("bij,bij->bji", (2, 3, 4), (2, 3, 4)), ("nkv,nqk->qnv", (2, 3, 4), (2, 5, 3)),
    ("ij->j", (2, 3)),
    ("abc,acd->bd", (2, 3, 4), (2, 4, 5)), ("ab,cd,bc->ad", (2, 3), (4, 5), (3, 4)),
    ("ab,cb->a", (2, 3), (4, 3)), ("ba", (2, 3)), ("abcd,ce->abed", (2, 3, 4, 5), (4, 6)),
]  # fmt: skip


@each("case", EINSUMS)
def test_einsum_below_opset_12(case):
    equation, *sizes = case
    names = "xyz"[: len(sizes)]
    inputs = [np.random.default_rng(0).normal(size=s).astype("f") for s in sizes]
    want = np.einsum(equation, *inputs)
    infos = [helper.make_tensor_value_info(n, 1, [f"{n}{k}" for k in range(len(s))])
             for n, s in (*zip(names, sizes, strict=True), ("r", want.shape))]  # fmt: skip
    node = helper.make_node("Einsum", list(names), ["r"], equation=equation)
    graph = helper.make_graph([node], "g", infos[:-1], infos[-1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=7)
    for version in (11, 8):
        converted = ow.convert_version(model, version)
        onnx.checker.check_model(converted, full_check=True)
        np.testing.assert_allclose(run(converted, inputs)[0], want, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("equation", ["ii->i", "...j,jk->...k"])
def test_einsums_that_are_refused(equation):
    model = model_of(12, f'g (float[2,2] x, float[2,2] w) => (y) {{ y = Einsum <equation = "'
                     f'{equation}"> (x{", w" if "," in equation else ""}) }}')  # fmt: skip
    with pytest.raises(ConversionError, match="Einsum.*ellipsis or a letter twice"):
        ow.convert_version(model, 11)


GROUPS = "(float[N,4,5] x, float[2] s, float[2] b) => (float[N,4,5] y)"
GROUP_NORM = "GroupNormalization<num_groups = 2>"
GROUPS_FUNCTION = (
    '<domain: "d", opset_import: ["" : 18]> f (a, s, b) => (c) { c = ' + GROUP_NORM + "(a, s, b) }"
)


def exists(model):
    """Every node of a model, in bodies and functions, is in its opset and not deprecated."""
    ir_model = ir.from_proto(model)
    for holder in (ir_model.graph, *ir_model.functions.values()):
        for node in all_nodes(holder):
            if node.op_identifier() in ir_model.functions:
                continue
            signature = registry.signature(
                node.domain, node.op_type, holder.opset_imports[node.domain]
            )
            if signature is None or signature.deprecated:
                return False
    return True


@each("target", [7, 13, 17, 19, 20, 21, 23])
@each("where", ["graph", "body", "function"])
def test_what_is_deprecated_is_written_out(target, where):
    if where == "graph":
        model = model_of(18, f"g {GROUPS} {{ y = {GROUP_NORM}(x, s, b) }}")
    elif where == "body":
        body = (
            "{ c = Constant<value_int = 0>() t = Cast<to = 9>(c) y = If (t) <"
            "then_branch = a () => (float[N,4,5] u) { u = Relu(x) },"
            f" else_branch = e () => (float[N,4,5] w) {{ w = {GROUP_NORM}(x, s, b) }}> }}"
        )
        model = model_of(18, f"g {GROUPS} {body}")
    else:
        text = f"g {GROUPS} {{ y = d.f(x, s, b) }}"
        model = model_of(18, text, GROUPS_FUNCTION, imports=', "d" : 1')
    rng = np.random.default_rng(0)
    feeds = [rng.normal(size=shape).astype(np.float32) for shape in ((2, 4, 5), (2,), (2,))]
    converted = ow.convert_version(model, target)
    assert exists(converted), onnx.printer.to_text(converted)
    onnx.checker.check_model(converted)
    assert same(run(model, feeds), run(converted, feeds))


NOT_THERE = {
    "of no version": (8, "{ y = ImageScaler<bias = [1.0, 1.0, 1.0], scale = 2.0>(x) }"),
    "in a body": (
        11,
        (
            "{ c = Constant<value_int = 1>() t = Cast<to = 9>(c) y = If (t) <"
            "then_branch = a () => (float[1,3,4,4] u) { u = Relu(x) },"
            " else_branch = e () => (float[1,3,4,4] w) { w = ImageScaler<scale = 2.0>(x) }> }"
        ),
    ),
    "misspelled": (17, "{ y = Geluu(x) }"),
    "of a later version": (14, "{ y = Gelu(x) }"),
}


@each("case", NOT_THERE)
@each("target", [10, 13, 26])
def test_what_is_in_no_opset_is_refused(case, target):
    version, body = NOT_THERE[case]
    model = model_of(version, f"g (float[1,3,4,4] x) => (float[1,3,4,4] y) {body}")
    with pytest.raises(ConversionError, match="OW870"):
        ow.convert_version(model, target)


def test_what_is_in_no_opset_is_refused_in_functions():
    function = '<domain: "d", opset_import: ["" : 11]> f (a) => (b) { b = ImageScaler(a) }'
    text = "g (float[1,3,4,4] x) => (float[1,3,4,4] y) { y = d.f(x) }"
    model = model_of(11, text, function, imports=', "d" : 1')
    with pytest.raises(ConversionError, match="OW870.*ImageScaler"):
        ow.convert_version(model, 18)


def test_a_loop_that_carries_nothing_is_not_in_older_versions():
    text = """g (int64 n, float[2] x) => (float[k,2] y) { y = Loop(n) <body = b (int64 i, bool c)
        => (bool d, float[2] z) { d = Identity(c) z = Neg(x) }> }"""
    model = model_of(12, text)
    model.graph.node[0].input.append("")
    assert list(ow.convert_version(model, 11).graph.node[0].input) == ["n", ""]
    with pytest.raises(ConversionError, match="OW870.*at least 3 inputs"):
        ow.convert_version(model, 10)


def test_a_function_of_the_model_may_have_any_name():
    function = '<domain: "", opset_import: ["" : 11]> ImageScaler (a) => (b) { b = Relu(a) }'
    text = "g (float[1,3,4,4] x) => (float[1,3,4,4] y) { y = ImageScaler(x) }"
    converted = ow.convert_version(model_of(11, text, function), 18)
    assert [n.op_type for n in converted.graph.node] == ["ImageScaler"]


@each("version", [2**31 - 1, 10**6, 0, -3])
def test_versions_imported_by_functions_must_exist(version):
    function = '<domain: "d", opset_import: ["" : 18]> f (a) => (b) { b = Relu(a) }'
    model = model_of(18, "g (float[2] x) => (float[2] y) { y = d.f(x) }", function,
                     imports=', "d" : 1')  # fmt: skip
    model.functions[0].opset_import[0].version = version
    with pytest.raises((ConversionValueError, ModelError), match="version"):
        ow.convert_version(model, 21)


@each(
    ("version", "target", "graph"),
    [
        (18, 18, ("(float[1,4,2] x, float[2] s) => (float[1,4,2] y)"
                  " { y = GroupNormalization<num_groups=2>(x, s, s) }")),
        (11, 11, "(float[3] x, int64[2] i, float[2] u) => (float[3] y) { y = Scatter(x, i, u) }"),
        (11, 13, "(float[3] x, int64[2] i, float[2] u) => (float[3] y) { y = Scatter(x, i, u) }"),
        (18, 18, "(float[3] x, int64[2] i, float[2] u) => (float[3] y) { y = Scatter(x, i, u) }"),
        (10, 10, "(float[1,1,2,2] x, float[4] s) => (float[1,1,M,N] y) { y = Upsample(x, s) }"),
        (13, 13, "(float[1,1,2,2] x, float[4] s) => (float[1,1,M,N] y) { y = Upsample(x, s) }"),
    ],
)  # fmt: skip
def test_no_deprecated_operator_is_left(version: int, target: int, graph: str) -> None:
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {version}]> g {graph}')
    converted = ow.convert_version(model, target)
    for node in converted.graph.node:
        assert not onnx.defs.get_schema(node.op_type, target).deprecated
    onnx.checker.check_model(converted)


def test_the_same_version_refuses_an_operator_that_does_not_exist() -> None:
    model = parser.parse_model('<ir_version: 8, opset_import: ["" : 18]> '
                               "g (float[3] x) => (float[3] y) { y = Nothing(x) }")  # fmt: skip
    with pytest.raises(ConversionError, match="version 18 of its opset has no such operator"):
        ow.convert_version(model, 18)


@each(
    "change",
    [ow.quantize_weights, ow.to_half, ow.inline],
)
def test_other_tools_refuse_versions_that_do_not_exist_too(change):
    """They convert in place: one version at a time up to 2**31 - 1 takes hours."""
    function = '<domain: "d", opset_import: ["" : 18]> f (a) => (b) { b = Relu(a) }'
    text = "g (float[2,64] x) => (float[2,64] y) { z = MatMul(x, w) y = d.f(z) }"
    model = model_of(18, text, function, imports=', "d" : 1')
    model.functions[0].opset_import[0].version = 2**31 - 1
    weight = onnx.numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    model.graph.initializer.append(weight)
    with pytest.raises(ConversionValueError, match=r"OW872.*`f`.* is 2147483647"):
        change(model)


def test_half_precision_of_a_function_of_another_version():
    function = '<domain: "d", opset_import: ["" : 17]> f (a) => (b) { b = Relu(a) }'
    model = model_of(18, "g (float[2] x) => (float[2] y) { y = d.f(x) }", function,
                     imports=', "d" : 1')  # fmt: skip
    half = ow.to_half(model, io="half")
    assert [n.op_type for n in half.graph.node] == ["Relu"]


@pytest.mark.parametrize("domain", ["ai.onnx.ml", "ai.onnx.preview.training"])
def test_a_domain_that_the_model_does_not_import_is_refused(domain: str) -> None:
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float x) => (float y) { y = Abs(x) }'
    with pytest.raises(ConversionValueError, match="OW872.*does not import the domain"):
        ow.convert_version(onnx.parser.parse_model(text), 18, domains={domain: 1})
