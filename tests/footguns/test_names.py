# ruff: noqa: B007, F401, F823, PT012, PT017, PTH123 - programs under test do this on purpose
"""Names, opsets and calls that went wrong elsewhere."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from onnxwright import DOUBLE, FLOAT, INT64, Opset, script
from onnxwright import opset15 as old
from onnxwright import opset18 as op
from onnxwright.errors import OnnxwrightError
from tests.footguns.agreement import agrees, from_text, refuses
from tests.harness.tables import each

X = np.array([1.0, -2.0, 3.0], np.float32)
M = np.arange(6, dtype=np.float32).reshape(2, 3)

scale = 100.0
alpha = "a global"


@agrees(X, np.array(2, np.float32), expected=X * 2)
def test_a_parameter_shadows_a_global(x: FLOAT["N"], scale: FLOAT) -> FLOAT["N"]:
    return x * scale


def test_an_attribute_parameter_shadows_a_global(agree) -> None:
    @script()
    def f(x: FLOAT["N"], alpha: float = 3.0) -> FLOAT["N"]:
        return x * alpha

    agree(f, X, expected=X * 3)


def test_a_parameter_named_as_the_opset(agree) -> None:
    @script(default_opset=op)
    def f(op: FLOAT["N"]) -> FLOAT["N"]:
        return op + 1

    agree(f, X, expected=X + 1)


@agrees(X, expected=(X + 1) * 2)
def test_a_local_shadows_a_global_function(x: FLOAT["N"]) -> FLOAT["N"]:
    scale = x + 1
    abs = scale * 2
    return abs


def test_two_functions_of_one_name_in_two_domains(agree) -> None:
    one, two = Opset("one", 1), Opset("two", 1)

    def make(domain, factor):
        @script(domain, default_opset=op)
        def same(x: FLOAT["N"]) -> FLOAT["N"]:
            return x * factor

        return same

    first, second = make(one, 2.0), make(two, 5.0)

    @script()
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        return first(x) + second(x)

    model = agree(f, X, expected=X * 7)
    assert sorted((g.domain, g.name) for g in model.functions) == [("one", "same"), ("two", "same")]


def test_two_different_functions_of_one_name_in_one_domain(agree) -> None:
    """Either both are kept apart or it is an error; never one for the other."""

    def make(factor):
        @script()
        def same(x: FLOAT["N"]) -> FLOAT["N"]:
            return x * factor

        return same

    first, second = make(2.0), make(5.0)

    @script()
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        return first(x) + second(x)

    try:
        agree(f, X, expected=X * 7)
    except OnnxwrightError as error:
        assert "same" in str(error)


def test_an_opset_domain_used_only_inside_a_branch(agree) -> None:
    from onnxwright import opset_ai_onnx_ml3 as ml

    @script()
    def f(x: FLOAT["N", "M"]) -> FLOAT["N", "M"]:
        if x[0, 1] > 0:
            y = ml.Scaler(x, offset=[1.0], scale=[2.0])
        else:
            y = x
        return y

    model = agree(f, M, expected=(M - 1) * 2)
    assert {o.domain for o in model.opset_import} == {"", "ai.onnx.ml"}


def test_an_opset_domain_used_only_inside_a_callee(agree) -> None:
    from onnxwright import opset_ai_onnx_ml3 as ml

    @script()
    def inner(x: FLOAT["N", "M"]) -> FLOAT["N", "M"]:
        for i in range(2):
            x = ml.Scaler(x, offset=[1.0], scale=[2.0])
        return x

    @script()
    def f(x: FLOAT["N", "M"]) -> FLOAT["N", "M"]:
        return inner(x)

    agree(f, M, expected=((M - 1) * 2 - 1) * 2)


def test_a_body_with_only_custom_ops() -> None:
    """The model's opset is the default one, never one that ONNX Runtime refuses."""
    custom = Opset("my.domain", 3)

    @script()
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        return custom.Anything(x, size=3)

    model = f.to_model_proto()
    versions = {o.domain: o.version for o in model.opset_import}
    assert versions["my.domain"] == 3
    assert 18 <= versions[""] <= 26
    assert model.graph.node[0].op_type == "Anything"


