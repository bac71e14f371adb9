"""`onnxwright sweep --table`: a user's own ATen functions beside PyTorch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")

from onnxwright.atenlib.load import functions
from onnxwright.cli.main import main

HEAD = """from onnxwright import aten
from onnxwright.atenlib.optest import OpTest, XFail
from onnxwright.atenlib.rules import elementwise

mine = {}
"""
RELU = """
@aten("aten::relu", rule=elementwise("self"), table=mine)
def relu(op, self):
    return op.Max(self, 0)
"""
WRONG = """
@aten("aten::abs", rule=elementwise("self"), table=mine)
def absolute(op, self):
    return op.Neg(self)
"""
WITHOUT = """
@aten("my::twice", rule=elementwise("self"), table=mine)
def twice(op, self):
    return op.Add(self, self)
"""
REPLACED = """
@aten("aten::neg", rule=elementwise("self"), replace=True,
      tests=[OpTest("neg"), OpTest("nn.functional.relu")])
def neg(op, self):
    return op.Mul(self, -1)
"""
TAKEN = """
@aten("aten::neg", rule=elementwise("self"))
def neg(op, self):
    return op.Mul(self, -1)
"""


def sweep(tmp_path: Path, text: str, *options: str) -> int:
    path = tmp_path / "my_ops.py"
    path.write_text(HEAD + text)
    return main(["sweep", "--table", str(path), "--dtype", "float32", *options])


@pytest.fixture(autouse=True)
def _as_before() -> object:
    """Functions that a file puts into the library's table do not stay there for other tests."""
    table = functions()
    before = dict(table)
    yield
    table.clear()
    table.update(before)


def test_functions_of_a_table_are_run_on_the_samples_of_their_names(tmp_path, capsys) -> None:
    library = functions()["aten::relu"]
    assert sweep(tmp_path, RELU + WITHOUT) == 0
    out = capsys.readouterr().out
    assert "1 units, 8 passed in" in out
    assert "not tested: my::twice: torch has no OpInfo of its name" in out
    assert functions()["aten::relu"] is library
    assert "my::twice" not in functions()


def test_a_wrong_function_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.json"
    assert sweep(tmp_path, RELU + WRONG, "--json", str(report)) == 1
    assert "abs[aten::abs-float32] eager #0 failed: " in capsys.readouterr().out
    assert {u["function"] for u in json.loads(report.read_text())["units"]} == {
        "aten::relu", "aten::abs",
    }  # fmt: skip
    assert sweep(tmp_path, RELU + WRONG, "--op", "relu") == 0


def test_samples_that_run_other_operators_do_not_count(tmp_path, capsys) -> None:
    """A function in the place of the library's; samples of another one do not run it."""
    assert sweep(tmp_path, REPLACED) == 0
    assert "2 units, 2 passed, 8 skipped in" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("", (), "registers no function with @aten"),
        (
            RELU.replace("table=mine", 'table=mine, tests=[OpTest("reluu")]'),
            (),
            "no OpInfo 'reluu'",
        ),
        (RELU, ("--journal", "j.jsonl"), "--table and --journal do not go together"),
        (RELU, ("-n", "2"), "leave -n out"),
        (RELU, ("--mode", "export"), "--mode export runs OpInfos"),
        (TAKEN, (), "aten::neg"),
    ],
)
def test_what_cannot_be_run(
    tmp_path: Path,
    text: str,
    options: tuple[str, ...],
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert sweep(tmp_path, text, *options) in (1, 2)
    assert words in capsys.readouterr().err


def test_nothing_tested_is_not_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep(tmp_path, WITHOUT) == 1
    assert "no sample ran one of the functions" in capsys.readouterr().out
