"""What a capture assumes about sizes: reported, written down, enforced, verified."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import Dim

import onnxwright as ow
from onnxwright.exporter.capture.assumptions.guard_code import conditions_of
from onnxwright.exporter.capture.assumptions.guards import SizeGuard
from tests.harness.modules import module_with, same_results


@dataclass(frozen=True)
class Case:
    """A function that decides by sizes.

    Fields:
        function: what is exported.
        sizes: those of the example inputs, one for each input of shape [n, 3].
        dynamic: the name or `Dim` of each.
        guard: the condition that is reported.
        right, wrong: sizes for which the model is right, and those that are refused.
    """

    function: Callable[..., Any]
    sizes: tuple[int, ...]
    dynamic: tuple[Any, ...]
    guard: str
    right: tuple[tuple[int, ...], ...]
    wrong: tuple[tuple[int, ...], ...]
    options: dict[str, Any] = field(default_factory=dict)


def by_length(x: Any) -> Any:
    return x + 1 if x.shape[0] > 5 else x - 1


def single(x: Any) -> Any:
    return x[0] + 1 if x.shape[0] == 1 else x.sum(0)


def empty(x: Any) -> Any:
    if x.shape[0] == 0:
        return torch.ones(3)
    return x.sum(0)


def without_elements(x: Any) -> Any:
    return torch.ones(3) if x.numel() < 1 else x.sum(0)


def padded(x: Any) -> Any:
    rest = x.shape[0] % 4
    if rest:
        x = torch.nn.functional.pad(x, (0, 0, 0, 4 - rest), value=1.0) + 1
    return x


def masked(x: Any, y: Any) -> Any:
    if x.shape[0] == y.shape[0]:
        return x * 2 + y
    return x.sum(0) + y.sum(0)


def scaled(x: Any) -> Any:
    """As rotary embeddings of inputs that are longer than those of the training."""
    base = 2.0
    if x.shape[0] > 16:
        base = base * (x.shape[0] / 16) ** 0.5
    return x * base


class Window(torch.nn.Module):  # type: ignore[misc]
    """What is longer than a window is cut, and more."""

    def forward(self, x: Any) -> Any:
        if x.shape[0] > 8:
            x = x[-8:] * 2
        return x.sum(0)


def cut_before(x: Any) -> Any:
    """The slice narrows torch's range of the size, which then decides without a guard."""
    last = x[-7:]
    return last * 2 if x.shape[0] >= 8 else last + 1


def cut_to_other(x: Any, y: Any) -> Any:
    """The same by two sizes."""
    both = x[: y.shape[0]].sum(0) + y.sum(0)
    return both * 2 if y.shape[0] < x.shape[0] else both


CASES: dict[str, Case] = {
    "dim": Case(
        by_length, (10,), (Dim("n", min=1, max=64),), "n > 5", ((6,), (64,)), ((3,), (5,), (65,))
    ),
    "name": Case(by_length, (10,), ("n",), "n > 5", ((6,), (100,)), ((5,),)),
    "other_side": Case(by_length, (4,), ("n",), "n <= 5", ((1,), (5,)), ((6,),)),
    "auto": Case(by_length, (10,), (Dim.AUTO,), "s17 > 5", ((7,),), ((2,),)),
    "strict_capture": Case(
        by_length, (10,), ("n",), "n > 5", ((6,),), ((5,),), {"capture": "strict"}
    ),
    "empty": Case(empty, (4,), ("n",), "n >= 1", ((1,), (5,)), ((0,),)),
    "no elements": Case(without_elements, (4,), ("n",), "n >= 1", ((1,), (5,)), ((0,),)),
    "single": Case(single, (4,), ("n",), "n != 1", ((2,), (5,)), ((1,),)),
    "remainder": Case(padded, (10,), ("n",), "n % 4 != 0", ((6,), (9,)), ((8,), (12,))),
    "unequal": Case(masked, (4, 5), ("n", "m"), "n != m", ((6, 3),), ((4, 4),)),
    "equal": Case(masked, (4, 4), ("n", "m"), "n == m", ((6, 6),), ((4, 3),)),
    "long": Case(scaled, (10,), ("n",), "n <= 16", ((16,), (1,)), ((17,),)),
    "cut_before": Case(cut_before, (5,), ("n",), "n < 8", ((7,), (1,)), ((8,), (20,))),
    "cut_before_strict_capture": Case(
        cut_before, (5,), ("n",), "n < 8", ((7,),), ((8,),), {"capture": "strict"}
    ),
    "cut_to_other": Case(cut_to_other, (5, 3), ("n", "m"), "m < n", ((9, 2),), ((3, 5),)),
    "window": Case(Window(), (6,), ("n",), "n <= 8", ((8,),), ((9,),)),
}