def test_a_body_without_any_op(agree) -> None:
    @script()
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        return x * 2 + 1

    model = agree(f, X, expected=X * 2 + 1)
    assert 18 <= {o.domain: o.version for o in model.opset_import}[""] <= 26


def test_caller_and_callee_on_different_opsets(agree) -> None:
    @script()
    def callee(x: FLOAT["N"]) -> FLOAT["N"]:
        return old.Relu(x) + old.Abs(x)

    @script()
    def caller(x: FLOAT["N"]) -> FLOAT["N"]:
        return op.Neg(callee(x))

    agree(caller, X, expected=-(np.maximum(X, 0) + np.abs(X)))


def test_caller_and_callee_whose_op_changed(agree) -> None:
    """ReduceMean's axes became an input in opset 18."""

    @script()
    def callee(x: FLOAT["N", "M"]) -> FLOAT["N"]:
        return old.ReduceMean(x, axes=[1], keepdims=0)

    @script()
    def caller(x: FLOAT["N", "M"]) -> FLOAT["N"]:
        return op.ReduceMean(x, [1], keepdims=0) + callee(x)

    try:
        agree(caller, M, expected=M.mean(1) * 2)
    except OnnxwrightError as error:
        assert "15" in str(error)
        assert "18" in str(error)


@agrees(X, expected=np.maximum(-X, 0))
def test_two_opsets_in_one_body(x: FLOAT["N"]) -> FLOAT["N"]:
    return old.Relu(op.Neg(x))


def test_too_many_names_for_a_function(refused) -> None:
    @script()
    def two(x: FLOAT["N"]):
        return x, x

    @script()
    def f(x: FLOAT["N"]):
        a, b, c = two(x)
        return a

    refused(f, "OW535", "two")


def test_a_multi_output_function_into_one_name(refused) -> None:
    @script()
    def two(x: FLOAT["N"]):
        return x, x

    @script()
    def f(x: FLOAT["N"]):
        a = two(x)
        return a + 1

    refused(f)


@agrees(X, expected=(np.array([3, 1], np.float32), np.array([2, 0])))
def test_a_multi_output_op_unpacked(x: FLOAT["N"]):
    values, indices = op.TopK(x, [2])
    return values, indices


def test_a_split_unpacked_into_as_many_as_there_are_names(agree) -> None:
    """The number of outputs of a variadic op is the number of names."""

    @script()
    def f(x: FLOAT[6]):
        a, b, c = op.Split(x, num_outputs=3)
        return c, b, a

    v = np.arange(6, dtype=np.float32)
    agree(f, v, expected=(v[4:], v[2:4], v[:2]))


@agrees(X, expected=np.array([3, 1], np.float32))
def test_an_output_nobody_names(x: FLOAT["N"]):
    values, _ = op.TopK(x, [2])
    return values


@agrees(X, expected=(X, X + 1, X + 2, X, X + 1))
def test_starred_and_nested_unpacking(x: FLOAT["N"]):
    (a, b), c = (x, x + 1), x + 2
    [d, e] = a, b
    return a, b, c, d, e


@refuses("", "Add", "B")
def test_too_few_inputs(x: FLOAT["N"]):
    return op.Add(x)


@refuses("", "axis")
def test_a_tensor_as_an_attribute(x: FLOAT["N"], n: INT64):
    return op.Softmax(x, axis=n)


@refuses("", "FLOAT", "DOUBLE")
def test_inputs_of_two_dtypes(x: FLOAT["N"], y: DOUBLE["N"]):
    return op.Add(x, y)


def test_operands_of_two_dtypes_in_every_mode(refused) -> None:
    @script()
    def f(x: FLOAT["N"], y: DOUBLE["N"]):
        return x + y

    refused(f, "OW401")
    with pytest.raises((OnnxwrightError, TypeError)):
        f(X, X.astype(np.float64))


