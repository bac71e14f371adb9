# ruff: noqa: B007 - programs under test do this on purpose
"""Models and function protos that went wrong elsewhere: names, types, documents, subgraphs."""

from __future__ import annotations

import inspect
import pickle
from typing import TypeVar

import numpy as np
import onnx
import pytest

import onnxwright as ow
from onnxwright import BOOL, DOUBLE, FLOAT, INT64, Opset, script
from onnxwright import opset18 as op
from onnxwright.errors import OnnxwrightError
from tests.footguns.agreement import agrees

X = np.array([1.0, -2.0, 3.0], np.float32)
M = np.arange(6, dtype=np.float32).reshape(2, 3)


def kind(value: onnx.ValueInfoProto) -> tuple[int, list]:
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return tensor.elem_type, ["?"]
    return tensor.elem_type, [d.dim_param or d.dim_value or None for d in tensor.shape.dim]


def test_script_with_and_without_parentheses(agree) -> None:
    @script
    def bare(x: FLOAT["N"]) -> FLOAT["N"]:
        return x + 1

    @script()
    def called(x: FLOAT["N"]) -> FLOAT["N"]:
        return x + 1

    @script(Opset("mine", 4), default_opset=op)
    def domain(x: FLOAT["N"]) -> FLOAT["N"]:
        return x + 1

    @script("mine.too", version=2)
    def text(x: FLOAT["N"]) -> FLOAT["N"]:
        return x + 1

    for f in (bare, called, domain, text):
        agree(f, X, expected=X + 1)
    assert domain.to_function_proto().domain == "mine"
    assert text.to_function_proto().domain == "mine.too"


def test_the_readme_example(agree) -> None:
    @script()
    def hardmax(X, axis: int):
        largest = op.ArgMax(X, axis=axis, keepdims=0)
        sizes = op.Shape(X, start=axis)
        depth = op.Reshape(op.GatherElements(sizes, [0]), [-1])
        off_on = op.CastLike([0, 1], X)
        return op.OneHot(largest, depth, off_on, axis=axis)

    @script()
    def sample_model(X: FLOAT[64, 128], Wt: FLOAT[128, 10], Bias: FLOAT[10]) -> FLOAT[64, 10]:
        scores = op.MatMul(X, Wt) + Bias
        return hardmax(scores, axis=1)

    rng = np.random.default_rng(0)
    x, w, b = (rng.normal(size=s).astype(np.float32) for s in ((64, 128), (128, 10), (10,)))
    expected = np.eye(10, dtype=np.float32)[(x @ w + b).argmax(1)]
    # onnx.reference takes a scalar depth only.
    model = agree(sample_model, x, w, b, expected=expected, reference=False)
    assert [f.name for f in model.functions] == ["hardmax"]
    assert kind(model.graph.output[0]) == (1, [64, 10])
    assert [i.name for i in model.graph.input] == ["X", "Wt", "Bias"]


def test_types_given_to_an_unannotated_function(agree) -> None:
    @script()
    def f(x, y):
        return op.Add(x, y) * 2

    model = agree(f, X, X, expected=X * 4, input_types=[FLOAT["N"], FLOAT["N"]])
    assert kind(model.graph.output[0]) == (1, ["N"])
    model = f.to_model_proto(io_types=DOUBLE["K"])
    assert {kind(v)[0] for v in [*model.graph.input, *model.graph.output]} == {11}
    model = f.to_model_proto(input_types=[FLOAT[3], FLOAT[3]], output_types=[FLOAT[3]])
    assert kind(model.graph.output[0]) == (1, [3])


def test_inputs_without_a_type(refused) -> None:
    """A model needs the element types of its inputs."""

    @script()
    def f(x, y):
        return op.Add(x, y)

    error = refused(f)
    assert "input_types" in str(error)


