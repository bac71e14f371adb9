"""`onnxwright check --output-format`: annotations of GitHub and logs of SARIF; the hook."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from onnxwright.cli.main import main

BAD = """from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def misspelled(x: FLOAT["N"]) -> FLOAT["N"]:
    return op.Reluu(x)


@script()
def undefined(x: FLOAT["N"]) -> FLOAT["N"]:
    return x + gone
"""
GOOD = BAD.replace("Reluu", "Relu").replace("gone", "x")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a file that compiles, two that do not and one that cannot run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a b").mkdir()
    files = {"good.py": GOOD, "bad.py": BAD, "a b/bad.py": BAD, "ends.py": "raise SystemExit(3)"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], form: str, *files: str) -> tuple[int, str]:
    status = main(["check", *files, "--output-format", form])
    return status, capsys.readouterr().out


def test_annotations(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "github", "good.py") == (0, "")
    status, text = said(capsys, "github", "a b/bad.py")
    first, second = text.splitlines()
    assert status == 1
    place = "file=a b/bad.py,line=7,col=12,endLine=7,endColumn=19,title=OW501"
    assert first.startswith(f"::error {place}::opset18 has no operator `Reluu`%0A")
    assert second.startswith("::error file=a b/bad.py,line=12,col=16,endLine=12,endColumn=19,")
    status, text = said(capsys, "github", "ends.py", "good.py")
    assert status == 2
    assert text.startswith("::error file=ends.py,title=onnxwright::ends.py cannot be executed: ")


def test_sarif(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text = said(capsys, "sarif", "good.py")
    assert (status, json.loads(text)["runs"][0]["results"]) == (0, [])
    status, text = said(capsys, "sarif", "bad.py", "a b/bad.py", "ends.py")
    log: dict[str, Any] = json.loads(text)
    (run,) = log["runs"]
    assert (status, log["version"]) == (2, "2.1.0")
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["OW201", "OW501"]
    assert [(r["ruleId"], rules[r["ruleIndex"]]) for r in run["results"]] == [
        ("OW501", "OW501"), ("OW201", "OW201"), ("OW501", "OW501"), ("OW201", "OW201"),
    ]  # fmt: skip
    lines = BAD.splitlines()
    for result, words in zip(run["results"], ["op.Reluu", "gone"] * 2, strict=True):
        region = result["locations"][0]["physicalLocation"]["region"]
        assert region["startLine"] == region["endLine"]
        line = lines[region["startLine"] - 1]
        assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == words
    uris = [r["locations"][0]["physicalLocation"]["artifactLocation"] for r in run["results"]]
    assert [u["uri"] for u in uris[::2]] == ["bad.py", "a%20b/bad.py"]
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    (note,) = invocation["toolExecutionNotifications"]
    assert "ends.py cannot be executed" in note["message"]["text"]


def test_json_is_the_same_by_both_options(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text = said(capsys, "json", "bad.py")
    assert main(["check", "bad.py", "--json"]) == status == 1
    assert capsys.readouterr().out == text


def test_the_hook_runs_a_command_that_there_is(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hooks = Path(__file__).parents[2] / ".pre-commit-hooks.yaml"
    facts = dict(
        line.strip(" -").split(": ", 1) for line in hooks.read_text().splitlines() if line.strip()
    )
    program, *arguments = facts["entry"].split()
    assert (program, facts["id"], facts["language"]) == ("onnxwright", "onnxwright-check", "python")
    assert main([*arguments, "good.py", "bad.py"]) == 1
    assert "2 scripts, 2 with errors" in capsys.readouterr().out
