"""What programs take and give: nesting, keywords, defaults, numbers, None, constants, aliases."""

from __future__ import annotations

import dataclasses
import enum
from collections import OrderedDict, namedtuple
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn, randn
from torch.utils import _pytree as pytree

import onnxwright as ow
from onnxwright import errors
from tests.exporter.programs import Program, Programs, check, run, same, shapes
from tests.harness.modules import module_with

PROGRAMS = Programs()
Point = namedtuple("Point", "x y")  # noqa: PYI024 - this is what is tested


@dataclasses.dataclass
class Pair:
    """A dataclass that torch knows."""

    first: Any
    second: Any


pytree.register_dataclass(Pair)


class Box:
    """A class with a flattening of its own."""

    def __init__(self, content: Any, label: str) -> None:
        self.content, self.label = content, label

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and self.label == other.label

    __hash__ = None


pytree.register_pytree_node(
    Box,
    lambda box: ([box.content], box.label),
    lambda children, label: Box(*children, label),
    serialized_type_name="tests.exporter.Box",
    flatten_with_keys_fn=lambda box: ([(pytree.GetAttrKey("content"), box.content)], box.label),
)


class Way(enum.Enum):
    """How to go."""

    UP = 1
    DOWN = 2


@PROGRAMS(lambda: (randn(2), Way.UP))
def member_of_enum(x, way):
    return x + 1 if way is Way.UP else x - 1


@PROGRAMS(lambda: (randn(2), [randn(2), (randn(2), {"a": randn(2)})]))
def nested_inputs(x, rest):
    y, (z, d) = rest
    return x + y * z - d["a"]


@PROGRAMS(lambda: (randn(2),))
def nested_outputs(x):
    """The same the other way round."""
    return {"a": [x, (x + 1, None)], "b": {"c": (x * 2,)}}


@PROGRAMS(lambda: (Pair(randn(2), randn(2)),))
def dataclasses_both_ways(pair):
    return Pair(pair.second * 2, pair.first + 1)


@PROGRAMS(lambda: (Box(randn(2), "in"),))
def registered_class(box):
    """A registered class comes and goes, with what is not a tensor in it."""
    return Box(box.content * 2, box.label + "put")


@PROGRAMS(lambda: (Point(randn(2), randn(2)),))
def named_tuples(p):
    return Point(p.x + p.y, p.x - p.y)


@PROGRAMS(lambda: (OrderedDict(b=randn(2), a=randn(2)),))
def ordered_dict(d):
    return OrderedDict((k, v * n) for n, (k, v) in enumerate(d.items(), 2))


@PROGRAMS(lambda: (randn(2),), kwargs=lambda: {"scale": randn(2), "shift": randn(2)})
def keywords(x, *, shift, scale):
    """Keyword arguments in another order than the parameters'."""
    return x * scale - shift


@PROGRAMS(lambda: (randn(2), randn(2), randn(2)), kwargs=lambda: {"a": randn(2), "b": randn(2)})
def star_arguments(*args, **kwargs):
    return sum(args) + kwargs["a"] * kwargs["b"]


@PROGRAMS(lambda: (randn(2),))
def defaults(x, scale=2.0, bias=None):
    return x * scale if bias is None else x * scale + bias


@PROGRAMS(lambda: (randn(2, 3), 1, True, "mean"))
def constants_as_inputs(x, axis, keepdim, how):
    """Plain Python values decide what the program is."""
    return getattr(x, how)(axis, keepdim=keepdim)


@PROGRAMS(lambda: (randn(2), None, randn(2)))
def none_in_the_middle(x, nothing, y):
    """A None has no place in the model."""
    return x + y if nothing is None else x


@PROGRAMS(lambda: (randn(2),))
def numbers_as_outputs(x):
    """int, float, bool, str and None."""
    return x, 3, 2.5, True, None, "text"


@PROGRAMS(lambda: ())
def nothing_in():
    return torch.arange(3) * 2


