"""`dynamic_shapes` in every form, names in the model, sizes of 0 and 1, dimensions torch fixed."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import nn, randn
from torch.export import Dim

import onnxwright as ow
from onnxwright import errors
from tests.exporter.programs import (
    Program,
    Programs,
    check,
    operators,
    run,
    same,
    shapes,
)
from tests.harness.modules import module_with
from tests.harness.tables import each

PROGRAMS = Programs()
BATCH = Dim("batch")


def add(x: Any, y: Any) -> Any:
    """Two inputs."""
    return x + y


def _two() -> tuple[Any, Any]:
    return randn(3, 4), randn(3, 4)


# One program, its dynamic shapes in every form torch takes.
FORMS: dict[str, Any] = {
    "dim_by_name": {"x": {0: BATCH}, "y": {0: BATCH}},
    "dim_with_bounds": {"x": {0: Dim("n", min=2, max=99)}, "y": None},
    "auto": {"x": {0: Dim.AUTO}, "y": {0: Dim.AUTO}},
    "dynamic": {"x": {0: Dim.DYNAMIC}, "y": {0: Dim.DYNAMIC}},
    "static_beside_auto": {"x": {0: Dim.AUTO, 1: Dim.STATIC}, "y": (Dim.AUTO, Dim.STATIC)},
    "strings": {"x": {0: "rows", 1: "columns"}, "y": {0: "rows", 1: "columns"}},
    "tuple_by_position": ({0: BATCH}, {0: BATCH}),
    "list_by_position": [(BATCH, None), [BATCH, None]],
    "list_of_strings": [["rows", "columns"], ["rows", "columns"]],
    "numbers_are_fixed": {"x": {0: "rows", 1: 4}, "y": {0: "rows", 1: 4}},
    "negative_axis": {"x": {-1: "columns"}, "y": {-1: "columns"}},
    "auto_with_bounds": {"x": {0: Dim.AUTO(min=1, max=99)}, "y": {0: Dim.AUTO}},
}
for _name, _form in FORMS.items():
    if _name != "dim_with_bounds":
        PROGRAMS.add(_name, lambda: add, _two, dynamic=_form)


@PROGRAMS(lambda: (randn(2, 5, 8),), dynamic={"x": {0: "b", 1: "t"}})
def views(x):
    b, t, d = x.shape
    return x.view(b, t, 2, d // 2).transpose(1, 2).reshape(b * 2, t, -1), t, b * 2 + 1


@PROGRAMS(lambda: (randn(4, 5), randn(8, 2)), dynamic={"x": {0: Dim("b")}, "y": {0: 2 * Dim("b")}})
def derived(x, y):
    return x[:, :2] + y[::2], x.reshape(-1), y


@PROGRAMS(
    lambda: ({"a": randn(2, 3), "b": [randn(2), randn(2)]},),
    dynamic={"d": {"a": {0: "n"}, "b": [{0: "n"}, {0: "n"}]}},
)
def trees(d):
    return d["a"] + d["b"][0][:, None] * d["b"][1][:, None]


@PROGRAMS(
    lambda: (randn(2, 3),),
    kwargs=lambda: {"y": randn(2, 3)},
    dynamic={"x": {0: "n"}, "y": {0: "n"}},
)
def keyword_inputs(x, y):
    return x * y


@PROGRAMS(lambda: (randn(5, 3),), dynamic={"x": {0: "n"}})
def classes_by_size(x):
    """As many classes as rows, and one more."""
    one_hot = torch.nn.functional.one_hot
    places, n = x.argmax(0), x.shape[0]
    return one_hot(places, n), one_hot(places, num_classes=n + 1)[:, :-1], one_hot(places, 30)


@PROGRAMS(lambda: (randn(1, 2, 5, 6),), dynamic={"x": {2: "h", 3: "w"}})
def windows_by_size(x):
    """As long as an axis: text convolutions, pooling over all places."""
    f, y, (h, w) = nn.functional, x[0], x.shape[2:]
    return (
        *(f.avg_pool2d(x, x.size()[2:]), f.avg_pool2d(x, (h, 2), 2, (0, 1))),
        *(f.max_pool2d(x, (2, w), stride=1), f.max_pool2d(x, kernel_size=(h, w), stride=(1, 1))),
        *(f.max_pool1d(y[0], w), torch.max_pool1d(y[1], w), f.avg_pool1d(y[0], w)),
        *(f.avg_pool3d(x, (1, h, w)), f.max_pool3d(x, (2, h, w), padding=(1, 0, 0))),
    )


@PROGRAMS(lambda: (randn(1, 3), randn(1, 3)), dynamic={"x": {0: "n"}, "y": {0: "n"}})
def example_of_size_one(x, y):
    """The example batch is 1, and is not fixed."""
    return torch.cat([x, y], 1).softmax(0), x.shape[0]


@PROGRAMS(lambda: (randn(3, 2), randn(4, 2)), dynamic={"x": {0: "n"}, "y": {0: "m"}})
def concatenated(x, y):
    return torch.cat([x, y]), torch.cat([x, x, y]).shape[0]


@PROGRAMS(lambda: (randn(3, 2), randn(4, 2)), dynamic={"x": {0: "n"}, "y": {0: "m"}})
def outer(x, y):
    return (x @ y.T).flatten(), x[:, None] - y


@PROGRAMS(lambda: (randn(6, 2),), dynamic={"x": {0: "n"}})
def halves(x):
    """Divided sizes: chunks of what may be odd."""
    return x[: x.shape[0] // 2], x[x.shape[0] // 2 :], x[1::2]


@PROGRAMS(lambda: (randn(3, 4),), dynamic={"x": {0: "n", 1: "m"}})
def made_by_size(x):
    n, m = x.shape
    return (
        torch.zeros(n, m),
        torch.arange(n),
        torch.full((m,), n),
        torch.eye(n),
        torch.ones(n).sum(),
    )


@PROGRAMS(lambda: (randn(3, 4),), dynamic={"x": {0: "n", 1: "m"}})
def reduced(x):
    return x.mean(), x.var(0), x.amax(1), x.argmax(0), x.cumsum(0), x.sum((0, 1))


@PROGRAMS(lambda: (randn(3, 4),), dynamic={"x": {0: "n", 1: "m"}})
def reordered(x):
    """Sorted, flipped, rolled, repeated, padded."""
    return (
        x.sort(0).values,
        x.flip(0),
        x.roll(1, 0),
        x.repeat(2, 1),
        nn.functional.pad(x, (1, 2)),
        x.repeat_interleave(2, 1),
    )


@PROGRAMS(lambda: (randn(3, 4),), dynamic={"x": {0: "n"}})
def expanded(x):
    return x[:1].expand(x.shape[0], -1) + x, x.unsqueeze(1).expand(-1, 3, -1).flatten(0, 1)


@PROGRAMS(lambda: (randn(3, 4), randn(5, 4)), dynamic={"x": {0: "n"}, "y": {0: Dim.AUTO}})
def names_and_auto(x, y):
    """A name beside a size torch names."""
    return x.sum(0) + y.sum(0)


@PROGRAMS(lambda: (randn(3, 4),), dynamic={"x": {0: "n"}})
def boolean_mask(x):
    """A size that depends on the values."""
    return x[x > 0], torch.nonzero(x > 0)


def _unequal() -> tuple[Any, ...]:
    return (randn(2), randn(3))


for name, form in {
    "grouped": ({0: "n"}, ({0: "m"},)),
    "single": ({0: "n"}, {0: "m"}),
    "of_axes": (["n"], ["m"]),
    "by_name": {"x": {0: "n"}, "rest": ({0: "m"},)},
}.items():
    PROGRAMS.append(
        Program(
            f"rest_{name}", lambda: lambda x, *rest: (x + 1, rest[0] * 2), _unequal, dynamic=form
        )
    )

for name, form in {
    "grouped": {"x": {0: "n"}, "others": {"a": {0: "m"}, "b": None}},
    "single": {"x": {0: "n"}, "a": {0: "m"}},
    "by_position": ({0: "n"}, {0: "m"}, None),
}.items():
    PROGRAMS.append(
        Program(
            f"keywords_{name}",
            lambda: lambda x, **others: (x + 1, others["a"] * 2, others["b"]),
            lambda: (randn(2),),
            lambda: {"a": randn(3), "b": randn(4)},
            dynamic=form,
        )
    )


@PROGRAMS(
    lambda: (randn(2, 3),), kwargs=lambda: {"scale": randn(2, 1)}, dynamic=({0: "n"}, {0: "n"})
)
class KeywordsOfModule(nn.Module):
    """A module that takes any keyword."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x, **others):
        return self.layer(x) * others["scale"]