def exported(case: Case, **options: Any) -> tuple[Any, list[str]]:
    """The program of a case, captured as it is, and the warnings of its export."""
    args = tuple(torch.randn(n, 3) for n in case.sizes)
    dynamic = tuple({0: d} for d in case.dynamic)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        program = ow.export(
            case.function,
            args,
            dynamic_shapes=dynamic,
            **{"capture": "non-strict", **case.options, **options},
        )
    return program, [str(one.message) for one in found]


@pytest.mark.share(3)
@pytest.mark.parametrize("name", CASES)
def test_a_decision_by_sizes_is_reported_and_enforced(name: str) -> None:
    case = CASES[name]
    program, found = exported(case)
    texts = [w for w in found if "OW833" in w]
    symbol = str(program.model.graph.inputs[0].shape[0])
    guard = case.guard.replace("s17", symbol)
    assert [f"`{guard}`" in text for text in texts] == [True], found
    assert __file__ in texts[0]
    assert program.report.warnings == texts
    for sizes in case.right:
        args = tuple(torch.randn(n, 3) for n in sizes)
        torch.testing.assert_close(program(*args), case.function(*args))
    for sizes in case.wrong:
        with pytest.raises(ow.errors.ExportTypeError, match="OW826"):
            program(*(torch.randn(n, 3) for n in sizes))


@pytest.mark.share(3)
@pytest.mark.parametrize("name", CASES)
def test_strict_makes_it_an_error(name: str) -> None:
    with pytest.raises(ow.errors.ExportError, match="OW834"):
        exported(CASES[name], strict=True)


WITHOUT_A_FILE: dict[str, Callable[[str, dict[str, Any]], None]] = {
    "exec": lambda text, space: exec(text, space),
    "exec_in_a_module": lambda text, space: exec(text, space | {"__name__": "mine"}, space),
    "console": lambda text, space: exec(compile(text, "<console>", "exec"), space),
    "a_name_of_its_own": lambda text, space: exec(compile(text, "<made>", "exec"), space),
}


@pytest.mark.share(3)
@pytest.mark.parametrize("capture", ["non-strict", "strict"])
@pytest.mark.parametrize("name", WITHOUT_A_FILE)
def test_code_without_a_file_is_the_users(name: str, capture: str) -> None:
    space: dict[str, Any] = {}
    text = "def f(x):\n    return x + 1 if x.shape[0] > 5 else x - 1\n"
    WITHOUT_A_FILE[name](text, space)
    case = Case(space["f"], (10,), ("n",), "n > 5", (), ())
    program, found = exported(case, capture=capture)
    assert any("OW833" in text and "`n > 5`" in text for text in found)
    with pytest.raises(ow.errors.ExportTypeError, match="OW826"):
        program(torch.randn(3, 3))
    with pytest.raises(ow.errors.ExportError, match="OW834"):
        exported(case, capture=capture, strict=True)


def test_code_that_torch_generates_is_not_the_users() -> None:
    """Guards that torch runs as generated code, and modules made of graphs."""
    inner = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()))
    first = torch.export.export(
        Window(), (torch.ones(5, 3),), dynamic_shapes=({0: Dim.AUTO},)
    ).module()
    for function in (lambda x: inner(x), lambda x: first(x)):
        _, found = exported(Case(function, (6,), ("n",), "", (), ()))
        assert all("OW833" not in text for text in found), found