def test_outputs_are_inferred() -> None:
    @script()
    def f(x: FLOAT["N", 3]):
        return op.Shape(x), x[0], x > 0, x @ x.T, op.ReduceSum(x, [1])

    kinds = [kind(o) for o in f.to_model_proto().graph.output]
    assert kinds == [(7, [2]), (1, [3]), (9, ["N", 3]), (1, ["N", "N"]), (1, ["N", 1])]


def test_docstrings_options_and_metadata() -> None:
    @script()
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        """What it does."""
        return x + 1

    assert "What it does." in f.to_function_proto().doc_string
    model = f.to_model_proto(
        producer_name="me", doc_string="about", metadata={"k": "v"}, ir_version=9, opset_version=19
    )
    onnx.checker.check_model(model, full_check=True)
    assert model.producer_name == "me"
    assert "about" in (model.doc_string + model.graph.doc_string)
    assert {p.key: p.value for p in model.metadata_props}["k"] == "v"
    assert model.ir_version == 9
    assert {o.domain: o.version for o in model.opset_import}[""] == 19


def test_value_infos() -> None:
    @script()
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        y = x + 1
        return y * 2

    model = f.to_model_proto(value_infos={"y": FLOAT["N"]})
    assert "y" in [v.name for v in model.graph.value_info]


def test_names_of_values_are_the_names_of_variables() -> None:
    @script()
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        first = op.Abs(x)
        second = op.Neg(first)
        return op.Exp(second)

    model = f.to_model_proto()
    assert [n.output[0] for n in model.graph.node][:2] == ["first", "second"]


@agrees(X, expected=(X + 1, X + 1, X, X + 1))
def test_an_output_name_used_twice(x: FLOAT["N"]):
    """One value under two names, an input as an output, a constant as an output."""
    y = x + 1
    z = y
    return y, z, x, y


def test_a_function_that_returns_its_parameter_in_a_callee(agree) -> None:
    @script()
    def same(x: FLOAT["N"]):
        return x

    @script()
    def swap(x: FLOAT["N"], y: FLOAT["N"]):
        return y, x

    @script()
    def f(x: FLOAT["N"], y: FLOAT["N"]):
        a, b = swap(same(x), y)
        return a, b

    agree(f, X, X + 1, expected=(X + 1, X))


def test_an_unused_parameter(agree) -> None:
    @script()
    def f(x: FLOAT["N"], unused: INT64) -> FLOAT["N"]:
        return x

    model = agree(f, X, np.array(1), expected=X)
    assert [i.name for i in model.graph.input] == ["x", "unused"]


@agrees(expected=np.array([1, 2, 3], np.float32))
def test_no_parameters() -> FLOAT[3]:
    return op.Identity([1.0, 2.0, 3.0])


def test_origin_of_every_node() -> None:
    @script()
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        y = op.Abs(x)
        if y[0] > 0:
            y = op.Neg(y)
        return y

    seen = set()

    def walk(graph):
        for node in graph.node:
            seen.add(node.op_type)
            origin = {p.key: p.value for p in node.metadata_props}.get("onnxwright.origin", "")
            assert "test_models.py:" in origin, node.op_type
            for attribute in node.attribute:
                walk(attribute.g)

    walk(f.to_model_proto().graph)
    assert {"Abs", "If", "Neg"} <= seen


def test_generic_functions(agree) -> None:
    T = TypeVar("T", FLOAT, DOUBLE)

    @script()
    def f(x: T, y: T) -> T:
        return x * y + 1

    for dtype, annotation in ((np.float32, FLOAT["N"]), (np.float64, DOUBLE["N"])):
        x = X.astype(dtype)
        agree(f, x, x, expected=x * x + 1, io_types=annotation)


def test_a_union_annotation(agree) -> None:
    @script()
    def f(x: FLOAT | DOUBLE):
        return x + 1

    agree(f, X, expected=X + 1, input_types=[FLOAT["N"]])
    x = X.astype(np.float64)
    agree(f, x, expected=x + 1, input_types=[DOUBLE["N"]])
    with pytest.raises(OnnxwrightError):
        f.to_model_proto(input_types=[INT64["N"]])