@pytest.mark.share(3)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_a_dynamic_program_is_right_at_other_sizes(program: Program) -> None:
    """Larger ones, and 1."""
    run(program)


def test_bounds_that_exclude_one_are_kept() -> None:
    """From 2 to 99 rows."""
    check(
        add,
        _two(),
        None,
        FORMS["dim_with_bounds"] | {"y": {0: Dim("n", min=2, max=99)}},
        sizes=({"*": 7},),
    )


def test_size_zero_runs() -> None:
    """An empty batch is a batch."""
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4))
    program = check(model, (randn(2, 3),), None, ({0: "batch"},))
    same(program, model, (torch.zeros(0, 3),))


def test_names_stand_in_the_model() -> None:
    """Of strings and of `Dim` alike; torch's own where the user gave none."""
    for form in ("dim_by_name", "strings"):
        written = shapes(check(add, _two(), None, FORMS[form]))
        first = "batch" if form == "dim_by_name" else "rows"
        assert written["x"][0] == written["y"][0] == written["add"][0] == first


def test_derived_dimensions_are_expressions() -> None:
    """`2*batch`, `2*batch + 1`, not a new name for each."""
    batch = Dim("batch")

    def program(x: Any, y: Any) -> Any:
        return torch.cat([x, x, y[:1]]), y.reshape(-1)

    made = check(
        program, (randn(4, 3), randn(9, 3)), None, {"x": {0: batch}, "y": {0: 2 * batch + 1}}
    )
    written = list(shapes(made).values())
    assert written[0] == ["batch", 3]
    assert written[1] == ["2*batch + 1", 3]
    assert written[2] == ["2*batch + 1", 3]
    assert written[3] == ["6*batch + 3"]


