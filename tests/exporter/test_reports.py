"""The report of an export: what it says of success and of failure, and where it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import onnxwright as ow
from onnxwright import errors
from onnxwright.exporter.report.export_report import Report
from onnxwright.exporter.report.pages import Code, Page, Section, Table

X = torch.linspace(-1, 1, 16).reshape(2, 8)


@torch.library.custom_op("reports::turn", mutates_args=())  # type: ignore[misc]
def turn(x: torch.Tensor, by: int) -> torch.Tensor:
    """An operator that nobody knows."""
    return x * by


@turn.register_fake  # type: ignore[misc]
def _(x: Any, by: int) -> Any:
    return torch.empty_like(x)


@torch.library.custom_op("reports::twist", mutates_args=())  # type: ignore[misc]
def twist(x: torch.Tensor) -> torch.Tensor:
    """Another."""
    return -x


@twist.register_fake  # type: ignore[misc]
def _(x: Any) -> Any:
    return torch.empty_like(x)


class Inner(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        return twist(torch.relu(turn(x, 3)))


class Outer(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.parts = torch.nn.ModuleList([Inner(), Inner()])
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Any) -> Any:
        self.calls.add_(1)
        for part in self.parts:
            x = part(x)
        return x + self.calls


DYNAMIC = {"x": {0: "batch"}}


def test_operators_without_a_function_may_be_written_into_views() -> None:
    """The message is about them, not about the write."""

    def into_a_row(x: Any) -> Any:
        y, z = twist(x), x * 1
        y[0] = 1.0
        z[0] = turn(x, 3)[0]
        return y + z

    with pytest.raises(errors.ExportError, match="OW822") as caught:
        ow.export(into_a_row, (X,))
    assert "reports::turn" in str(caught.value)
    assert "reports::twist" in str(caught.value)


def test_a_failing_export_writes_its_report_and_names_it(tmp_path: Path) -> None:
    """Each failing node has its types, its module and its line; the error has all of it."""
    with pytest.raises(errors.ExportError, match="OW822") as caught:
        ow.export(Outer(), (X,), dynamic_shapes=DYNAMIC, report=tmp_path / "why")
    assert f"the report is in {tmp_path / 'why.md'}" in str(caught.value)
    found = caught.value.report.failures
    assert [n.target for n in found] == ["reports::turn"] * 2 + ["reports::twist"] * 2
    first = found[0]
    assert first.inputs == ("x: FLOAT[batch, 8]", "by=3")
    assert first.outputs == ("FLOAT[batch, 8]",)
    assert first.module == "parts.0"
    assert first.kind.endswith("Inner")
    assert first.place.startswith(__file__)
    assert first.code == "return twist(torch.relu(turn(x, 3)))"
    text = (tmp_path / "why.md").read_text()
    assert text.startswith("# ONNX export: failed")
    (row,) = [line for line in text.splitlines() if line.startswith("| turn |")]
    for part in ("reports::turn", "x: FLOAT[batch, 8]<br>by=3", "parts.0", "turn(x, 3)"):
        assert part in row


def test_what_comes_after_a_missing_operator_is_looked_at_too() -> None:
    """`twist` is given what `turn` would give: both are told."""
    with pytest.raises(errors.ExportError, match="2 operators: `reports::turn`, `reports::twist`"):
        ow.export(Inner(), (X,))


def test_an_error_has_its_report_without_files(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(errors.ExportError) as caught:
        ow.export(Inner(), (X,))
    assert "OW822" in caught.value.report.markdown()
    assert "report is in" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(errors.ExportError, match="the report is in onnxwright_export.md"):
        ow.export(Inner(), (X,), report=True)
    assert [p.name for p in tmp_path.iterdir()] == ["onnxwright_export.md"]


def test_a_function_that_fails_is_in_the_report() -> None:
    def wrong(op: Any, x: Any, by: Any) -> Any:
        return x.upside_down()

    table = {turn: wrong, twist: lambda op, x: -x}
    with pytest.raises(errors.ExportError, match="OW823") as caught:
        ow.export(Inner(), (X,), custom_translation_table=table)
    (note,) = caught.value.report.failures
    assert (note.node, note.target) == ("turn", "reports::turn")
    assert "upside_down" in note.reason


def test_a_report_says_who_translated_what(tmp_path: Path) -> None:
    program = ow.export(
        Outer(),
        (X,),
        dynamic_shapes=DYNAMIC,
        custom_translation_table={turn: lambda op, x, by: x * float(by)},
        fallback=lambda name: (lambda op, x: -x) if name == "reports::twist" else None,
        report=str(tmp_path / "v1.2"),
        verify=True,
    )
    report = program.report
    assert report.ways["reports.turn.default"] == "`custom_translation_table`"
    assert report.ways["reports.twist.default"] == "`fallback`"
    assert report.ways["aten.relu.default"] == "the library"
    assert [(n.node, n.module) for n in report.fallen] == [
        ("twist", "parts.0"),
        ("twist_1", "parts.1"),
    ]
    assert report.fallbacks == {"reports::twist": 2}
    assert report.mutations == {"calls": "calls.new"}
    text = (tmp_path / "v1.2.md").read_text()
    for words in (
        "# ONNX export: done",
        "verified: 6 outputs agree",
        "## Translated by the fallback",
        "| calls | calls.new |",
        "| input | x: FLOAT[batch,8] |",
        "| capture |",
        "| torch |",
    ):
        assert words in text, words


def test_dropped_values_are_reported() -> None:
    table = {turn: lambda op, x, by: x, twist: lambda op, x: x}
    made = ow.export(Outer(), (X,), mutations="drop", custom_translation_table=table)
    assert made.report.mutations == {"calls": ""}
    assert "| calls | (dropped) |" in made.report.markdown()


def test_a_decomposition_is_reported() -> None:
    """An operator that torch takes apart, and what became of it."""
    made = ow.export(lambda x: torch.ops.aten.special_xlog1py(x.abs(), x.abs()), (X,))
    assert set(made.report.ways.values()) <= {"the library", "PyTorch's decomposition"}
    assert made.report.ways


def test_warnings_are_in_the_report() -> None:
    with pytest.warns(errors.OnnxwrightWarning, match="OW827"):
        made = ow.export(torch.nn.Linear(8, 2), (X,), dynamic_shapes=({1: "n"},))
    assert "OW827" in made.report.markdown()


def test_a_report_that_cannot_be_written_is_told_before(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.md").mkdir()
    for path, words in (
        (tmp_path / "file" / "report", "nothing can be written"),
        (tmp_path / "folder", "is a folder"),
        ("", "is not a path"),
        (3, "3 is not a path"),
    ):
        with pytest.raises(errors.ExportValueError, match=words):
            ow.export(torch.nn.ReLU(), (X,), report=path)


def test_a_full_disk_does_not_hide_the_error(tmp_path, monkeypatch) -> None:
    def full(*_: Any) -> None:
        raise OSError("no space")

    monkeypatch.setattr(Report, "save", full)
    with pytest.warns(UserWarning, match="cannot be written: no space"):
        with pytest.raises(errors.ExportError, match="OW822"):
            ow.export(Inner(), (X,), report=tmp_path / "why")
    with pytest.warns(UserWarning, match="cannot be written: no space"):
        made = ow.export(torch.nn.ReLU(), (X,), report=tmp_path / "why")
    assert made.report.error == ""


def test_what_torch_prints_of_a_failed_way_is_in_the_report_only(capfd) -> None:
    """A way to capture that fails prints its graph; the user's terminal stays clean."""

    def choose(x: Any) -> Any:
        return x if x.sum() > 0 else (x, x)

    with pytest.raises(errors.ExportError) as caught:
        ow.export(choose, (X,))
    printed = capfd.readouterr()
    assert printed.err == ""
    assert printed.out == ""
    told = caught.value.report.captures
    assert [o.strategy for o in told] == ["source", "non-strict"]
    assert any("aten.sum" in o.output for o in told)
    assert "<summary>What PyTorch says of non-strict</summary>" in caught.value.report.markdown()


def test_what_the_user_prints_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    def talks(x: Any) -> Any:
        print("at work", file=sys.stderr)
        return x + 1

    ow.export(talks, (X,))
    assert "at work" in capsys.readouterr().err


def test_pages_keep_what_they_are_given() -> None:
    """Nothing in a cell ends a row or becomes markup."""
    page = Page(
        "a <b>",
        [
            Section("t", Table(("x",), [("a|b\n<script>",)])),
            Section("c", Code("```\nfenced\n```")),
        ],
    )
    lines = page.markdown().splitlines()
    assert "| a\\|b<br>&lt;script&gt; |" in lines
    assert lines.count("````") == 2