def test_ranges_and_guards_are_metadata_of_the_model() -> None:
    props = exported(CASES["dim"])[0].model_proto.metadata_props
    found = {p.key: json.loads(p.value) for p in props if p.key.startswith("onnxwright.size")}
    assert found == {"onnxwright.size_ranges": {"n": [6, 64]}, "onnxwright.size_guards": ["n > 5"]}


@pytest.mark.parametrize("name", ["dim", "other_side", "name"])
def test_verification_names_the_sizes_it_does_not_cover(name: str) -> None:
    program, _ = exported(CASES[name])
    found = program.verify((torch.randn(*CASES[name].sizes, 3),))
    assert found.ok
    guard = CASES[name].guard
    assert found.notes == [f"not verified: sizes where `{guard}` does not hold"]
    assert {o.run for o in found.outputs} == {"given", "other sizes", "smallest sizes"}


def test_a_demand_is_enforced_without_a_warning() -> None:
    """The module refuses these sizes itself: there is no other side."""

    def asserting(x: Any) -> Any:
        assert x.shape[0] > 5, "too short"
        if x.shape[0] > 64:
            raise ValueError("too long")
        torch._check(x.shape[0] % 2 == 0)
        torch._assert(x.shape[0] != 32, "just not this")
        return x + 1

    with warnings.catch_warnings():
        warnings.simplefilter("error", ow.errors.OnnxwrightWarning)
        program = ow.export(asserting, (torch.ones(10),), dynamic_shapes=({0: "n"},), strict=True)
    assert program(torch.ones(64)).shape == (64,)
    for size in (4, 32, 66):
        with pytest.raises(ow.errors.ExportTypeError, match="OW826"):
            program(torch.ones(size))


def test_declared_bounds_are_enforced() -> None:
    """Without any decision, too."""
    program = ow.export(
        lambda x: x + 1, (torch.ones(10),), dynamic_shapes=({0: Dim("n", min=4, max=64)},)
    )
    assert program(torch.ones(4)).shape == (4,)
    for size in (3, 65):
        with pytest.raises(ow.errors.ExportTypeError, match=rf"`n` is {size}.*4 to 64"):
            program(torch.ones(size))
    assert '"n": [4, 64]' in program.model.metadata_props["onnxwright.size_ranges"]


def test_bounds_of_a_captured_program_are_enforced() -> None:
    captured = torch.export.export(
        torch.nn.ReLU(), (torch.ones(10),), dynamic_shapes=({0: Dim("n", min=4, max=64)},)
    )
    program = ow.export(captured)
    with pytest.raises(ow.errors.ExportTypeError, match="OW826"):
        program(torch.ones(65))


class Deciding(torch.nn.Module):  # type: ignore[misc]
    """Decides by sizes of inputs in every place of a signature."""

    def forward(self, x: Any, given: Any, *rest: Any, y: Any) -> Any:
        if x.shape[0] > 8:
            x = x[-8:]
        if given["k"][0].shape[0] % 4:
            x = x + 1
        if rest[1].shape[1] != given["k"][0].shape[0]:
            x = x * 2
        if (y.shape[0] - 1) // 2 < 11 or y.shape[0] > 100:
            x = x - 3
        return x.sum(0) + y.sum()


def captured_deciding() -> Any:
    auto = Dim.AUTO
    dims = {
        "x": {0: auto},
        "given": {"k": [{0: auto}]},
        "rest": (None, {1: auto}),
        "y": {0: auto},
    }
    args, kwargs = sized(10, 7, 9, 5)
    return torch.export.export(Deciding(), args, kwargs, dynamic_shapes=dims)


def sized(x: int, k: int, rest: int, y: int) -> tuple[Any, Any]:
    """Inputs of `Deciding`."""
    args = (torch.randn(x, 3), {"k": [torch.randn(k)]}, torch.ones(1), torch.randn(2, rest))
    return args, {"y": torch.randn(y)}