@PROGRAMS(lambda: (randn(2), randn(2)))
def an_output_is_an_input(x, y):
    return x, y, x


@PROGRAMS(lambda: (randn(2),))
def one_value_twice(x):
    y = x + 1
    return y, y


@PROGRAMS(lambda: (randn(2),))
def outputs_that_are_views(x):
    """Aliases of an input and of each other."""
    y = x.view(1, 2)
    return y, y[0], x.detach()


@PROGRAMS(lambda: (randn(2), randn(2)))
def unused_input(x, unused):
    return x + 1


@PROGRAMS(lambda: (randn(2),))
@module_with(lambda: {"dead": nn.Linear(100, 100), "weight": nn.Parameter(randn(2))})
def UnusedParameters(self, x):
    """Parameters nothing reads, and one that is the result."""
    return x + self.weight, self.weight


@PROGRAMS(lambda: (randn(3),))
class LiftedConstants(nn.Module):
    """Tensors made in forward, held as attributes, and global."""

    def __init__(self):
        super().__init__()
        self.table = torch.arange(3.0)
        self.register_buffer("secret", torch.ones(3), persistent=False)

    def forward(self, x):
        return x + self.table + self.secret + torch.tensor([1.0, 2.0, 3.0]) + GLOBAL


GLOBAL = torch.tensor([7.0, 8.0, 9.0])


@PROGRAMS(lambda: (randn(2, 3), 2), dynamic=({0: "b"}, None))
def int_beside_dynamic(x, n):
    return x * n


@PROGRAMS(lambda: (randn(2, 3),), dynamic={"x": {0: "b"}})
def results_without_inputs(x):
    return torch.ones(2), x.sum()


@PROGRAMS(lambda: (torch.tensor(2.0), torch.tensor(3)))
def scalars(x, n):
    return x * n, x.unsqueeze(0)


@PROGRAMS(lambda: (torch.zeros(0, 3), randn(2, 3)))
def empty_tensors(x, y):
    return torch.cat([x, y]), x.sum(0), x + 1


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_inputs_and_outputs_are_those_of_torch(program: Program) -> None:
    """Checker, runtime, values, types, shapes and nesting."""
    run(program)


class Two(nn.Module):
    """A module with two inputs."""

    def forward(self, x, y=None):
        return x + 1 if y is None else x + y

    def other(self, x):
        """A method that is exported."""
        return x * 2


def test_a_function_a_method_and_a_lambda_export() -> None:
    """What torch.export takes only as a module."""
    x = randn(2)
    check(Two().other, (x,))
    check(lambda x: x + 1, (x,))
    check(torch.sin, (x,))


def test_a_bound_method_finds_the_weights_of_its_module() -> None:
    """They have the module's names."""

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 4)

        def encode(self, x: Any) -> Any:
            return self.linear(x).relu()

    program = check(Model().encode, (randn(2, 3),), dynamic_shapes={"x": {0: "batch"}})
    assert any("linear.weight" in str(n) for n in program.model.graph.initializers)


def test_an_exported_program_exports_with_its_names() -> None:
    """The `Dim` names of torch.export are those of the model."""
    module, x = nn.Linear(3, 4), randn(2, 3)
    batch = torch.export.Dim("batch", min=1, max=64)
    captured = torch.export.export(module, (x,), dynamic_shapes={"input": {0: batch}})
    program = check(captured.module(), (x,), dynamic_shapes={"input": {0: batch}})
    direct = ow.export(captured)
    same(direct, module, (randn(5, 3),))
    assert shapes(direct)["input"] == ["batch", 3]
    assert shapes(program)["input"] == ["batch", 3]


def test_a_pt2_file_exports(tmp_path: Path) -> None:
    """By path, as a string too."""
    module, x = nn.Linear(3, 4), randn(2, 3)
    batch = torch.export.Dim("batch")
    captured = torch.export.export(module, (x,), dynamic_shapes={"input": {0: batch}})
    torch.export.save(captured, tmp_path / "linear.pt2")
    for path in (tmp_path / "linear.pt2", str(tmp_path / "linear.pt2")):
        same(ow.export(path), module, (randn(4, 3),))