@agrees(X, np.array(True), expected=X * 2 + 1)
@agrees(X, np.array(False), expected=-(X * 2))
def test_nested_def_as_if_branches(x: FLOAT["N"], flag: BOOL) -> FLOAT["N"]:
    y = x * 2

    def yes():
        return y + 1

    return op.If(flag, then_branch=yes, else_branch=lambda: op.Neg(y))


def test_nested_def_as_a_loop_body(agree) -> None:
    @script()
    def f(x: FLOAT["N"], n: INT64):
        step = x * 0.5

        def body(i, keep, carried):
            carried = carried + step
            return carried[0] < 3, carried, carried[0]

        last, firsts = op.Loop(n, True, x, body=body)
        return last, firsts

    # onnx.reference stacks the scalars of a Loop into a column.
    expected = (X * 3, np.array([1.5, 2, 2.5, 3], np.float32))
    agree(f, X, np.array(10), expected=expected, reference=False)


def test_nested_def_in_a_nested_def(agree) -> None:
    @script()
    def f(x: FLOAT["N", "M"]):
        offset = x[0, 0] + 10

        def outer(total, row):
            def inner(acc, item):
                acc = acc + item * offset
                return acc, acc

            last, _ = op.Scan(total, row, body=inner, num_scan_inputs=1)
            return last, last

        last, all_ = op.Scan(op.Identity(0.0), x, body=outer, num_scan_inputs=1)
        return last, all_

    sums = np.cumsum(M.sum(1) * 10).astype(np.float32)
    agree(f, M, expected=(sums[-1], sums))


@agrees(X, expected=(X.sum(), np.cumsum(X)))
def test_a_graph_decorated_function(x: FLOAT["N"]):
    @ow.graph()
    def body(total, item):
        total = total + item
        return total, total

    last, all_ = op.Scan(op.Identity(0.0), x, body=body, num_scan_inputs=1)
    return last, all_


def test_if_with_calls_in_branches(agree) -> None:
    """A function called only inside a branch is in the model."""

    @script()
    def inner(x: FLOAT["N"], k: float = 2.0):
        return x * k

    @script()
    def f(x: FLOAT["N"]):
        if x[0] > 0:
            y = inner(x)
        else:
            for _ in range(2):
                x = inner(x, k=3.0)
            y = x
        return y

    agree(f, X, expected=X * 2)
    agree(f, -X, expected=-X * 9)


def test_everything_pickles() -> None:
    for thing in (op, op.Add, FLOAT, FLOAT["N", 3], Opset("my.domain", 1)):
        assert pickle.loads(pickle.dumps(thing)) == thing


def test_signatures_and_help() -> None:
    assert "axis" in inspect.signature(op.Softmax).parameters
    assert "Softmax" in (op.Softmax.__doc__ or "") or "softmax" in (op.Softmax.__doc__ or "")

    @script()
    def f(x: FLOAT["N"], k: int = 2) -> FLOAT["N"]:
        return x * k

    assert list(inspect.signature(f).parameters) == ["x", "k"]


def test_eager_gives_back_what_went_in() -> None:
    @script()
    def f(x: FLOAT["N"]):
        return x + 1, op.Abs(x)

    found = f(X)
    assert isinstance(found, tuple)
    assert [type(value) for value in found] == [np.ndarray, np.ndarray]
    found = f(ow.Tensor(X))
    assert [type(value) for value in found] == [ow.Tensor, ow.Tensor]


def test_a_model_twice_has_the_same_bytes() -> None:
    @script()
    def f(x: FLOAT["N"], n: INT64):
        for i in range(n):
            if x[0] > i:
                x = x + [1.0, 2.0, 3.0]
        return x

    assert f.to_model_proto().SerializeToString() == f.to_model_proto().SerializeToString()