@pytest.mark.parametrize("how", ["program", "file", "module", "strict"])
def test_guards_of_a_captured_program_are_enforced(how: str, tmp_path: Path) -> None:
    captured = captured_deciding()
    model: Any = captured
    options: dict[str, Any] = {}
    if how == "file":
        model = tmp_path / "program.pt2"
        torch.export.save(captured, model)
    elif how in ("module", "strict"):
        model = captured.module()
        args, kwargs = sized(11, 6, 10, 6)
        dims = {"x": {0: "x"}, "given": {"k": [{0: "k"}]}, "rest_0": None, "rest_1": {1: "r"}}
        dims["y"] = {0: "y"}
        options = {"args": args, "kwargs": kwargs, "dynamic_shapes": dims}
        options |= {"capture": "strict"} if how == "strict" else {"strict": True}
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        program = ow.export(model, **options)
    texts = [str(w.message) for w in found if "OW833" in str(w.message)]
    # A module that refuses these sizes itself demands them.
    assert len(texts) == (0 if "strict" in options else 4), texts
    if not options:
        with pytest.raises(ow.errors.ExportError, match="OW834"):
            ow.export(model, strict=True)
    for sizes in ((10, 7, 9, 5), (9, 6, 5, 12), (300, 9, 2, 20)):
        args, kwargs = sized(*sizes)
        torch.testing.assert_close(program(*args, **kwargs), Deciding()(*args, **kwargs))
    for sizes in ((8, 7, 9, 5), (10, 8, 9, 5), (10, 7, 7, 5), (10, 7, 9, 24)):
        args, kwargs = sized(*sizes)
        with pytest.raises(ow.errors.ExportTypeError, match="OW826"):
            program(*args, **kwargs)
    assert len(json.loads(program.model.metadata_props["onnxwright.size_guards"])) == 4


def test_guards_as_text_are_read_without_running_them() -> None:
    captured = captured_deciding()
    captured._guards_code[:] = [
        "__import__('os').abort() > 3",
        "L['x'].size()[0].__class__.mro()[1] == 3",
        "L['nothing'].size()[0] > 3",
        "L['x'].stride()[0] == 3",
        "L['x'].size()[0] ** 10**9 == 3",
        "(" * 400,
        "L['x'].size()[7] > 3",
        "not (L['x'].size()[0] <= 4 or L['y'].size()[0] / 2 > max(50, L['y'].size()[0]))",
    ]
    assert [str(c) for c in conditions_of(captured)][-1].count("s") >= 2
    assert len(conditions_of(captured)) == 1


# -- numbers computed from a size through a tensor -------------------------------------------------