@refuses("", "MatMul")
def test_shapes_that_do_not_go_together(x: FLOAT[3, 4], y: FLOAT[5, 6]):
    return op.MatMul(x, y)


def test_a_global_that_is_defined_later(agree) -> None:
    """Compilation is delayed; so is the look at globals."""

    @script()
    def f(x: FLOAT["N"]):
        return later(x) * LATER

    global later, LATER

    @script()
    def later(x: FLOAT["N"]):
        return x + 1

    LATER = 3.0
    agree(f, X, expected=(X + 1) * 3)


def test_a_module_value_through_attributes(agree) -> None:
    import math

    class cfg:
        k = 4

        class inner:
            axes = [0]

    @script()
    def f(x: FLOAT["N"]):
        return op.ReduceSum(x * cfg.k + math.pi, cfg.inner.axes, keepdims=0)

    agree(f, X, expected=np.float32((X * 4 + np.float32(np.pi)).sum()))


def test_constants_of_the_enclosing_scope(agree) -> None:
    weights = np.array([1.0, 2.0, 3.0], np.float32)
    proto = onnx.numpy_helper.from_array(weights + 1, "named")
    number = np.float32(2)
    items = [10, 20, 30]

    @script()
    def f(x: FLOAT["N"]):
        return x * weights + op.Mul(proto, 2.0) * number + items

    agree(f, X, expected=X * weights + (weights + 1) * 4 + np.array(items, np.float32))


def test_a_constant_array_keeps_its_dtype(refused) -> None:
    weights = np.array([1.0, 2.0, 3.0])

    @script()
    def f(x: FLOAT["N"]):
        return x * weights

    refused(f, "OW401")


def test_mutual_recursion(refused) -> None:
    @script()
    def a(x: FLOAT["N"]):
        return b(x)

    @script()
    def b(x: FLOAT["N"]):
        return a(x)

    refused(a, "OW206")


def test_a_plain_helper_is_inlined(agree) -> None:
    def helper(y, factor=3, *, bias=0.5):
        """Doc."""
        if factor > 2:
            return y * factor + bias
        return y

    @script()
    def f(x: FLOAT["N"]):
        return helper(x) + helper(x, 1) + helper(bias=1.0, y=x, factor=4)

    agree(f, X, expected=(X * 3 + np.float32(0.5)) + X + (X * 4 + 1))


def test_a_plain_helper_on_static_values_is_evaluated(agree) -> None:
    import math

    def sizes(n):
        return [math.floor(k * 1.5) for k in range(n)]

    @script()
    def f(x: FLOAT["N"]):
        return x + sizes(3)

    agree(f, X, expected=X + np.array([0, 1, 3], np.float32))


def test_a_callee_called_twice_is_one_function(agree) -> None:
    @script()
    def callee(x: FLOAT["N"], k: float):
        return x * k

    @script()
    def f(x: FLOAT["N"]):
        return callee(x, 2.0) + callee(callee(x, k=3.0), 1.0)

    model = agree(f, X, expected=X * 2 + X * 3)
    assert [g.name for g in model.functions] == ["callee"]


def test_attributes_are_forwarded(agree) -> None:
    @script()
    def inner(x: FLOAT["N", "M"], axis: int, mode: str = "a"):
        if mode == "a":
            return op.ReduceSum(x, [0], keepdims=0)
        return op.Flatten(op.Softmax(x, axis=axis), axis=axis)

    @script()
    def middle(x: FLOAT["N", "M"], axis: int = 1, mode: str = "b"):
        return inner(x, axis=axis, mode=mode)

    @script()
    def f(x: FLOAT["N", "M"]):
        return middle(x), middle(x, mode="a"), middle(x, axis=0)

    def softmax(v, axis):
        e = np.exp(v - v.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)

    # onnx.reference does not hand attributes of a function on to an If in it.
    expected = (softmax(M, 1), M.sum(0), softmax(M, 0).reshape(1, -1))
    agree(f, M, expected=expected, reference=False)