def test_compile_runs_the_whole_function() -> None:
    @script()
    def f(x: FLOAT["N"], k: float = 2.0):
        return x * k, x + k

    run = f.compile()
    one, two = run(X)
    np.testing.assert_array_equal(one, X * 2)
    np.testing.assert_array_equal(two, X + 2)


def test_small_graphs() -> None:
    """No identity, no cast to the same type, shared constants, folded constants."""

    @script()
    def f(x: FLOAT[2, 3]):
        y = x * 2.0
        z = y + 2.0
        n = x.shape[0] * x.shape[1]
        return (z + 2.0) * n, op.Cast(z, to=1) + (1.0 + 3.0) / 2

    model = f.to_model_proto()
    ops = [n.op_type for n in model.graph.node]
    assert "Identity" not in ops
    assert "Shape" not in ops
    assert "CastLike" not in ops
    assert ops.count("Constant") + len(model.graph.initializer) <= 2
    assert len(ops) - ops.count("Constant") <= 6


def test_static_loops_and_ifs_on_shapes_fold(agree) -> None:
    @script()
    def f(x: FLOAT[2, 3]):
        if x.shape[0] == 2 and len(x.shape) == 2:
            y = x + 1
        else:
            y = op.Concat(x[0, 0, 0, 0])
        return y

    model = agree(f, M, expected=M + 1)
    assert [n.op_type for n in model.graph.node if n.op_type != "Constant"] == ["Add"]


def test_assert_and_raise_on_static_facts(agree, refused) -> None:
    @script()
    def f(x: FLOAT["N", 3], k: int = 2):
        assert x.shape[1] == 3, "three columns"
        if k < 0:
            raise ValueError(f"k is {k}")
        return x * k

    agree(f, M, expected=M * 2)
    error = refused(f, "OW308", "k is -1", attributes={"k": -1})
    assert isinstance(error, OnnxwrightError)
    with pytest.raises(ValueError, match="k is -1"):
        f(M, k=-1)


def test_fstrings_dicts_and_sets_are_static(agree) -> None:
    @script()
    def f(x: FLOAT["N"], mode: str = "up"):
        table = {"up_x": 2.0, "down_x": 3.0}
        return x * table[f"{mode}_x"]

    agree(f, X, expected=X * 2)
    agree(f, X, expected=X * 3, attributes={"mode": "down"})


def test_strings_and_complex_tensors(agree) -> None:
    @script()
    def f(x: ow.STRING["N"]):
        return x == "b", op.Identity(x)

    x = np.array(["a", "b"], dtype=object)
    found = f(x)
    np.testing.assert_array_equal(found[0], [False, True])
    onnx.checker.check_model(f.to_model_proto(), full_check=True)


@agrees(X, np.array(3), expected=np.concatenate([X * 0, X, X * 2]))
def test_sequences(x: FLOAT["N"], n: INT64):
    parts = op.SequenceEmpty(dtype=1)
    for i in range(n):
        parts = op.SequenceInsert(parts, x * i)
    return op.ConcatFromSequence(parts, axis=0)


def test_a_thousand_scripts_decorate_fast(run_python) -> None:
    """Decorating registers; it imports and compiles nothing."""
    body = "\n".join(
        f"@script()\ndef f{k}(x: FLOAT['N']):\n    return op.Add(x, {k}.0)\n" for k in range(1000)
    )
    code = (
        "import sys, time\n"
        "from onnxwright import FLOAT, script, opset18 as op\n"
        f"text = {body!r}\n"
        "code = compile(text, '<thousand>', 'exec')\n"
        "start = time.process_time(); exec(code); took = time.process_time() - start\n"
        "assert not {'onnx', 'onnx_ir', 'onnxruntime', 'torch'} & set(sys.modules), 'imported'\n"
        "print(took)\n"
    )
    done = run_python("-c", code)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.5