THROUGH_TENSORS: dict[str, Callable[[Any], Any]] = {
    "ceil_as_bound": lambda x: x[: torch.ceil(torch.as_tensor(x.shape[0] / 2)).long()],
    "int_as_bound": lambda x: x[: int(torch.tensor(x.shape[0]) * 0.5)],
    "item_of_sqrt": lambda x: x / torch.tensor(x.shape[0]).sqrt().item(),
    "item_as_bound": lambda x: x[: torch.tensor(x.shape[0] / 2).ceil().long().item()],
    "start": lambda x: x[torch.floor(torch.tensor(x.shape[0]) * 0.3).int() :],
    "last_axis": lambda x: x.T[..., : torch.ceil(torch.as_tensor(3 * x.shape[0] / 8)).long()],
    "difference": lambda x: x[: torch.tensor(x.shape[0]) - torch.tensor(x.shape[1])],
    "arange": lambda x: x + torch.arange(torch.tensor(x.shape[0]).item())[:, None],
    "a_factor": lambda x: x * torch.as_tensor(x.shape[0] / 3),
    "new_tensor": lambda x: x * x.new_tensor(x.shape[0] / 3),
    "power": lambda x: x * torch.tensor(x.shape[0]) ** -0.5,
    "math": lambda x: x / math.sqrt(x.shape[0]),
    "quotient_as_size": lambda x: x.new_ones((torch.div(x.size(0), 2, rounding_mode="trunc"), 2)),
    "quotient_down": lambda x: x[: torch.div(x.size(0), 3, rounding_mode="floor")],
    "compared": lambda x: x + 1 if torch.tensor(x.shape[0]) >= 0 else x,
    "list": lambda x: torch.as_tensor([(x.shape[0], x.shape[1]), (x.shape[0] // 2, 3)]),
    "list_of_floats": lambda x: torch.asarray((x.shape[0] / 2, x.shape[0]), dtype=torch.float32),
    "grid": lambda x: torch.linspace(0.5, x.shape[0] - 0.5, x.shape[0]) / x.shape[0],
    "grid_of_integers": lambda x: torch.linspace(9, -4, steps=x.shape[0], dtype=torch.int64),
    "grid_of_one": lambda x: torch.linspace(2, 3, x.shape[0] - 3, dtype=torch.float64),
    "grid_to_a_size": lambda x: torch.linspace(0, x.shape[0], 5),
    "grid_of_tensors": lambda x: torch.linspace(x.mean(), 4, torch.tensor(x.shape[0])),
}


def written_by_an_operator(x: Any) -> Any:
    n = torch.tensor(x.shape[0])
    n += 1
    n.mul_(2).sub_(x.shape[0])
    return x[: n - 3], n


def written_with_a_number(x: Any) -> Any:
    n, k = torch.tensor(x.shape[0]), torch.tensor(x.shape[0])
    n.fill_(2)
    k[...] = 3
    return x[:n], x[:k]


def written_through_another_name(x: Any) -> Any:
    n, k = torch.tensor(x.shape[0]), torch.tensor(x.shape[0])
    view, other = n.detach(), k.to(torch.int64)
    view -= 1
    other -= 2
    return x[:n], x[:view], x[:k]


def written_as_a_result(x: Any) -> Any:
    n, copy = torch.tensor(x.shape[0]), torch.tensor(x.shape[0]).clone()
    copy -= 1
    torch.sub(n, 2, out=n)
    return x[:n], torch.zeros(copy)


@module_with(lambda: {"count": torch.nn.Buffer(torch.tensor(2), persistent=False)})
def WritesWhatItKeeps(self, x: Any) -> Any:
    """A number that it keeps as a tensor and counts up."""
    self.count += 1
    return x[: self.count], x.shape[0] + self.count


WRITTEN = (
    written_by_an_operator, written_with_a_number, written_through_another_name,
    written_as_a_result, WritesWhatItKeeps,
)  # fmt: skip


@pytest.mark.share(2)
@pytest.mark.parametrize("made", WRITTEN)
def test_a_number_that_is_written_to_is_not_the_size_any_more(made: Any) -> None:
    def model() -> Any:
        return made() if isinstance(made, type) else made

    program = ow.export(
        model(), (torch.rand(6, 2),), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)
    )
    for rows in (6, 9):
        x = torch.rand(rows, 2)
        for got, want in zip(program(x), model()(x), strict=True):
            torch.testing.assert_close(torch.as_tensor(got), want)


class Strides(torch.nn.Module):
    """Computes how much to pad by numbers that it keeps as tensors, as audio codecs do."""

    def __init__(self) -> None:
        super().__init__()
        self.kernel = torch.nn.Buffer(torch.tensor(3), persistent=False)
        self.stride = torch.nn.Buffer(torch.tensor(2), persistent=False)

    def forward(self, x: Any) -> Any:
        length = x.shape[-1]
        frames = torch.ceil((length - self.kernel) / self.stride + 1).to(torch.int64)
        right = (frames - 1) * self.stride + self.kernel - length
        left = self.kernel - self.stride
        if max(left, right) > 100:
            raise ValueError
        return torch.nn.functional.pad(x, (left, right)).view(x.shape[0], -1)


def test_numbers_that_a_module_keeps_as_tensors_are_known_beside_sizes() -> None:
    dynamic = ({0: "batch", 1: "length"},)
    program = ow.export(Strides(), (torch.randn(2, 5),), dynamic_shapes=dynamic)
    assert program.report.captures[-1].choices == ()  # the check is known not to fail
    for length in (5, 6, 9, 12):
        x = torch.randn(3, length)
        assert torch.equal(program(x), Strides()(x))


@pytest.mark.share(3)
@pytest.mark.parametrize("name", THROUGH_TENSORS)
def test_a_number_that_passes_a_tensor_stays_a_size(name: str) -> None:
    function = THROUGH_TENSORS[name]
    program = ow.export(function, (torch.randn(8, 2),), dynamic_shapes=({0: "n"},))
    assert program.report.warnings == []
    same_results(program, function, (torch.randn(n, 2) for n in (4, 9, 11)))


def test_a_number_that_cannot_be_followed_is_reported() -> None:
    import numpy as np

    def of_numpy(x: Any) -> Any:
        return x[: int(np.ceil(x.shape[0] / 2))]

    with pytest.warns(ow.errors.OnnxwrightWarning, match="OW827"):
        program = ow.export(
            of_numpy, (torch.randn(8, 2),), dynamic_shapes=({0: "n"},), capture="non-strict"
        )
    with pytest.raises(ow.errors.ExportTypeError, match="OW826"):
        program(torch.randn(12, 2))


# -- writes into views -----------------------------------------------------------------------------


def unbound(x: Any) -> Any:
    x = x.clone()
    x.unsqueeze_(-1)
    a, b, _ = x.unbind(1)
    a.sub_(b)
    return x


def unbound_last(x: Any) -> Any:
    x = x.clone().transpose_(0, 1)
    x.unbind(0)[1].mul_(2)
    return x


@pytest.mark.parametrize("function", [unbound, unbound_last])
def test_sizes_stay_dynamic_where_torch_resolves_writes(function: Any) -> None:
    program = ow.export(
        function, (torch.randn(2, 3, 4),), dynamic_shapes=({0: "n", 2: "w"},), verify=True
    )
    assert [str(d) for d in program.model.graph.inputs[0].shape] == ["n", "3", "w"]
    x = torch.randn(5, 3, 7)
    torch.testing.assert_close(program(x), function(x))


def test_sizes_that_torch_loses_there_are_reported() -> None:
    def windows(x: Any) -> Any:
        x = x.clone()
        x.unfold(1, 2, 2).sub_(1)
        return x

    with pytest.warns(ow.errors.OnnxwrightWarning, match="OW827.*dimension 0 of `x`"):
        ow.export(windows, (torch.randn(2, 4),), dynamic_shapes=({0: "n"},))


# -- verification of the module itself -------------------------------------------------------------


class Other(torch.nn.Module):  # type: ignore[misc]
    """Computes something else while it is captured."""

    def forward(self, x: Any) -> Any:
        return x + 1 if torch.compiler.is_exporting() else x - 1


def test_what_capture_changes_is_found() -> None:
    x = torch.ones(3)
    program = ow.export(Other(), (x,))
    found = program.verify((x,))
    assert not found.ok
    assert found.step == "capture"
    assert "where `torch.compiler.is_exporting()` is true" in found.summary()
    with pytest.raises(ow.errors.ExportError, match="OW828.*is_exporting"):
        ow.export(Other(), (x,), verify=True)


def test_what_translation_changes_is_found() -> None:
    table = {"aten::relu": lambda op, x: op.Neg(x)}
    program = ow.export(torch.nn.ReLU(), (torch.ones(3),), custom_translation_table=table)
    found = program.verify((torch.ones(3),))
    assert not found.ok
    assert found.step == "translation"


def test_a_run_that_fails_at_every_other_size_is_not_ok() -> None:
    class Fixed(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            if not torch.compiler.is_exporting() and len(x) != 4:
                raise ValueError("4 rows")
            return x + 1

    program = ow.export(Fixed(), (torch.ones(4),), dynamic_shapes=({0: "n"},))
    found = program.verify((torch.ones(4),))
    assert not found.ok
    assert "other sizes" in found.summary()


def test_verification_leaves_the_module_as_it_is() -> None:
    @module_with(lambda: {"count": torch.nn.Buffer(torch.zeros(()))})
    def Counts(self, x: Any) -> Any:
        self.count.add_(1)
        return x + self.count

    model = Counts()
    program = ow.export(model, (torch.ones(3),), verify=True)
    assert program.verify((torch.ones(3),)).ok
    assert float(model.count) == 0


# -- training mode ---------------------------------------------------------------------------------


class Mode(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        return x * 2 if self.training else x


TRAINING: dict[str, tuple[Callable[[], Any], str]] = {
    "dropout": (lambda: torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Dropout()), "1 (Dropout)"),
    "batch_norm": (lambda: torch.nn.BatchNorm1d(3), "BatchNorm1d"),
    "own": (Mode, "Mode"),
    "rrelu": (torch.nn.RReLU, "RReLU"),
    "plain": (lambda: torch.nn.Linear(3, 3), ""),
    "no_dropout": (lambda: torch.nn.Dropout(0.0), ""),
}


@pytest.mark.parametrize("name", TRAINING)
def test_training_mode_is_reported_where_it_matters(name: str) -> None:
    make, place = TRAINING[name]
    x = torch.randn(4, 3)
    for training, wanted in ((True, place), (False, "")):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            ow.export(make().train(training), (x,))
        texts = [str(w.message) for w in found if "OW832" in str(w.message)]
        assert [f"`{wanted}`" in t for t in texts] == ([True] if wanted else [])


CAPTURED = {name: case for name, case in TRAINING.items() if name not in ("own", "dropout")}
CAPTURED["dropout"] = (
    lambda: torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5)),
    "1 (Dropout)",
)
CAPTURED["recurrent"] = (lambda: torch.nn.GRU(3, 3, num_layers=2, dropout=0.1), "GRU")
CAPTURED["one layer"] = (lambda: torch.nn.GRU(3, 3), "")


@pytest.mark.parametrize("name", CAPTURED)
def test_training_mode_of_a_captured_program_is_reported(name: str) -> None:
    make, place = CAPTURED[name]
    for training, wanted in ((True, place), (False, "")):
        program = torch.export.export(make().train(training), (torch.randn(4, 3),))
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            ow.export(program)
        texts = [str(w.message) for w in found if "OW832" in str(w.message)]
        assert [f"`{wanted}`" in t for t in texts] == ([True] if wanted else [])


_dropout = torch.nn.Sequential(torch.nn.Dropout(0.5))


def test_training_mode_of_what_a_function_calls() -> None:
    x, own = torch.randn(4, 3), Mode().train()
    calls = {"_dropout.0 (Dropout)": lambda x: _dropout(x), "owner (Mode)": own.forward}
    for place, function in calls.items():
        with pytest.warns(match="OW832") as found:
            ow.export(function, (x,))
        assert [f"`{place}`" in str(w.message) for w in found] == [True]


@pytest.fixture(scope="module")
def mistral() -> Any:
    """A decoder whose layers all have a sliding window of 8 tokens."""
    hub = pytest.importorskip("transformers")
    config = hub.MistralConfig(
        vocab_size=16,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        sliding_window=8,
    )
    torch.manual_seed(0)
    return hub.MistralForCausalLM(config).eval()


def _after(model: Any, tokens: int, *, positions: bool) -> dict[str, Any]:
    """Inputs of one more token after some."""
    from transformers import DynamicCache

    cache = DynamicCache(config=model.config)
    with torch.no_grad():
        model(input_ids=torch.arange(tokens)[None], past_key_values=cache)
    more = {"position_ids": torch.tensor([[tokens]])} if positions else {}
    return {"input_ids": torch.tensor([[1]]), "past_key_values": cache, **more}


def _sliding_program(model: Any, *, positions: bool) -> tuple[Any, list[str]]:
    shapes = {"input_ids": {}, "past_key_values": [[{2: Dim.DYNAMIC}], [{2: Dim.DYNAMIC}]]}
    if positions:
        shapes["position_ids"] = {}
    with warnings.catch_warnings(record=True) as found, torch.no_grad():
        warnings.simplefilter("always")
        inputs = _after(model, 4, positions=positions)
        program = ow.export(model, kwargs=inputs, dynamic_shapes=shapes)
    return program, [str(one.message) for one in found]


def test_a_sliding_cache_that_dropped_tokens_is_refused_without_positions(mistral: Any) -> None:
    program, found = _sliding_program(mistral, positions=False)
    assert any("OW836" in text and "up to 7" in text for text in found)
    for tokens in (2, 7):
        wanted = mistral(**_after(mistral, tokens, positions=False)).logits
        got = program(**_after(mistral, tokens, positions=False))
        torch.testing.assert_close(got.logits, wanted, atol=1e-4, rtol=1e-4)
    # The result keeps 7 tokens of 8.
    with pytest.raises(ow.errors.ExportTypeError, match="OW826[\\s\\S]*may have seen more"):
        program(input_ids=torch.tensor([[1]]), past_key_values=got.past_key_values)
    with pytest.raises(ow.errors.ExportTypeError, match="keeps 7 tokens and has seen 9"):
        program(**_after(mistral, 9, positions=False))


@pytest.fixture(scope="module")
def with_positions(mistral: Any) -> tuple[Any, list[str]]:
    return _sliding_program(mistral, positions=True)


def test_a_sliding_cache_that_dropped_tokens_is_right_with_positions(
    mistral: Any, with_positions: tuple[Any, list[str]]
) -> None:
    program, found = with_positions
    assert not any("OW836" in text for text in found)
    for tokens in (1, 7, 8, 12):
        wanted = mistral(**_after(mistral, tokens, positions=True)).logits
        got = program(**_after(mistral, tokens, positions=True)).logits
        torch.testing.assert_close(got, wanted, atol=1e-4, rtol=1e-4)


def test_a_cache_of_another_form_is_refused(mistral, with_positions: tuple[Any, list[str]]) -> None:
    hub = pytest.importorskip("transformers")
    program, _ = with_positions
    given = _after(mistral, 2, positions=True)
    given["past_key_values"] = hub.DynamicCache([(torch.ones(1, 1, 2, 8),) * 2])
    with pytest.raises(ow.errors.ExportTypeError, match="OW826.*nested in another way"):
        program(**given)


def test_a_guard_that_divides_by_zero_does_not_hold() -> None:
    sympy = pytest.importorskip("sympy")
    from torch.utils._sympy.functions import FloorDiv

    s = sympy.Symbol("s", integer=True, nonnegative=True)
    guard = SizeGuard(sympy.Ge(FloorDiv(12, s - 3), 1), "12 // (s - 3) >= 1", None)
    assert guard.holds({"s": 4})
    assert not guard.holds({"s": 3})
    assert not guard.holds({"s": 99})


def test_sizes_of_a_view_are_those_that_are_asked_for() -> None:
    """And not `p // (p // 4)`, with guards that they are equal."""

    def windows(x: Any) -> Any:
        n = x.shape[0]
        x = torch.nn.functional.pad(x, (0, 0, 0, 4 - n % 4))
        return x.view(x.shape[0] // 4, 4, 3).transpose(1, 2)

    program = ow.export(windows, (torch.randn(6, 3),), dynamic_shapes=({0: "n"},), strict=True)
    (shape,) = (list(o.shape) for o in program.model.graph.outputs)
    assert shape[1:] == [3, 4]
    conditions = conditions_of(program.exported_program)
    assert "Equality" not in [type(c).__name__ for c in conditions]
    same_results(program, windows, (torch.randn(n, 3) for n in (1, 4, 7, 9)))


def test_views_of_parts_of_memory() -> None:
    def parts(x: Any) -> Any:
        y = x.transpose(0, 1)[:, :, 1:5]
        return y.view(2, 3, -1, 2, 2) * 2, x[:, None].view(x.shape[0], 1, 2, 3, 6).sum(-1)

    program = ow.export(parts, (torch.randn(5, 6, 6),), dynamic_shapes=({0: "n"},), strict=True)
    x = torch.randn(4, 6, 6)
    for found, wanted in zip(program(x), parts(x), strict=True):
        torch.testing.assert_close(found, wanted)
