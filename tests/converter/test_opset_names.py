"""The opset of `+` comes from names the function takes from around it, not from its own."""

from __future__ import annotations

from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op
from onnxwright import opset24 as o


@script()
def a_local(x: FLOAT["N"]) -> FLOAT["N"]:
    o = op.Relu(x)
    return o + 1


@script()
def a_parameter(o: FLOAT["N"]) -> FLOAT["N"]:
    return op.Relu(o) + 1


@script()
def a_loop_variable(x: FLOAT["N"]) -> FLOAT["N"]:
    for o in range(3):  # noqa: F402 - what this is about
        x = op.Relu(x) + o
    return x


@script()
def in_a_comprehension(x: FLOAT["N"]) -> FLOAT["N"]:
    parts = [op.Relu(x) + o for o in (1, 2)]
    return parts[0] + parts[1]


@script()
def in_a_nested_function(x: FLOAT["N"]) -> FLOAT["N"]:
    def inner(o: FLOAT["N"]) -> FLOAT["N"]:
        row = op.Relu(o)
        return row + 1

    return inner(x)


@script()
def by_walrus(x: FLOAT["N"]) -> FLOAT["N"]:
    return (o := op.Relu(x)) + o


@script()
def attribute_of_that_name(x: FLOAT["N"]) -> FLOAT["N"]:
    return op.Relu(x) + 1j.real + len(str(INT64)) * 0


@script()
def really_used(x: FLOAT["N"]) -> FLOAT["N"]:
    return o.Relu(x) + 1


def test_own_names_do_not_choose_the_opset() -> None:
    for f in (a_local, a_parameter, a_loop_variable, in_a_comprehension, in_a_nested_function,
              by_walrus, attribute_of_that_name):  # fmt: skip
        assert [i.version for i in f.to_model_proto().opset_import] == [18], f.name
        assert f._eager_opset() == op, f.name


def test_names_from_around_do() -> None:
    assert [i.version for i in really_used.to_model_proto().opset_import] == [24]