def test_a_dimension_torch_fixed_is_a_number_and_told() -> None:
    """`view(3, 4)` makes the batch 3."""
    with pytest.warns(errors.OnnxwrightWarning, match=r"dimension 0 of `x` \(`batch`\)"):
        program = check(
            lambda x: x.view(3, 4) + 1, (randn(3, 4),), None, {"x": {0: "batch"}}, fixed=True
        )
    assert shapes(program)["x"] == [3, 4]


def test_a_warning_may_be_an_error() -> None:
    """As with any other warning of Python, not as a bug of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.OnnxwrightWarning)
        with pytest.raises(errors.OnnxwrightWarning, match="OW827"):
            ow.export(lambda x: x.view(3, 4) + 1, (randn(3, 4),), dynamic_shapes=({0: "b"},))


def test_two_dimensions_of_one_name_are_told_apart() -> None:
    """Of sizes 3 and 4 they cannot be one."""
    with pytest.warns(errors.OnnxwrightWarning, match="`n"):
        program = check(
            lambda x, y: (x + 1, y + 1), (randn(3), randn(4)), None, {"x": {0: "n"}, "y": {0: "n"}}
        )
    assert shapes(program)["x"] != shapes(program)["y"]


def test_relations_torch_finds_keep_the_first_name() -> None:
    """`x + y` makes two names one size."""
    program = check(add, _two(), None, {"x": {0: "rows"}, "y": {0: "other"}})
    assert shapes(program)["x"][0] == shapes(program)["add"][0]


def test_a_batch_of_one_stays_dynamic() -> None:
    """Example, bounds by torch, any size after."""
    program = check(nn.Linear(3, 2), (randn(1, 3),), None, ({0: "batch"},))
    assert shapes(program)["input"] == ["batch", 3]
    assert program(randn(5, 3)).shape == (5, 2)


@each(
    ("form", "match"),
    [
        ({"z": {0: "n"}}, "there is no argument `z`"),
        (({0: "n"},), "1 entries for 2 arguments"),
        (
            {"x": {0: "n"}, "y": [{0: "n"}]},
            r"dynamic_shapes\[.y.\]`: 1 entries for a tensor of rank",
        ),
    ],
)
def test_shapes_that_do_not_fit_are_said(form: Any, match: str) -> None:
    """Names, counts and nesting."""
    with pytest.raises(errors.ExportValueError, match=match):
        ow.export(add, _two(), dynamic_shapes=form)


def test_a_parameter_that_keeps_its_default_may_be_mentioned() -> None:
    """With None, as there is nothing to say of it."""

    def optional(x: Any, bias: Any = None) -> Any:
        return x if bias is None else x + bias

    program = ow.export(optional, (randn(2),), dynamic_shapes={"x": {0: "n"}, "bias": None})
    assert shapes(program)["x"] == ["n"]
    with pytest.raises(errors.ExportValueError, match="there is no argument `bias`"):
        ow.export(optional, (randn(2),), dynamic_shapes={"bias": {0: "n"}})


def test_static_sizes_cost_no_nodes() -> None:
    """No Shape, Gather or Concat where nothing is dynamic."""
    program = check(views, (randn(2, 5, 8),))
    assert not operators(program).keys() & {"Shape", "Gather", "Concat", "Slice"}


@module_with(lambda: {"linear": torch.nn.Linear(3, 2)})
def Mixed(self, x: Any, more: dict[str, Any], shift: Any = None) -> Any:
    """Inputs in a dict, one that may be left out, a size that the weights fix."""
    y = self.linear(x) + more["a"][:, :2]
    return y if shift is None else y + shift


def _mixed() -> tuple[Mixed, tuple[Any, ...]]:
    return Mixed(), (torch.randn(4, 3), {"a": torch.randn(4, 5)})


def _sizes(program: ow.ONNXProgram) -> list[list[Any]]:
    return [[getattr(d, "value", d) for d in i.shape] for i in program.model.graph.inputs]


@pytest.mark.parametrize("form", [True, "auto"])
def test_every_dimension_that_the_model_leaves_free(form: Any) -> None:
    model, args = _mixed()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        program = ow.export(model, args, dynamic_shapes=form)
    (batch, three), (batch_too, wide) = _sizes(program)
    assert (three, batch) == (3, batch_too)
    assert isinstance(batch, str)
    assert isinstance(wide, str)
    fixed = [str(w.message) for w in told if "OW827" in str(w.message)]
    assert len(fixed) == (form is True)
    other = (torch.randn(6, 3), {"a": torch.randn(6, 9)})
    torch.testing.assert_close(program(*other), model(*other))


def test_no_dimension() -> None:
    model, args = _mixed()
    assert _sizes(ow.export(model, args, dynamic_shapes=False)) == [[4, 3], [4, 5]]


def test_shapes_collected_by_tensor() -> None:
    model, args = _mixed()
    shapes = torch.export.ShapesCollection()
    batch = torch.export.Dim("batch")
    shapes[args[0]] = {0: batch}
    shapes[args[1]["a"]] = {0: batch}
    assert _sizes(ow.export(model, args, dynamic_shapes=shapes)) == [["batch", 3], ["batch", 5]]


def test_shapes_found_from_additional_inputs() -> None:
    model, args = _mixed()
    examples = torch.export.AdditionalInputs()
    examples.add((torch.randn(7, 3), {"a": torch.randn(7, 5)}))
    program = ow.export(model, args, dynamic_shapes=examples)
    (batch, three), (batch_too, five) = _sizes(program)
    assert (batch, three, five) == (batch_too, 3, 5)
    assert isinstance(batch, str)


def _foreign_tensor() -> Any:
    shapes = torch.export.ShapesCollection()
    shapes[torch.ones(3)] = {0: "n"}
    return shapes


def _other_structure() -> Any:
    examples = torch.export.AdditionalInputs()
    examples.add((torch.randn(7, 3), torch.randn(7, 5)))
    return examples


def _misfit() -> Any:
    examples = torch.export.AdditionalInputs()
    examples.add((torch.randn(7, 3), {"a": torch.randn(3, 5)}))
    return examples


@each(
    ("make", "words"),
    [
        (lambda: "all", "'all' is not the name"),
        (_foreign_tensor, "not found in args"),
        (_other_structure, "structure and the types"),
    ],
)
def test_proposals_that_do_not_fit_are_refused(make: Any, words: str) -> None:
    model, args = _mixed()
    with pytest.raises(errors.ExportValueError, match="OW825") as caught:
        ow.export(model, args, dynamic_shapes=make())
    assert words in str(caught.value)


def test_an_additional_input_that_the_program_refuses() -> None:
    model, args = _mixed()
    with pytest.raises(ow.ExportError, match="OW82"):
        ow.export(model, args, dynamic_shapes=_misfit())