def test_inlining_some_callees(agree) -> None:
    @script()
    def one(x: FLOAT["N"]):
        y = x + 1
        return y

    @script()
    def two(x: FLOAT["N"]):
        y = one(x) * 2
        return y

    @script()
    def f(x: FLOAT["N"]):
        y = two(x) + one(x)
        return y

    expected = (X + 1) * 3
    assert {g.name for g in agree(f, X, expected=expected).functions} == {"one", "two"}
    assert not agree(f, X, expected=expected, functions="none").functions
    assert {g.name for g in agree(f, X, expected=expected, functions=[one]).functions} == {"one"}


def test_a_keyword_for_an_input_and_a_position_for_an_attribute(agree) -> None:
    @script()
    def f(x: FLOAT["N"]):
        return op.Add(B=x, A=x * 2) + op.Clip(x, max=op.Identity(1.0)) + op.Softmax(x, 0)

    e = np.exp(X - X.max())
    agree(f, X, expected=X * 3 + np.minimum(X, 1) + e / e.sum())


@agrees(X, np.array(0, np.float32), expected=np.minimum(X, 0))
def test_none_for_an_absent_input(x: FLOAT["N"], y: FLOAT):
    return op.Clip(x, None, y)


def test_variadic_inputs_from_a_list(agree) -> None:
    @script()
    def f(x: FLOAT["N"], y: FLOAT["N"]):
        parts = [x, y, x]
        return op.Concat(*parts, axis=0), op.Sum(*parts[:2]), op.Max(x, *[y])

    y = X + 1
    agree(f, X, y, expected=(np.concatenate([X, y, X]), X + y, np.maximum(X, y)))


def test_positional_only_and_keyword_only_parameters(agree) -> None:
    @script()
    def callee(x: FLOAT["N"], /, y: FLOAT["N"], *, k: float = 2.0):
        return x - y * k

    @script()
    def f(x: FLOAT["N"], y: FLOAT["N"]):
        return callee(x, y) + callee(x, y=y, k=3.0)

    agree(f, X, X + 1, expected=(X - (X + 1) * 2) + (X - (X + 1) * 3))


def test_a_callee_argument_missing(refused) -> None:
    @script()
    def callee(x: FLOAT["N"], y: FLOAT["N"]):
        return x * y

    @script()
    def f(x: FLOAT["N"]):
        return callee(x)

    refused(f, "OW207", "y")


def test_print_is_for_eager_only(agree, capsys) -> None:
    @script()
    def f(x: FLOAT["N"]):
        print("value", x)
        return x + 1

    agree(f, X, expected=X + 1)
    assert "value" in capsys.readouterr().out


@each(
    ("body", "code"),
    [
        ("with open('a') as b:\n        pass", "OW101"),
        ("try:\n        pass\n    except ValueError:\n        pass", "OW101"),
        ("import math", "OW101"),
        ("global x1", "OW101"),
        ("class C:\n        pass", "OW101"),
        ("yield x", "OW105"),
        ("x[0].name = 1.0", "OW103"),
        ("x.name = 1.0", "OW103"),
        ("y = {k for k in x}", "OW307"),
    ],
)
def test_constructs_that_are_refused(refused, body: str, code: str) -> None:
    source = f"@script()\ndef f(x: FLOAT['N']):\n    {body}\n    return x\n"
    with pytest.raises(OnnxwrightError) as caught:
        from_text(source).to_model_proto()
    error = caught.value
    assert error.diagnostic.span is not None
    assert error.diagnostic.span.line >= 2
    if code:
        assert error.diagnostic.code == code, str(error)
    assert "= help:" in str(error)


def test_all_errors_come_at_once(refused) -> None:
    @script()
    def f(x: FLOAT["N"]):
        with open("a") as b:
            pass
        import math

        try:
            pass
        finally:
            pass
        return x

    error = refused(f, "OW101")
    assert len(error.diagnostics) == 3
