"""Extracting, composing, shapes, names and weights of finished models."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import numpy_helper, parser

import onnxwright as ow
from onnxwright.errors import ModelToolError
from tests.versions.backend_cases import run, same

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(1, 3, 4)


def model_of(text, functions="", version=18, imports="", **arrays):
    head = f'<ir_version: 10, opset_import: ["" : {version}{imports}]>'
    model = parser.parse_model(f"{head} {text} {functions}")
    for name, array in arrays.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return model


def checked(model):
    onnx.checker.check_model(model, full_check=True)
    return model


def names(infos):
    return [i.name for i in infos]


BRANCHES = """g (float[1,3,4] x, bool c) => (float[3,4] y) {
    s = Constant<value=int64[2]{3,4}>()
    r = Reshape(x, s)
    big = Exp(r)
    q = If(c) <then_branch = t () => (float[3,4] p) { p = Add(big, w) },
               else_branch = e () => (float[3,4] k) { k = f.twice(r) }>
    y = Neg(q)
}"""
TWICE = '<domain: "f", opset_import: ["" : 18, "f" : 1]> twice (x) => (y) { y = f.sum(x, x) }'
SUM = '<domain: "f", opset_import: ["" : 18]> sum (a, b) => (c) { c = Add(a, b) }'
OTHER = '<domain: "f", opset_import: ["" : 18]> unused (a) => (c) { c = Neg(a) }'


def branches():
    return model_of(
        BRANCHES, TWICE + SUM + OTHER, imports=', "f" : 1', w=np.ones((3, 4), np.float32)
    )


class TestExtract:
    def test_bodies_captured_values_and_functions_come_along(self):
        part = checked(ow.extract(branches(), ["r", "c"], ["q"]))
        assert names(part.graph.input) == ["r", "c"]
        assert [n.op_type for n in part.graph.node] == ["Exp", "If"]
        assert names(part.functions) == ["twice", "sum"]
        whole = branches()
        whole.graph.output.append(onnx.helper.make_tensor_value_info("q", 1, [3, 4]))
        for flag in (True, False):
            expected = run(whole, [X, np.array(flag)])[1]
            assert same([expected], run(part, [X[0], np.array(flag)]))

    def test_a_captured_value_may_be_the_cut(self):
        part = checked(ow.extract(branches(), ["big", "r", "c"], ["q"]))
        assert [n.op_type for n in part.graph.node] == ["If"]

    def test_weights_that_are_not_needed_stay_behind(self):
        assert not ow.extract(branches(), "x", "big").graph.initializer

    def test_an_initializer_may_become_an_input_or_an_output(self):
        part = checked(ow.extract(branches(), ["big", "r", "c", "w"], ["q"]))
        assert names(part.graph.input)[-1] == "w"
        assert not part.graph.initializer
        part = checked(ow.extract(branches(), ["r"], ["big", "w"]))
        assert same([np.exp(X[0]), np.ones((3, 4), np.float32)], run(part, [X[0]]))

    @pytest.mark.parametrize(
        ("inputs", "outputs", "code"),
        [
            (["nothing"], ["y"], "OW876"),
            (["x"], ["p"], "OW876"),
            (["x"], ["y"], "OW877"),
            (["x"], [], "OW882"),
            (["x", "x"], ["r"], "OW882"),
            (["r"], ["r"], "OW879"),
            ([3], ["r"], "OW882"),
        ],
    )
    def test_refused(self, inputs, outputs, code):
        with pytest.raises(ModelToolError, match=code):
            ow.extract(branches(), inputs, outputs)

    def test_what_is_given_stays(self, tmp_path):
        model = branches()
        before = model.SerializeToString()
        ow.extract(model, ["r", "c", "w"], ["q"])
        assert model.SerializeToString() == before
        onnx.save(model, tmp_path / "a.onnx")
        path = ow.extract(tmp_path / "a.onnx", "x", "big", output=tmp_path / "b.onnx")
        assert names(onnx.load(path).graph.output) == ["big"]
        assert isinstance(ow.extract(ir.from_proto(model), "x", "big"), ir.Model)


A = "a (float[N,3] x) => (float[N,3] y, float[N,3] z) { t = Mul(x, w) y = Abs(t) z = f.g(t) }"
G = '<domain: "f", opset_import: ["" : 18]> g (x) => (y) { y = Neg(x) }'
B = "b (float[N,3] y, float[N,3] k) => (float[N] o) { t = Mul(y, w) u = f.g(t) v = Add(u, k) o = ReduceSum(v, ax) }"  # noqa: E501
G2 = '<domain: "f", opset_import: ["" : 18]> g (x) => (y) { y = Sqrt(x) }'
W = np.array([1, 2, 3], np.float32)


def first():
    return model_of(A, G, imports=', "f" : 1', w=W)


def second(function=G2):
    b = B.replace("ReduceSum(v", "ReduceSum<keepdims=0>(v")
    return model_of(b, function, imports=', "f" : 1', w=W + 1, ax=np.array([1]))


class TestCompose:
    def test_names_and_functions_that_clash(self):
        composed = checked(ow.compose(first(), second()))
        assert names(composed.graph.input) == ["x", "k"]
        assert names(composed.graph.output) == ["z", "o"]
        assert names(composed.functions) == ["g", "g_1"]
        x, k = np.abs(X[0, :, :3]), X[0, :, 1:]
        y, z = run(first(), [x])
        (o,) = run(second(), [y, k])
        assert same([z, o], run(composed, [x, k]))

    def test_equal_functions_once(self):
        assert names(ow.compose(first(), second(G)).functions) == ["g"]

    def test_prefix_and_pairs(self):
        composed = checked(ow.compose(first(), second(), {"z": "y"}, prefix="b_"))
        assert names(composed.graph.input) == ["x", "b_k"]
        assert names(composed.graph.output) == ["y", "b_o"]

    def test_chosen_outputs(self):
        composed = checked(ow.compose(first(), second(), outputs=["o", "y"]))
        assert names(composed.graph.output) == ["o", "y"]

    def test_opset_versions_meet(self):
        old = model_of(
            "b (float[N,3] y) => (float[N] o) { o = ReduceSum<axes=[1], keepdims=0>(y) }",
            version=11,
        )
        composed = checked(ow.compose(first(), old))
        assert {o.domain: o.version for o in composed.opset_import}[""] == 18

    def test_one_output_for_two_inputs_and_a_body(self):
        a = model_of("a (float[2] x) => (float[2] y) { y = Abs(x) }")
        b = model_of(
            "b (float[2] p, float[2] q, bool c) => (float[2] r, float[2] p2) { p2 = Identity(p) "
            "r = If(c) <then_branch = t () => (float[2] u) { u = Add(p, q) }, "
            "else_branch = e () => (float[2] v) { v = Sub(p, x) }> }",
            x=np.ones(2, np.float32),
        )
        composed = checked(ow.compose(a, b, [("y", "p"), ("y", "q")]))
        x = np.array([-1, 2], np.float32)
        for flag in (True, False):
            want = run(b, [np.abs(x), np.abs(x), np.array(flag)])
            assert same(want, run(composed, [x, np.array(flag)]))

    @pytest.mark.parametrize(
        ("io_map", "code"),
        [
            ({"y": "nothing"}, "OW876"),
            ({"no": "y"}, "OW876"),
            ([("y", "k"), ("z", "k")], "OW882"),
            ({"z": "k"}, "OW879"),
        ],
    )
    def test_refused(self, io_map, code):
        with pytest.raises(ModelToolError, match=code):
            ow.compose(first(), second(), io_map)


class TestSetShapes:
    def test_dynamic_and_fixed(self):
        model = model_of(
            "g (float[1,3,4] x) => (float[1,12] y) { s = Constant<value=int64[2]{0,-1}>() "
            "y = Reshape(x, s) }"
        )
        dynamic = checked(ow.set_shapes(model, {"x": ["batch", None, "seq"]}))
        assert "float[batch,3,seq] x" in onnx.printer.to_text(dynamic)
        x = np.ones((5, 3, 7), np.float32)
        assert run(dynamic, [x])[0].shape == (5, 21)
        back = ow.set_shapes(dynamic, dims={"batch": 2, "seq": "length"})
        # onnx before 1.22 prints such a dimension without quotes.
        text = onnx.printer.to_text(back).replace('"', "")
        assert "float[2,3,length] x) => (float[2,3*length] y)" in text

    @pytest.mark.parametrize(
        ("body", "blamed"),
        [
            ("s = Constant<value=int64[2]{2,6}>() y = Reshape(x, s)", "Reshape"),
            ("s = Constant<value=int64[2]{2,-1}>() r = Reshape(x, s) y = MatMul(r, w)", "MatMul"),
            ("o = ConstantOfShape(k) q = Concat<axis=2>(x, o) y = Reshape(q, t)", None),
        ],
    )  # fmt: skip
    def test_sizes_that_are_baked_in(self, body, blamed):
        model = model_of(
            f"g (float[1,3,4] x) => (float[a,b] y) {{ {body} }}",
            w=np.ones((6, 2), np.float32),
            t=np.array([0, -1]),
            k=np.array([1, 3, 4]),
        )
        with pytest.raises(ModelToolError, match="OW880") as caught:
            ow.set_shapes(model, {"x": ["batch", 3, 4]})
        if blamed:
            assert caught.value.diagnostic.operation == blamed
            assert "Reshape" in caught.value.diagnostic.cause

    def test_a_node_without_outputs_is_left(self):
        model = model_of("g (float[N] x) => (float[N] y) { y = Relu(x) }")
        model.graph.node.add(op_type="Reshape", input=["x", "x"])
        assert len(ow.set_shapes(model, {"x": [2]}).graph.node) == 2

    def test_shapes_inside_bodies(self):
        new_model = ow.set_shapes(branches(), {"x": [1, 3, 4]})
        branch = new_model.graph.node[3].attribute[0].g
        assert [d.dim_value for d in branch.output[0].type.tensor_type.shape.dim] == [3, 4]

    @pytest.mark.parametrize(
        ("shapes", "dims", "code"),
        [
            ({"nothing": [1]}, {}, "OW876"),
            ({"x": [1, 3]}, {}, "OW882"),
            ({"x": [1, 3, -4]}, {}, "OW882"),
            ({"x": "batch"}, {}, "OW882"),
            ({}, {"batch": 1}, "OW876"),
        ],
    )
    def test_refused(self, shapes, dims, code):
        with pytest.raises(ModelToolError, match=code):
            ow.set_shapes(branches(), shapes, dims=dims)


class TestRename:
    def test_everything_that_reads_a_value_follows(self):
        renamed = checked(
            ow.rename(
                branches(), inputs={"x": "ids"}, outputs={"y": "out"}, values={"w": "b", "r": "h"}
            )
        )
        assert names(renamed.graph.input) == ["ids", "c"]
        assert names(renamed.graph.initializer) == ["b"]
        for flag in (True, False):
            inputs = [X, np.array(flag)]
            assert same(run(branches(), inputs), run(renamed, inputs))

    def test_names_may_be_swapped(self):
        model = model_of("g (float[2] x, float[2] y) => (float[2] z) { z = Sub(x, y) }")
        renamed = ow.rename(model, inputs={"x": "y", "y": "x"})
        assert names(renamed.graph.input) == ["y", "x"]
        assert list(renamed.graph.node[0].input) == ["y", "x"]

    def test_sizes_inside_bodies(self):
        model = model_of(
            "g (float[N] x, bool c) => (float[N] y) { y = Loop (, c, x) <body = b (int64 i,"
            " bool k, float[N] v) => (bool k2, float[N] w) { k2 = Not(k) w = Neg(v) }> }"
        )
        renamed = checked(ow.rename(model, dims={"N": "batch"}))
        body = renamed.graph.node[0].attribute[0].g
        for value in (*renamed.graph.input[:1], body.input[2]):
            assert value.type.tensor_type.shape.dim[0].dim_param == "batch"

    @pytest.mark.parametrize("new", ["r", "p", "w", "", "q"])
    def test_taken(self, new):
        with pytest.raises(ModelToolError, match="OW879|OW882"):
            ow.rename(branches(), inputs={"x": new})

    def test_the_weights_of_what_is_given_keep_their_names(self):
        model = branches()
        ow.rename(model, values={"w": "b"})
        assert names(model.graph.initializer) == ["w"]


class TestRemoveMetadata:
    def described(self):
        """A model in which all that can have a doc string or metadata has both."""
        model = branches()
        model.graph.initializer.append(onnx.helper.make_tensor("texts", 8, [1], [b"text"]))
        messages = [model]
        for message in messages:
            for field, value in message.ListFields():
                if field.message_type:
                    messages += [value] if hasattr(value, "DESCRIPTOR") else value
            if "doc_string" in message.DESCRIPTOR.fields_by_name:
                message.doc_string = "of /home/me"
            if "metadata_props" in message.DESCRIPTOR.fields_by_name:
                for key in ("license", "trace", "trace.line"):
                    message.metadata_props.add(key=key, value="of /home/me")
        return model

    def test_everywhere(self):
        model = self.described()
        before = model.SerializeToString(deterministic=True)
        assert before.count(b"of /home/me") > 60
        assert b"/home/me" not in ow.remove_metadata(model).SerializeToString()
        assert b"/home/me" not in ow.remove_metadata(before)
        held = ir.from_proto(model)
        assert b"/home/me" not in ir.to_proto(ow.remove_metadata(held)).SerializeToString()
        assert ir.to_proto(held).SerializeToString(deterministic=True).count(b"/home/me") > 60
        assert model.SerializeToString(deterministic=True) == before, "it is not changed"
        for flag in (True, False):
            inputs = [X, np.array(flag)]
            stripped = checked(ow.remove_metadata(model))
            assert same(run(branches(), inputs), run(stripped, inputs))

    @pytest.mark.parametrize(
        ("keep", "keys"),
        [
            ("license", ["license"]),
            (["trace*"], ["trace", "trace.line"]),
            (["trace", "license", "none.*"], ["license", "trace"]),
        ],
    )
    def test_what_is_kept(self, keep, keys):
        stripped = ow.remove_metadata(self.described(), keep=keep)
        for message in (stripped, stripped.graph, stripped.graph.node[0], stripped.functions[0]):
            assert sorted(entry.key for entry in message.metadata_props) == keys
            assert message.doc_string == ""

    @pytest.mark.parametrize(("keep", "code"), [("licence", "OW876"), ([3], "OW882")])
    def test_what_is_kept_exists(self, keep, code):
        with pytest.raises(ModelToolError, match=code):
            ow.remove_metadata(self.described(), keep=keep)

    def test_weights_in_files_stay_there(self, tmp_path):
        model = model_of("g (float[300] x) => (float[300] y) { y = Mul(x, w) }", w=np.ones(300))
        model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones(300, np.float32), "w"))
        model.graph.initializer[0].doc_string = "of /home/me"
        onnx.save(
            model, tmp_path / "m.onnx", save_as_external_data=True, location="w", size_threshold=9
        )
        path = ow.remove_metadata(tmp_path / "m.onnx", output=tmp_path / "n.onnx")
        (weight,) = onnx.load(path, load_external_data=False).graph.initializer
        assert [e.value for e in weight.external_data if e.key == "location"] == ["w"]
        assert weight.doc_string == ""
        assert ow.run_model(path, [np.ones(300, np.float32)])[0].tolist() == [1.0] * 300


class TestWeights:
    def test_initializer_and_constant(self):
        new_model = ow.set_initializer(
            branches(), {"w": np.full((3, 4), 5, np.float32), "s": [4, 3]}
        )
        assert numpy_helper.to_array(new_model.graph.initializer[0])[0, 0] == 5
        assert new_model.graph.node[0].attribute[0].t.dims == [2]

    @pytest.mark.parametrize(
        ("values", "code"),
        [
            ({"w": np.ones((3, 4))}, "OW881"),
            ({"w": np.ones(3, np.float32)}, "OW881"),
            ({"x": X}, "OW876"),
            ({"w": object()}, "OW882"),
        ],
    )
    def test_refused(self, values, code):
        with pytest.raises(ModelToolError, match=code):
            ow.set_initializer(branches(), values)

    def test_inputs_and_back(self):
        model = branches()
        with_inputs = checked(ow.initializers_to_inputs(model))
        assert names(with_inputs.graph.input) == ["x", "c", "w"]
        assert names(with_inputs.graph.initializer) == ["w"]
        assert names(ow.inputs_to_initializers(with_inputs).graph.input) == ["x", "c"]
        bare = checked(ow.initializers_to_inputs(model, ["w"], keep_default=False))
        assert not bare.graph.initializer
        w = np.full((3, 4), 2, np.float32)
        fixed = checked(ow.inputs_to_initializers(bare, {"w": w}))
        inputs = [X, np.array(True)]
        assert same(run(bare, [*inputs, w]), run(fixed, inputs))
        with pytest.raises(ModelToolError, match="OW882"):
            ow.inputs_to_initializers(bare, ["w"])
        assert names(model.graph.input) == ["x", "c"]
