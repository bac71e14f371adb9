"""Sizes that were asked for: kept, related as in the example, and reported where they are lost."""

from __future__ import annotations

import warnings
from typing import Any

import onnx_ir as ir
import pytest
import torch

import onnxwright as ow
from onnxwright.errors import ExportTypeError, ExportValueError, OnnxwrightWarning
from tests.harness.modules import module_with, same_results

pad_sequence = torch.nn.utils.rnn.pad_sequence


def _exported(module: Any, args: Any, shapes: Any, **options: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        program = ow.export(module, args, dynamic_shapes=shapes, **options)
    return program, [str(w.message) for w in said if isinstance(w.message, OnnxwrightWarning)]


# -- pad_sequence ----------------------------------------------------------------------------------


@module_with(lambda **options: {"options": options})
def Pad(self, a: Any, b: Any, c: Any) -> Any:
    return pad_sequence([a, b, c], **self.options)


@pytest.mark.parametrize(
    "options", [{}, {"batch_first": True, "padding_value": -1.5}, {"padding_side": "left"}]
)
def test_pad_sequence_of_dynamic_lengths(options: dict[str, Any]) -> None:
    args = (torch.randn(4, 2), torch.randn(3, 2), torch.randn(3, 2))
    program, said = _exported(Pad(**options), args, ({0: "a"}, {0: "b"}, None), verify=True)
    assert not said
    for lengths in ((1, 6), (9, 2), (2, 2)):
        given = (*(torch.randn(n, 2) for n in lengths), args[2])
        assert torch.equal(program(*given), Pad(**options)(*given))


class Filtered(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return pad_sequence([row[row > 0] for row in x], batch_first=True)


def test_pad_sequence_of_rows_that_are_chosen() -> None:
    program, said = _exported(Filtered(), (torch.randn(2, 5),), ({0: "b"},))
    assert not said
    same_results(program, Filtered(), (torch.randn(rows, 5) for rows in (1, 2, 5)), rtol=0, atol=0)


# -- sizes that are lost ---------------------------------------------------------------------------


class Two(torch.nn.Module):
    """Two sizes that have nothing to do with each other."""

    def forward(self, x: Any, y: Any) -> Any:
        return x.relu() * 2, y + 1


class Pair(torch.nn.Module):
    """`y` has to have 7 - a rows, whatever was declared."""

    def forward(self, x: Any, y: Any) -> Any:
        return torch.cat([x, y]).view(7, 2) * 2


_TWO = ((torch.randn(3, 2), torch.randn(4, 2)), ({0: "a"}, {0: "b"}))


def _sizes_of(program: Any) -> list[Any]:
    return [n.meta["val"].shape[0] for n in program.graph.nodes if n.op == "placeholder"]


def _must_be_seven(a: Any, b: Any) -> None:
    assert a + b == 7


def _fixing(fix: Any) -> Any:
    """A strategy that fixes sizes of what torch captures."""

    def capture(model: Any, args: Any, kwargs: Any, dims: Any) -> Any:
        program = torch.export.export(model, args, kwargs, dynamic_shapes=dims)
        fix(*_sizes_of(program))
        return program

    return capture


@pytest.mark.parametrize(
    ("capture", "lost"),
    [
        (lambda m, args, kwargs, _: torch.export.export(m, args, kwargs), ["(`a`)", "(`b`)"]),
        (_fixing(lambda a, b: int(a)), ["(`a`)"]),
        (_fixing(lambda a, b: (int(b), int(a))), ["(`a`)", "(`b`)"]),
        (_fixing(_must_be_seven), ["what is computed of sizes"]),
    ],
)
def test_a_size_that_a_strategy_fixes_is_reported(capture: Any, lost: list[str]) -> None:
    _, said = _exported(Two(), *_TWO, capture=capture)
    told = [text for text in said if "OW827" in text]
    assert len(told) == len(lost)
    assert all(name in text for name, text in zip(lost, told, strict=True))


def _build_with(monkeypatch: pytest.MonkeyPatch, number: int, size: int | str) -> None:
    """Let the translation give an input another first size than the capture has."""
    from onnxwright.exporter import api

    own = api.build

    def build(*args: Any, **options: Any) -> Any:
        built = own(*args, **options)
        value = built.model.graph.inputs[number]
        value.shape = ir.Shape([size, *value.shape[1:]])
        return built

    monkeypatch.setattr(api, "build", build)


@pytest.mark.parametrize("number", [0, 1])
def test_a_size_that_is_lost_after_the_capture_is_reported(monkeypatch, number: int) -> None:
    _build_with(monkeypatch, number, 3)
    _, said = _exported(Two(), *_TWO)
    assert len(said) == 1
    assert "OW827" in said[0]
    assert f"dimension 0 of `{'xy'[number]}` (`{'ab'[number]}`)" in said[0]
    assert "fixes it to 3" in said[0]


def test_a_size_that_is_an_expression_is_reported_where_the_module_takes_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _build_with(monkeypatch, 1, "7 - a")
    _, said = _exported(Two(), *_TWO)
    assert len(said) == 1
    assert "OW827" in said[0]
    assert "dimension 0 of `y` (`b`)" in said[0]
    assert "fixes it to `7 - a`" in said[0]


def test_a_size_that_is_an_expression_is_right_where_the_module_takes_no_other(monkeypatch) -> None:
    _build_with(monkeypatch, 1, "7 - a")
    _, said = _exported(Pair(), *_TWO)
    assert not [text for text in said if "dimension 0 of `y`" in text]


class Sliding(torch.nn.Module):
    """A mask of a fixed window: `kept + seq` has to be 7 in what is captured of 4 and 3."""

    def forward(self, x: Any, kept: Any) -> Any:
        every = torch.cat([kept, x], 1)
        window = torch.ones(7)[-every.shape[1] :] if every.shape[1] < 7 else torch.ones(7)
        return every[:, -7:] * window


def test_a_size_that_becomes_an_expression_is_reported_and_checked() -> None:
    args = (torch.randn(2, 3), torch.randn(2, 4))
    program, said = _exported(Sliding(), args, ({1: "seq"}, {1: "kept"}))
    assert [str(v.shape) for v in program.model.graph.inputs] == ["[2,seq]", "[2,kept]"], said
    taken = []
    for seq, kept in ((3, 4), (2, 3), (4, 1), (5, 6)):
        given = (torch.randn(2, seq), torch.randn(2, kept))
        try:
            found = program(*given)
        except ExportTypeError:
            continue  # it says so
        taken.append((seq, kept))
        torch.testing.assert_close(found, Sliding()(*given))
    assert (3, 4) in taken


# -- relations of the example ----------------------------------------------------------------------


class Step(torch.nn.Module):
    def forward(self, x: Any, past: Any, mask: Any) -> Any:
        if past.shape[1] + x.shape[1] > mask.shape[1]:
            return torch.cat([past, x], 1) * 0
        return torch.cat([past, x], 1) * mask


@pytest.mark.parametrize("names", [("seq", "past", "total"), ("seq", "past", "past + seq")])
def test_an_example_of_one_token_takes_its_own_side(names: tuple[str, str, str]) -> None:
    args = (torch.ones(2, 1), torch.ones(2, 5), torch.ones(2, 6))
    program, _ = _exported(Step(), args, tuple({1: n} for n in names), verify=True)
    for seq, past in ((1, 5), (1, 9), (3, 2)):
        given = (torch.randn(2, seq), torch.randn(2, past), torch.randn(2, seq + past))
        torch.testing.assert_close(program(*given), Step()(*given))


def test_an_example_that_would_be_refused_is_an_error() -> None:
    class One(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2 if x.shape[0] == 1 else x

    with pytest.raises(ExportValueError, match="refuse its own example"):
        _exported(One(), (torch.ones(1, 2),), ({0: "n"},), capture="non-strict")
    program, _ = _exported(One(), (torch.ones(1, 2),), ({0: "n"},))
    same_results(program, One(), (torch.ones(n, 2) for n in (1, 3)), rtol=0, atol=0)


# Modules of several dynamic sizes, the sizes of the example, and others.
class Appended(torch.nn.Module):
    """Another size has to be larger."""

    def forward(self, x: Any, past: Any) -> Any:
        if x.shape[1] > past.shape[1]:
            return x * 0 + past.sum()
        return torch.cat([past[:, x.shape[1] :], x], 1)


class Crossed(torch.nn.Module):
    """Two sizes of one input, the second of which is compared with the first."""

    def forward(self, q: Any, k: Any) -> Any:
        scores = q @ k.mT
        if q.shape[1] != k.shape[1]:
            scores = scores * 2
        return scores.softmax(-1)


class Batches(torch.nn.Module):
    """A batch of one beside a length."""

    def forward(self, x: Any) -> Any:
        if x.shape[0] > x.shape[1]:
            return x.sum(1)
        return x.mean(1)


class Ones(torch.nn.Module):
    """Two sizes of one that need not be equal, beside a third that is their sum."""

    def forward(self, a: Any, b: Any, total: Any) -> Any:
        if a.shape[0] + b.shape[0] != total.shape[0]:
            return total * 0
        return total + torch.cat([a, b])


_ONE_BESIDE = {
    "another is larger": (Appended(), [(2, 1, 4), (2, 5, 4)], ({1: "n"}, {1: "past"}),
                          [[(2, 3, 4), (2, 8, 4)], [(2, 1, 4), (2, 2, 4)]]),
    "two are different": (Crossed(), [(2, 1, 4), (2, 6, 4)], ({1: "n"}, {1: "m"}),
                          [[(2, 2, 4), (2, 9, 4)], [(2, 7, 4), (2, 3, 4)]]),
    "a batch and a length": (Batches(), [(1, 5, 4)], ({0: "batch", 1: "length"},),
                             [[(2, 7, 4)], [(1, 2, 4)], [(4, 4, 4)]]),
    "two of one and their sum": (Ones(), [(1,), (1,), (2,)], ({0: "a"}, {0: "b"}, {0: "total"}),
                                 [[(3,), (1,), (4,)], [(1,), (5,), (6,)]]),
}  # fmt: skip


@pytest.mark.parametrize("name", _ONE_BESIDE)
def test_an_example_of_size_one_beside_another_size(name: str) -> None:
    module, example, shapes, others = _ONE_BESIDE[name]
    args = tuple(torch.randn(s) for s in example)
    program, _ = _exported(module, args, shapes)
    assert all(not isinstance(d, int) for v in program.model.graph.inputs[:1] for d in v.shape[:1]
               if 0 in shapes[0])  # fmt: skip
    for sizes in (example, *others):
        given = tuple(torch.randn(s) for s in sizes)
        torch.testing.assert_close(program(*given), module(*given))


# -- guards that say nothing -----------------------------------------------------------------------


def test_names_that_are_sums() -> None:
    class Sum(torch.nn.Module):
        def forward(self, x: Any, past: Any, mask: Any) -> Any:
            if mask.shape[1] > past.shape[1] + x.shape[1]:
                return x
            return torch.cat([past, x], 1) * mask

    args = (torch.randn(2, 3), torch.randn(2, 4), torch.randn(2, 7))
    for name in ("past + seq", "past+seq"):
        program, said = _exported(Sum(), args, ({1: "seq"}, {1: "past"}, {1: name}))
        assert not said
        with pytest.raises(ExportTypeError):
            program(*args[:2], torch.randn(2, 8))
    with pytest.raises(ExportValueError, match="the sum is 7"):
        _exported(Sum(), (*args[:2], torch.randn(2, 6)), ({1: "seq"}, {1: "past"}, {1: name}))


def test_sizes_of_one_name_are_equal() -> None:
    class Cut(torch.nn.Module):
        def forward(self, x: Any, mask: Any) -> Any:
            n = x.shape[1]
            return x * (mask[:, :n] * 0 if mask.shape[1] > n else mask)

    _, said = _exported(Cut(), (torch.randn(2, 5), torch.randn(2, 5)), ({1: "n"}, {1: "n"}))
    assert not said


def test_a_bound_that_is_declared_is_not_reported() -> None:
    class Bounded(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x if x.shape[0] <= 64 else x * 2

    dim = torch.export.Dim("n", min=2, max=64)
    _, said = _exported(Bounded(), (torch.randn(5),), ({0: dim},))
    assert not said


def test_conditions_are_written_as_by_hand() -> None:
    class Tiles(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2 if (x.shape[0] + 31) // 32 != 1 else x

    _, said = _exported(Tiles(), (torch.randn(40),), ({0: "w"},), capture="non-strict")
    assert len(said) == 1
    assert "`w > 32`" in said[0]


# -- lists among results ---------------------------------------------------------------------------


class Dicts(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return [{"m": row.max(), "i": row.argmax()} for row in x]


class Nested(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        found = []
        for row in x:
            found.append({"twice": (row * 2, row.min()), "m": row.max()})
        return {"all": found, "m": torch.stack([one["m"] for one in found])}


@pytest.mark.parametrize("kind", [Dicts, Nested])
def test_a_list_of_dicts_has_a_dynamic_length(kind: Any) -> None:
    program, said = _exported(kind(), (torch.randn(2, 5),), ({0: "b"},))
    assert not said
    same_results(program, kind(), (torch.randn(rows, 5) for rows in (1, 4)))


class Detections(torch.nn.Module):
    """Parts of run-time lengths."""

    def forward(self, boxes: Any, scores: Any) -> Any:
        return [{"boxes": b[s > 0.5], "n": (s > 0.5).sum()} for b, s in zip(boxes, scores)]


class Kept(torch.nn.Module):
    def forward(self, boxes: Any, scores: Any) -> Any:
        found = []
        for b, s in zip(boxes, scores):
            found.append((b[s > 0.5], s[s > 0.5]))
        return found


class Lists(torch.nn.Module):
    """A list for each part."""

    def forward(self, boxes: Any, scores: Any) -> Any:
        return {
            "boxes": [b[s > 0.5] for b, s in zip(boxes, scores)],
            "n": torch.stack([(s > 0.5).sum() for s in scores]),
        }


_DETECTED = ((torch.rand(3, 6, 4), torch.rand(3, 6)), ({0: "b"}, {0: "b"}))


@pytest.mark.parametrize("kind", [Detections, Kept, Lists])
def test_a_list_of_parts_of_run_time_lengths_has_a_dynamic_length(kind: Any) -> None:
    program, said = _exported(kind(), *_DETECTED)
    assert not said
    for rows in (1, 2, 5):
        given = (torch.rand(rows, 6, 4), torch.rand(rows, 6))
        torch.testing.assert_close(program(*given), kind()(*given))


class Split(torch.nn.Module):
    def forward(self, x: Any, sizes: Any) -> Any:
        return {"parts": x.split(sizes.tolist()), "sizes": sizes.tolist(), "twice": x * 2}


def test_a_split_by_values_is_a_result() -> None:
    dynamic = torch.export.Dim.DYNAMIC
    args = (torch.randn(6, 2), torch.tensor([2, 4]))
    program, _ = _exported(Split(), args, ({0: dynamic}, {0: dynamic}), capture="source")
    x, sizes = torch.randn(9, 2), torch.tensor([4, 0, 5])
    found, wanted = program(x, sizes), Split()(x, sizes)
    assert found["sizes"] == wanted["sizes"]
    assert len(found["parts"]) == 3
    torch.testing.assert_close(found["parts"], wanted["parts"])
