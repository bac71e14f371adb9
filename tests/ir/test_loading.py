"""Damaged and hostile models: every entry refuses them with an error of ours, and none hangs."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir
import pytest
from onnx import TensorProto, helper, parser

import onnxwright as ow
from onnxwright.cli.main import main
from onnxwright.errors import ModelError, OnnxwrightError
from onnxwright.ir.loading import open_model
from onnxwright.testing import assert_isomorphic, diff
from tests.harness.tables import check_rows, each

HEAD = '<ir_version: 10, opset_import: ["" : 18, "f" : 1]> '
X = np.ones(2, np.float32)


def model(body: str = "y = Add(x, w)") -> onnx.ModelProto:
    """A model that reads an initializer `w`, which a test adds."""
    return parser.parse_model(f"{HEAD} g (float[2] x) => (float[2] y) {{ {body} }}")


def with_tensor(**fields: Any) -> onnx.ModelProto:
    """A model with one initializer."""
    proto = model()
    proto.graph.initializer.add(**{"name": "w", "data_type": 1, "dims": [2], **fields})
    return proto


def with_external(**entries: str) -> onnx.ModelProto:
    """A model whose initializer is in another file."""
    proto = with_tensor(data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        proto.graph.initializer[0].external_data.add(key=key, value=value)
    return proto


def with_sparse(dims: list[int], indices: list[int]) -> onnx.ModelProto:
    """A model with a sparse initializer of two values."""
    proto = model()
    sparse = proto.graph.sparse_initializer.add(dims=dims)
    sparse.values.CopyFrom(helper.make_tensor("w", 1, [2], [1.0, 2.0]))
    sparse.indices.CopyFrom(helper.make_tensor("i", 7, [len(indices)], indices))
    return proto


def doubling(count: int) -> onnx.ModelProto:
    """Functions that each call the next one twice."""
    text = f"{HEAD} g (float[2] x) => (float[2] y) {{ y = f.f0(x) }}"
    for n in range(count):
        text += (
            f'<domain: "f", opset_import: ["" : 18, "f" : 1]> f{n} (a) => (c)'
            f" {{ b = f.f{n + 1}(a) c = f.f{n + 1}(b) }}"
        )
    text += f'<domain: "f", opset_import: ["" : 18]> f{count} (a) => (c) {{ c = Relu(a) }}'
    return parser.parse_model(text)


def recursive() -> onnx.ModelProto:
    """A function that calls itself in a branch."""
    return parser.parse_model(
        f"{HEAD} g (float[2] x) => (float[2] y) {{ y = f.f(x) }}"
        '<domain: "f", opset_import: ["" : 18, "f" : 1]> f (a) => (c) { c = f.f(a) }'
    )


def nested(depth: int) -> onnx.ModelProto:
    """Graphs in each other."""
    proto = model("c = Constant<value_int = 1>() y = Identity(x)")
    graph = proto.graph
    for n in range(depth):
        node = graph.node.add(op_type="If", input=["c"], output=[f"q{n}"])
        node.attribute.add(name="else_branch", type=onnx.AttributeProto.GRAPH).g.name = f"e{n}"
        graph = node.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH).g
        graph.name = f"g{n}"
    return proto


def edited(change: Callable[[onnx.ModelProto], Any], body: str = "y = Relu(x)") -> onnx.ModelProto:
    """A sound model with one thing changed."""
    proto = model(body)
    change(proto)
    return proto


def constant_without(name: str, kind: int) -> onnx.ModelProto:
    """A Constant whose attribute has no value."""
    proto = model("c = Constant<value_int = 1>() y = Relu(x)")
    attribute = proto.graph.node[0].attribute[0]
    attribute.Clear()
    attribute.name, attribute.type = name, kind
    return proto


def not_utf8(tag: bytes) -> bytes:
    """Bytes of a model in which a name is not UTF-8."""
    return model("y = Relu(x)").SerializeToString().replace(tag, b"\xff" * len(tag))


# What is wrong, and the code it gets.
DAMAGED: dict[str, tuple[Callable[[], Any], str]] = {
    "too few raw bytes": (lambda: with_tensor(raw_data=b"1234"), "OW750"),
    "a huge shape": (lambda: with_tensor(dims=[1 << 40], raw_data=b"1234"), "OW750"),
    "a shape that overflows": (lambda: with_tensor(dims=[1 << 62, 1 << 62, 4]), "OW750"),
    "no data": (lambda: with_tensor(), "OW750"),
    "two kinds of data": (lambda: with_tensor(raw_data=b"12345678", float_data=[1, 2]), "OW750"),
    "the wrong field": (lambda: with_tensor(int64_data=[1, 2]), "OW750"),
    "an unknown type": (lambda: with_tensor(data_type=77, raw_data=b"12345678"), "OW750"),
    "no type": (lambda: with_tensor(data_type=0, raw_data=b"12345678"), "OW750"),
    "a negative dimension": (lambda: with_tensor(dims=[-2], raw_data=b"12345678"), "OW750"),
    "strings in raw data": (lambda: with_tensor(data_type=8, raw_data=b"12345678"), "OW750"),
    "numbers too large": (lambda: with_tensor(data_type=3, int32_data=[1, 300]), "OW750"),
    "a segment": (lambda: with_tensor(raw_data=b"12345678", segment={"begin": 0}), "OW750"),
    "an absolute path": (lambda: with_external(location="/etc/passwd"), "OW743"),
    "a path upward": (lambda: with_external(location="../w.bin"), "OW743"),
    "a path upward on Windows": (lambda: with_external(location="..\\w.bin"), "OW743"),
    "a drive": (lambda: with_external(location="C:\\w.bin"), "OW743"),
    "an offset that is not a number": (lambda: with_external(location="w", offset="x"), "OW743"),
    "a negative length": (lambda: with_external(location="w", length="-8"), "OW743"),
    "a name with a NUL": (lambda: with_external(location="w\0"), "OW743"),
    "a huge sparse tensor": (lambda: with_sparse([1 << 20, 1 << 20], [0, 1]), "OW751"),
    "a sparse index outside": (lambda: with_sparse([4], [0, 4]), "OW750"),
    "a negative sparse index": (lambda: with_sparse([4], [0, -1]), "OW750"),
    "sparse indices of another count": (lambda: with_sparse([4], [0, 1, 2]), "OW750"),
    "exponential expansion": (lambda: doubling(40), "OW751"),
    "functions too deep": (lambda: doubling_chain(300), "OW751"),
    "recursion": (recursive, "OW744"),
    "nested graphs": (lambda: nested(60), "OW751"),
    "a value defined twice": (lambda: model("y = Relu(x) y = Neg(x)"), "OW744"),
    "an attribute given twice": (
        lambda: model("y = LeakyRelu<alpha = 1.0, alpha = 2.0>(x)"),
        "OW744",
    ),
    "an initializer given twice": (
        lambda: edited(
            lambda m: m.graph.initializer.extend([helper.make_tensor("w", 1, [2], [1.0, 2.0])] * 2)
        ),
        "OW744",
    ),
    "an attribute of two types": (
        lambda: edited(lambda m: m.graph.node[0].attribute.add(name="a", type=1, i=3)),
        "OW744",
    ),
    "values in a cycle": (lambda: model("y = Add(x, a) a = Relu(y)"), "OW744"),
    "two versions of a domain": (
        lambda: edited(lambda m: m.opset_import.add(domain="", version=7)),
        "OW744",
    ),
    "a node without an operator": (
        lambda: edited(lambda m: setattr(m.graph.node[0], "op_type", "")),
        "OW744",
    ),
    "a type of unknown elements": (
        lambda: edited(lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 99)),
        "OW750",
    ),
    "a Loop without a body": (lambda: model("c = Loop(x) y = Relu(x)"), "OW744*"),
    "an output without a name": (
        lambda: edited(lambda m: setattr(m.graph.output[0], "name", "")),
        "OW744*",
    ),
    "a huge opset version": (
        lambda: edited(lambda m: setattr(m.opset_import[0], "version", 1 << 40)),
        "OW744",
    ),
    "a map without a key type": (
        lambda: edited(lambda m: m.graph.output[0].type.map_type.value_type.SetInParent()),
        "OW750",
    ),
    "the name of an attribute parameter that is not UTF-8": (
        lambda: (
            parser.parse_model(
                f"{HEAD} g (float[2] x) => (float[2] y) {{ y = f.one(x) }}"
                '<domain: "f", opset_import: ["" : 18]> one <kkkk: float = 1.0> (a) => (c)'
                " { c = LeakyRelu<alpha: float = @kkkk>(a) }"
            )
            .SerializeToString()
            .replace(b"kkkk", b"\xff" * 4)
        ),
        "OW744",
    ),
    "an operator's name that is not UTF-8": (lambda: not_utf8(b"Relu"), "OW744"),
    "bytes that are not a model": (lambda: b"\x08\x07garbage", "OW741"),
    "no bytes": (lambda: b"", "OW741"),
    "half a model": (lambda: model("y = Relu(x)").SerializeToString()[:-20], "OW741"),
}


def doubling_chain(count: int) -> onnx.ModelProto:
    """Functions that each call the next one."""
    proto = doubling(1)
    del proto.functions[:]
    for n in range(count):
        body = [helper.make_node(f"f{n + 1}" if n + 1 < count else "Relu", ["a"], ["c"])]  # noqa: TID251 - as others write it
        body[0].domain = "f" if n + 1 < count else ""
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
        proto.functions.append(helper.make_function("f", f"f{n}", ["a"], ["c"], body, opsets))
    return proto


ENTRIES: dict[str, Callable[[Any], Any]] = {
    "open_model": open_model,
    "show": lambda m: str(ow.show(m)),
    "to_script": ow.to_script,
    "diff": lambda m: str(diff(m, m)),
    "debug": lambda m: ow.debug(m, [X]),
    "run_model": lambda m: ow.run_model(m, [X]),
    "CompiledModel": ow.CompiledModel,
    "first_divergence": lambda m: ow.first_divergence(m, m, [X]),
    "assert_isomorphic": lambda m: assert_isomorphic(m, m),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_damaged_models_are_refused(entry: str) -> None:
    def check(name: str) -> None:
        make, code = DAMAGED[name]
        if code.endswith("*") and entry in ("show", "diff", "assert_isomorphic"):
            ENTRIES[entry](make())  # what is only shown or compared may be incomplete
            return
        with pytest.raises(ModelError) as caught:
            ENTRIES[entry](make())
        assert caught.value.diagnostic.code == code.rstrip("*")
        assert caught.value.diagnostic.span is not None
        assert caught.value.diagnostic.span.file == __file__

    check_rows(DAMAGED, check)


@pytest.mark.parametrize("name", DAMAGED)
def test_commands_end_with_status_2(name: str, tmp_path, capsys) -> None:
    damaged, code = DAMAGED[name][0](), DAMAGED[name][1]
    path = tmp_path / "m.onnx"
    path.write_bytes(damaged if isinstance(damaged, bytes) else damaged.SerializeToString())
    if code.endswith("*"):
        assert main(["show", str(path)]) == 0
        assert main(["to-script", str(path)]) == 2
        return
    for command in (["show"], ["to-script"], ["run", "--random"], ["run", "--trace", "--random"]):
        assert main([command[0], str(path), *command[1:]]) == 2
    for command in (["diff"], ["compare", "--random"]):
        assert main([command[0], str(path), str(path), *command[1:]]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert "Traceback" not in err
    assert "bug" not in err


def test_sound_models_of_every_kind_are_taken(tmp_path: Path) -> None:
    proto = model("y = Relu(x)")
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    for source in (proto, proto.SerializeToString(), path, str(path), onnx_ir.from_proto(proto)):
        assert "Relu" in str(ow.show(source))
        assert ow.run_model(source, [X])[0].tolist() == [1, 1]
        assert "Relu" in ow.to_script(source)
    with path.open("rb") as file:
        assert not diff(file, proto)
    with pytest.raises(ModelError, match="binary mode"):
        ow.show(io.StringIO("text"))


# What can be shown, written as Python and compared, and not be run or changed.
def with_graph_parameter() -> onnx.ModelProto:
    """A function whose node reads its graph from an attribute of the function."""
    proto = parser.parse_model(
        f"{HEAD} g (float[2] x) => (float[2] y) {{ y = f.one(x) }}"
        '<domain: "f", opset_import: ["" : 18]> one <body> (a) => (c) '
        "{ c = Scan<num_scan_inputs = 1>(a) }"
    )
    proto.functions[0].node[0].attribute.add(name="body", type=5, ref_attr_name="body")
    return proto


NOT_RUN: dict[str, Callable[[], onnx.ModelProto]] = {
    "a tensor attribute without a tensor": lambda: constant_without("value", 4),
    "a sparse attribute without a tensor": lambda: constant_without("sparse_value", 11),
    "an attribute without type and value": lambda: constant_without("value_int", 0),
    "an attribute without a type": lambda: edited(
        lambda m: setattr(m.graph.node[0].attribute[0], "type", 0), "y = LeakyRelu<alpha = 1.0>(x)"
    ),
    "an attribute of the wrong type": lambda: model("y = LeakyRelu<alpha = 1>(x)"),
    "a parameter outside a function": lambda: edited(
        lambda m: m.graph.node[0].attribute.add(name="alpha", type=1, ref_attr_name="k"),
        "y = LeakyRelu(x)",
    ),
    "a Cast to a type that is not one": lambda: model("y = Cast<to = 99>(x)"),
    "a Cast to no type": lambda: model("y = Cast<to = 0>(x)"),
    "a branch without outputs": lambda: model(
        "c = Cast<to = 9>(x) y = If(c) <then_branch = t () => () { p = Relu(x) },"
        " else_branch = e () => (float[2] r) { r = Neg(x) }>"
    ),
    "a Loop whose body lacks an input": lambda: model(
        "y = Loop(, , x) <body = b (int64 i, bool c) => (bool c, float[2] r) { r = Neg(x) }>"
    ),
    "a Loop whose body lacks an output": lambda: model(
        "y = Loop(, , x) <body = b (int64 i, bool c, float[2] v) => (bool c) { r = Neg(v) }>"
    ),
    "a Loop without the values that its body takes": lambda: model(
        "y = Loop() <body = b (int64 i, bool c, float[2] v) => (bool c, float[2] r) { r = Neg(v) }>"
    ),
    "a branch that gives a value from outside": lambda: model(
        "c = Cast<to = 9>(x) y = If(c) <then_branch = t () => (float[2] x) { p = Relu(x) },"
        " else_branch = e () => (float[2] r) { r = Neg(x) }>"
    ),
    "more outputs than the operator has": lambda: model("y, z = Relu(x)"),
    "a call with too many inputs": lambda: edited(
        lambda m: m.functions.add(name="one", domain="f"), "y = f.one(x)"
    ),
}


@each("name", NOT_RUN)
def test_what_cannot_be_gone_through_is_refused(name: str) -> None:
    proto = NOT_RUN[name]()
    for change in (
        lambda m: ow.debug(m, [X]),
        lambda m: ow.first_divergence(m, m, [X]),
        ow.optimize,
        lambda m: ow.convert_version(m, 21),
        lambda m: ow.extract(m, ["x"], ["y"]),
        lambda m: ow.set_shapes(m, {"x": ["N"]}),
    ):
        with pytest.raises(ModelError, match="OW744"):
            change(proto)
    for entry in ("show", "diff", "assert_isomorphic", "to_script"):
        ENTRIES[entry](proto)


def test_a_graph_that_a_call_gives_is_refused_by_what_looks_into_functions() -> None:
    proto = with_graph_parameter()
    for change in (ow.optimize, lambda m: ow.convert_version(m, 21),
                   lambda m: ow.set_shapes(m, {"x": [2]})):  # fmt: skip
        with pytest.raises(ModelError, match="OW744.*an attribute of the function"):
            change(proto)
    with pytest.raises(OnnxwrightError, match="OW510.*`Scan` needs the attribute `body"):
        ow.debug(proto, [X])  # the call does not give it


def test_strings_that_are_not_utf8_are_refused_when_run() -> None:
    proto = parser.parse_model(f"{HEAD} g () => (string[1] y) {{ y = Identity(w) }}")
    proto.graph.initializer.add(name="w", data_type=TensorProto.STRING, dims=[1],
                               string_data=[b"\xff"])  # fmt: skip
    with pytest.raises(ModelError, match="tensor `w`.*not UTF-8"):
        ow.debug(proto, [])


UNSORTED = {
    "the main graph": model("y = Relu(b) b = Neg(x)"),
    "a branch": model(
        "c = Constant<value_int = 1>() d = Cast<to = 9>(c) y = If(d) <then_branch = t ()"
        " => (float[2] p) { p = Relu(q) q = Neg(x) }, else_branch = e () => (float[2] r)"
        " { r = Relu(x) }>"
    ),
    "what a branch reads": model(
        "c = Constant<value_int = 1>() d = Cast<to = 9>(c) y = If(d) <then_branch = t ()"
        " => (float[2] p) { p = Relu(q) }, else_branch = e () => (float[2] r)"
        " { r = Relu(q) }> q = Neg(x)"
    ),
    "a function": parser.parse_model(
        f"{HEAD} g (float[2] x) => (float[2] y) {{ y = f.one(x) }}"
        '<domain: "f", opset_import: ["" : 18]> one (a) => (c) { c = Relu(b) b = Neg(a) }'
    ),
}


@pytest.mark.parametrize("name", UNSORTED)
def test_nodes_that_are_not_sorted_are_sorted(name: str) -> None:
    proto = UNSORTED[name]
    before = proto.SerializeToString()
    assert ow.debug(proto, [X]).outputs["y"].tolist() == [0, 0]
    assert ow.first_divergence(proto, proto, [X]) is None
    for change in (
        ow.optimize,
        lambda m: ow.convert_version(m, 21),
        lambda m: ow.extract(m, ["x"], ["y"]),
        lambda m: ow.set_shapes(m, {"x": ["N"]}),
    ):
        assert ow.run_model(change(proto), [X])[0].tolist() == [0, 0]
    assert proto.SerializeToString() == before


@each("name", UNSORTED)
def test_an_object_of_onnx_ir_is_not_sorted_for_the_user(name: str) -> None:
    ir_model = onnx_ir.from_proto(UNSORTED[name])
    for change in (ow.optimize, lambda m: ow.convert_version(m, 21)):
        with pytest.raises(ModelError, match="which comes later"):
            change(ir_model)


def test_values_in_a_cycle_through_a_branch_are_refused() -> None:
    body = (
        "c = Cast<to = 9>(y) y = If(c) <then_branch = t () => (float[2] p) { p = Relu(x) },"
        " else_branch = e () => (float[2] r) { r = Neg(x) }>"
    )
    inner = "d = Cast<to = 9>(x) y = If(d) <then_branch = t () => (float[2] p) { p = Relu(q) },"
    inner += " else_branch = e () => (float[2] r) { r = Neg(x) }> q = Neg(y)"
    for text in (body, inner):
        with pytest.raises(ModelError, match="computed from each other"):
            open_model(model(text))


FILES: dict[str, Callable[[Path], Any]] = {
    "missing": lambda p: None,
    "a FIFO": os.mkfifo,
    "a folder": lambda p: p.mkdir(),
    "an endless device": lambda p: p.symlink_to("/dev/zero"),
    "a link out of the folder": lambda p: p.symlink_to(_outside(p)),
    "a hard link out of the folder": lambda p: os.link(_outside(p), p),
    "too short": lambda p: p.write_bytes(b"1234"),
}


def _outside(path: Path) -> Path:
    secret = path.parent.parent / "secret"
    secret.write_bytes(b"12345678")
    return secret


@pytest.mark.parametrize("what", FILES)
def test_external_data_stays_in_the_folder(what: str, tmp_path: Path) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    FILES[what](folder / "w.bin")
    path = folder / "m.onnx"
    path.write_bytes(with_external(location="w.bin").SerializeToString())
    for entry in ("debug", "run_model", "CompiledModel", "first_divergence", "to_script"):
        with pytest.raises(ModelError, match="OW743"):
            ENTRIES[entry](path)
    if what != "missing":
        for entry in ("show", "diff", "assert_isomorphic"):
            with pytest.raises(ModelError, match="OW743"):
                ENTRIES[entry](path)


def test_external_data_inside_the_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(b"....." + np.array([1, 2], np.float32).tobytes())
    path = tmp_path / "m.onnx"
    path.write_bytes(with_external(location="w.bin", offset="5", length="8").SerializeToString())
    assert ow.debug(path, [X]).outputs["y"].tolist() == [2, 3]


FUNCTIONS = {
    "a cycle": "{ c = Relu(b) b = Neg(c) }",
    "not sorted": "{ c = Relu(b) b = Neg(a) }",
    "defined twice": "{ c = Relu(a) c = Neg(a) }",
    "not defined": "{ c = Relu(nothing) }",
}


@each("inline", [False, True])
@each("name", FUNCTIONS)
def test_a_builder_refuses_damaged_functions(name: str, inline: bool) -> None:
    text = f'<opset_import: ["" : 18], domain: "f"> one (a) => (c) {FUNCTIONS[name]}'
    function = parser.parse_function(text)
    g = ow.GraphBuilder(opset=18)
    x = g.input("x", ow.FLOAT[2])
    with pytest.raises(ModelError, match="OW744"):
        g.call(function, x, inline=inline)


def test_a_builder_refuses_damaged_tensors() -> None:
    g = ow.GraphBuilder(opset=18)
    with pytest.raises(ModelError, match="OW750"):
        g.initializer(TensorProto(name="w", data_type=1, dims=[1 << 40], raw_data=b"1234"))


VALUES: dict[str, Callable[[], Any]] = {
    "too few bytes": lambda: TensorProto(data_type=1, dims=[4], raw_data=b"1234"),
    "no type": lambda: TensorProto(dims=[1], raw_data=b"1234"),
    "another file": lambda: TensorProto(
        data_type=2, dims=[4], data_location=TensorProto.EXTERNAL,
        external_data=[onnx.StringStringEntryProto(key="location", value="/etc/passwd")],
    ),
    "cut": lambda: b"\x08\x02\x10",
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_damaged_values_for_a_run_are_refused(name: str, tmp_path, capsys) -> None:
    damaged = VALUES[name]()
    (tmp_path / "m.onnx").write_bytes(model("y = Relu(x)").SerializeToString())
    (tmp_path / "x.pb").write_bytes(
        damaged if isinstance(damaged, bytes) else damaged.SerializeToString()
    )
    assert main(["run", str(tmp_path / "m.onnx"), "--inputs", str(tmp_path / "x.pb")]) == 2
    err = capsys.readouterr().err
    assert "bug" not in err
    assert ".pb" in err


LOOP = """{HEAD} g (float[2] x) => (float[2] y) {{
    t = Constant<value = bool {{{start}}}>()  n = Constant<value = int64 {{3}}>()
    y = Loop({given}, x) <body = b (int64 i, bool c, float[2] v) => (bool {d}, float[2] w)
        {{ {how}  w = Relu(v) }}> }}"""


def loop(inputs: str, how: str = "d = Identity(c)", start: int = 1) -> onnx.ModelProto:
    """A Loop with its trip count and condition, and how its body computes the next condition."""
    d = "d" if how else "c"
    return parser.parse_model(LOOP.format(HEAD=HEAD, given=inputs, how=how, start=start, d=d))


ENDLESS = {
    "a condition that is passed on": loop('"", ""', ""),
    "a condition that is copied": loop('"", ""'),
    "a constant": loop('"", t', "d = Constant<value = bool {1}>()"),
}
ENDING = {
    "a trip count": loop('n, ""'),
    "a constant that ends it": loop('"", ""', "d = Constant<value = bool {0}>()"),
    "a condition that is false": loop('"", t', start=0),
}


@each("what", ENDLESS)
def test_a_loop_that_never_ends_is_not_run(what: str) -> None:
    with pytest.raises(ModelError, match=r"OW744.*`Loop`: it never ends"):
        ow.CompiledModel(ENDLESS[what])
    assert "Loop" in str(ow.show(ENDLESS[what]))


@each("what", ENDING)
def test_a_loop_that_ends_is_run(what: str) -> None:
    outputs = ow.run_model(ENDING[what], [np.ones(2, np.float32)])
    np.testing.assert_array_equal(outputs[0], np.ones(2))


def test_data_behind_a_link_inside_the_folder_is_read_everywhere(tmp_path: Path) -> None:
    proto = parser.parse_model(f"{HEAD} g (float[2] x) => (float[2] y) {{ y = Add(x, w) }}")
    weight = proto.graph.initializer.add(name="w", data_type=1, dims=[2], data_location=1)
    weight.external_data.add(key="location", value="link.bin")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "w.bin").write_bytes(np.array([3, 4], np.float32).tobytes())
    (tmp_path / "link.bin").symlink_to(Path("data") / "w.bin")
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    feeds = [np.zeros(2, np.float32)]
    np.testing.assert_array_equal(ow.run_model(str(path), feeds)[0], [3, 4])
    np.testing.assert_array_equal(np.asarray(ow.debug(str(path), feeds).outputs["y"]), [3, 4])
    assert "3.0, 4.0" in ow.to_script(str(path))