def test_optional_none_inputs_are_left_out() -> None:
    """No input of the model stands for None, and a tensor there is refused."""
    program = check(Two(), (randn(2), None))
    assert [v.name for v in program.model.graph.inputs] == ["x"]
    with pytest.raises(errors.ExportTypeError):
        program(randn(2), randn(2))


def test_another_constant_is_refused_when_called() -> None:
    """The value is part of the model."""
    program = check(constants_as_inputs, (randn(2, 3), 1, True, "mean"))
    with pytest.raises(errors.ExportTypeError, match="was 1 when the program was exported"):
        program(randn(2, 3), 0, True, "mean")


def test_the_same_tensor_as_two_inputs_stays_two_inputs() -> None:
    """They may differ in the next call."""
    x = randn(2)
    program = check(Two(), (x, x))
    assert len(program.model.graph.inputs) == 2
    same(program, Two(), (randn(2), randn(2)))


def test_an_output_that_is_an_input_keeps_both_names() -> None:
    """Names the user gave, and a clash of them that is said."""
    program = check(an_output_is_an_input, (randn(2), randn(2)), input_names=["a", "b"])
    assert [v.name for v in program.model.graph.inputs] == ["a", "b"]
    named = check(
        an_output_is_an_input,
        (randn(2), randn(2)),
        input_names=["a", "b"],
        output_names=["c", "d", "e"],
    )
    assert [v.name for v in named.model.graph.outputs] == ["c", "d", "e"]
    with pytest.raises(errors.ExportValueError, match="is an input"):
        ow.export(Two(), (randn(2),), output_names=["x"])


def test_tied_weights_are_stored_once() -> None:
    """One initializer, whichever name reads it."""

    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(10, 4)
            self.head = nn.Linear(4, 10, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, x: Any) -> Any:
            return self.head(self.embed(x))

    program = check(Tied(), (torch.tensor([[1, 2]]),))
    large = [v for v in program.model.graph.initializers.values() if v.const_value.nbytes >= 160]
    assert len(large) == 1


def test_unused_parameters_are_not_in_the_model() -> None:
    """Nothing reads them."""
    program = check(UnusedParameters(), (randn(2),))
    assert not [n for n in program.model.graph.initializers if "dead" in n]


def test_another_member_of_an_enum_is_refused() -> None:
    """It chose what is in the model."""
    program = ow.export(member_of_enum, (torch.ones(2), Way.UP))
    with pytest.raises(errors.ExportTypeError, match=r"`way` was .*UP.* when"):
        program(torch.ones(2), Way.DOWN)


class Crate:
    """A class that torch takes apart without names for the parts."""

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


pytree.register_pytree_node(
    Crate,
    lambda crate: ([crate.a, crate.b], None),
    lambda parts, _: Crate(*parts),
    serialized_type_name="Crate",
)


class _Crates(nn.Module):
    """A crate comes and goes."""

    def forward(self, crate: Any) -> Any:
        return Crate(crate.a + crate.b, crate.a)


@pytest.mark.share(2)
@pytest.mark.parametrize(
    "shapes",
    [
        None,
        ([{0: "n"}, {0: "n"}],),
        (Crate({0: "n"}, {0: "n"}),),
        {"crate": Crate({0: "n"}, {0: "n"})},
        True,
    ],
    ids=["static", "a list", "an object", "by name", "all"],
)
def test_classes_registered_without_keys(shapes: Any) -> None:
    """They are inputs and outputs, and the captured program can be called, too."""
    program = ow.export(_Crates(), (Crate(randn(2), randn(2)),), dynamic_shapes=shapes, verify=True)
    crate = Crate(randn(2), randn(2)) if shapes is None else Crate(randn(5), randn(5))
    for got in (program(crate), program.exported_program.module()(crate)):
        assert isinstance(got, Crate)
        torch.testing.assert_close(got.a, crate.a + crate.b)
