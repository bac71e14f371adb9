"""`onnxwright check --output-format`: annotations of GitHub and logs of SARIF; the hook."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from onnxwright.cli.check import watching
from onnxwright.cli.check.scripts import check_files
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


def test_the_hook_runs_a_command_that_there_is(folder, capsys) -> None:
    hooks = Path(__file__).parents[2] / ".pre-commit-hooks.yaml"
    facts = dict(
        line.strip(" -").split(": ", 1) for line in hooks.read_text().splitlines() if line.strip()
    )
    program, *arguments = facts["entry"].split()
    assert (program, facts["id"], facts["language"]) == ("onnxwright", "onnxwright-check", "python")
    assert main([*arguments, "good.py", "bad.py"]) == 1
    assert "2 scripts, 2 with errors" in capsys.readouterr().out


CALLS = """from onnxwright import FLOAT, script
from onnxwright import opset18 as op


@script()
def operator(weight: FLOAT["N"]) -> FLOAT["N"]:
    return op.Reluu(weight)


@script()
def attribute(weight: FLOAT["N"]) -> FLOAT["N"]:
    return op.Softmax(
        weight,
        axes=-1,
    )


@script()
def name(weight: FLOAT["N"]) -> FLOAT["N"]:
    return op.Relu(wieght)


@script()
def nothing_near(weight: FLOAT["N"]) -> FLOAT["N"]:
    return weight + xyzzy


@script()
def twice(axes: FLOAT["N"]) -> FLOAT["N"]:
    return op.Softmax(axes, axes=-1)
"""


def test_fixes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the fixes replace is the misspelled word alone; an unsure one is not offered."""
    Path("calls.py").write_text(CALLS)
    _, text = said(capsys, "json", "calls.py")
    fixes_of_each = [d["fixes"] for d in json.loads(text)["files"][0]["diagnostics"]]
    assert [[f["title"] for f in fixes] for fixes in fixes_of_each] == [
        ["replace `Reluu` by `Relu`"], ["replace `axes` by `axis`"],
        ["replace `wieght` by `weight`"], [], [],
    ]  # fmt: skip
    lines = CALLS.splitlines()
    for (fix,) in fixes_of_each[:3]:
        span = fix["span"]
        line = lines[span["line"] - 1]
        lines[span["line"] - 1] = line[: span["col"]] + fix["text"] + line[span["end_col"] :]
    Path("mended.py").write_text(
        "\n".join(lines).replace("xyzzy", "1.0").split("@script()\ndef twice")[0]
    )
    assert said(capsys, "text", "mended.py")[0] == 0
    _, text = said(capsys, "sarif", "calls.py")
    results = json.loads(text)["runs"][0]["results"]
    assert ["fixes" in r for r in results] == [True, True, True, False, False]
    (change,) = results[0]["fixes"][0]["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "calls.py"
    (replacement,) = change["replacements"]
    assert replacement["insertedContent"] == {"text": "Relu"}
    assert replacement["deletedRegion"] == {
        "startLine": 7, "startColumn": 15, "endLine": 7, "endColumn": 20,
    }  # fmt: skip


def test_watching(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files and the modules they import are read again when they change, until Ctrl-C."""
    Path("helping_watch.py").write_text("def twice(x):\n    return x + x\n")
    body = GOOD.replace("return x + x", "return helping_watch.twice(x)")
    Path("watched.py").write_text("import helping_watch\n" + body)
    changes = [
        lambda: None,
        lambda: Path("watched.py").write_text("import helping_watch\n" + BAD),
        lambda: None,
        lambda: Path("watched.py").write_text("import helping_watch\n" + body),
        lambda: Path("helping_watch.py").write_text("def twice(x):\n    return x + gone_now\n"),
        lambda: Path("watched.py").unlink(),
    ]
    left = iter(changes)

    def sleep(seconds: float) -> None:
        assert seconds == watching.INTERVAL
        change = next(left, None)
        if change is None:
            raise KeyboardInterrupt
        change()

    files = ["watched.py"]
    status = watching.watch(files, lambda: check_files(files), sleep=sleep, say=lambda _: None)
    out, err = capsys.readouterr()
    assert [line for line in out.splitlines() if line.startswith("watched.py: ")] == [
        "watched.py: 2 scripts, 0 with errors",
        "watched.py: 2 scripts, 2 with errors",
        "watched.py: 2 scripts, 0 with errors",
        "watched.py: 2 scripts, 1 with errors",
    ]
    assert "gone_now" in out
    assert (status, "there is no file watched.py" in err) == (2, True)


def test_watching_is_an_option_of_the_command(folder, capsys, monkeypatch) -> None:
    asked: list[Any] = []

    def watch(files: list[str], check: Any) -> int:
        asked.append(files)
        return int(check())

    monkeypatch.setattr(watching, "watch", watch)
    assert main(["check", "bad.py", "--watch", "--output-format", "github"]) == 1
    assert asked == [["bad.py"]]
    assert capsys.readouterr().out.count("::error") == 2
