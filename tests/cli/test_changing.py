"""Commands that change a model: `convert`, `extract`, `compose`, `rename`, ..."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import parser

from onnxwright.cli.main import main

MODEL = """<ir_version: 8, opset_import: ["" : 12]>
g (float[1,3] x) => (float[1] y) { h = Relu(x) y = ReduceSum<axes=[1], keepdims=0>(h) }"""


@pytest.fixture
def model(folder: Path) -> Path:
    onnx.save(parser.parse_model(MODEL), folder / "m.onnx")
    return folder


def head(path: Path) -> str:
    return onnx.printer.to_text(onnx.load(path).graph).splitlines()[0].rstrip(" {")


def test_convert_files_and_pipes(command: Any, model: Path) -> None:
    done = command("convert", "m.onnx", "--opset", "18", "-o", "new.onnx")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("new.onnx: 3 nodes, ")
    assert onnx.load(model / "new.onnx").opset_import[0].version == 18
    data = (model / "m.onnx").read_bytes()
    done = command("convert", "-", "--opset", "18", "-o", "-", input=data, text=False)
    assert onnx.load_model_from_string(done.stdout).opset_import[0].version == 18
    done = command("convert", "m.onnx", "--opset", "9", "--json", "-o", "old.onnx")
    assert json.loads(done.stdout) == {"path": "old.onnx", "nodes": 2}


def test_extract_compose_shapes_and_names(model: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(model)
    for line in (
        "extract m.onnx --inputs x --outputs h -o a.onnx",
        "extract m.onnx --inputs h --outputs y -o b.onnx",
        "compose a.onnx b.onnx -o c.onnx",
        "set-shapes c.onnx --shape x=batch,? -o d.onnx",
        "rename d.onnx --inputs x=ids --outputs y=sum --dims batch=N -o e.onnx",
        "set-shapes e.onnx --dim N=4 -o f.onnx",
        "compose a.onnx b.onnx --connect h=h --prefix b_ -o g.onnx",
        "remove-metadata g.onnx --keep *license -o h.onnx --verify",
    ):
        assert main(line.split()) == 0, line
        assert capsys.readouterr().err == ""
    assert head(model / "c.onnx") == "g (float[1,3] x) => (float[1] y)"
    assert head(model / "e.onnx") == "g (float[N,3] ids) => (float[N] sum)"
    assert head(model / "f.onnx") == "g (float[4,3] ids) => (float[4] sum)"
    assert head(model / "g.onnx") == "g (float[1,3] x) => (float[1] b_y)"


@pytest.mark.parametrize(
    ("line", "status", "words"),
    [
        ("convert m.onnx -o n.onnx", 2, "say what to convert to"),
        ("convert m.onnx --domain ml -o n.onnx", 2, "--domain takes DOMAIN=N"),
        ("convert m.onnx --opset 99 -o n.onnx", 2, "OW871"),
        ("convert no.onnx --opset 18 -o n.onnx", 2, "there is no file no.onnx"),
        ("convert m.onnx --opset 18 -o no/n.onnx", 2, "does not exist"),
        ("extract m.onnx --inputs x --outputs nothing -o n.onnx", 2, "OW876"),
        ("compose m.onnx m.onnx --connect y -o n.onnx", 2, "--connect takes NAME=VALUE"),
        ("compose m.onnx m.onnx -o n.onnx", 2, "`--connect` cannot be used: no output"),
        ("compose m.onnx m.onnx -o n.onnx", 2, "which output goes where: --connect y=x"),
        ("chekc m.py", 2, "there is no command 'chekc'; did you mean 'check'?"),
        ("set-shapes m.onnx -o n.onnx", 2, "say what changes"),
        ("rename m.onnx -o n.onnx", 2, "say what to rename"),
        ("remove-metadata m.onnx --keep license -o n.onnx", 2, "no metadata `license`"),
    ],
)
def test_mistakes(model: Path, line: str, status: int, words: str, monkeypatch, capsys) -> None:
    monkeypatch.chdir(model)
    try:
        ended: object = main(line.split())
    except SystemExit as ending:
        ended = ending.code
    assert ended == status
    assert words in capsys.readouterr().err
    assert not (model / "n.onnx").exists()


def test_messages_speak_of_options(model: Path, monkeypatch, capsys) -> None:
    """Of those of the command, where the function has arguments of Python."""
    monkeypatch.chdir(model)
    head = '<ir_version: 8, opset_import: ["" : 17]> g (float[N] x, float[N] z) => (float[N] y)'
    onnx.save(parser.parse_model(head + "{ y = Add(x, z) }"), "s.onnx")
    assert main("compose s.onnx s.onnx --connect y=x -o n.onnx".split()) == 2
    assert "give `--prefix`, which is put before the names" in capsys.readouterr().err
    assert main("compose s.onnx s.onnx --connect y=x --prefix b_ -o n.onnx".split()) == 0


def test_convert_and_rename_verify(model: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(model)
    for line in (
        "convert m.onnx --opset 18 -o a.onnx --verify",
        "rename m.onnx --inputs x=ids --outputs y=sum -o b.onnx --verify",
        "optimize m.onnx -o c.onnx --verify",
        "optimize m.onnx -o c.onnx --only relu_of_relu --only share_weights --verify",
    ):
        assert main(line.split()) == 0, line
        assert capsys.readouterr().out.splitlines()[-1] == "equal on random inputs", line
    assert main("convert m.onnx --opset 9 -o d.onnx --verify --json".split()) == 0
    assert json.loads(capsys.readouterr().out)["verified"] is True
    wrong = onnx.load("m.onnx")
    wrong.graph.node[0].op_type = "Abs"
    monkeypatch.setattr("onnxwright.versions.api.convert_version", lambda *_, **__: wrong)
    assert main("convert m.onnx --opset 18 -o e.onnx --verify".split()) == 1
    assert "differs: output `y` at size 2" in capsys.readouterr().out


def test_what_cannot_run_cannot_be_verified(model: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(model)
    head = '<ir_version: 8, opset_import: ["" : 17, "own": 1]> g (float[3] x) => (float[3] y)'
    onnx.save(parser.parse_model(head + "{ a = Abs(x)  y = own.Unknown(a) }"), "s.onnx")
    assert main("convert s.onnx --opset 18 -o t.onnx --verify".split()) == 2
    said = capsys.readouterr().err
    assert "s.onnx cannot be verified: the first model does not run" in said
    assert "own:Unknown" in said  # what the runtime says of it
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float x) => (float y) { y = Abs(x) }'
    onnx.save(parser.parse_model(text), "r.onnx")
    proto = onnx.load("r.onnx")
    proto.graph.input[0].type.tensor_type.ClearField("shape")  # of any number of dimensions
    onnx.save(proto, "r.onnx")
    assert main("optimize r.onnx --verify".split()) == 2
    assert "nothing can be drawn for the input `x`" in capsys.readouterr().err


@pytest.mark.filterwarnings("always::onnxwright.errors.OnnxwrightWarning")
def test_a_warning_of_a_command_points_at_no_line_of_python(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(model)
    proto = onnx.load("m.onnx")
    proto.training_info.add().algorithm.name = "step"
    onnx.save(proto, "s.onnx")
    monkeypatch.setattr("sys.argv", [__file__])
    assert main("optimize s.onnx -o t.onnx".split()) == 0
    said = capsys.readouterr().err
    assert "OW884" in said
    assert "-->" not in said


GELU = """<ir_version: 10, opset_import: ["" : 20]>
g (float[N,4] x) => (float[N,4] y) {
  half = Constant<value_float = 0.5>()  one = Constant<value_float = 1.0>()
  root = Constant<value_float = 1.41421356>()
  a = Div(x, root)  b = Erf(a)  c = Add(b, one)  d = Mul(x, c)  e = Mul(d, half)  y = Identity(e) }
"""


def test_a_rule_that_is_not_known_is_a_wrong_option(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(model)
    for option in ("--only", "--skip"):
        assert main(f"optimize m.onnx {option} gelu_er".split()) == 2
        said = capsys.readouterr().err
        assert f"`{option}` of the optimizer cannot be 'gelu_er'" in said
        assert "did you mean `gelu_erf`" in said
    assert main(["rules", "gelu_erf"]) == 0
    assert capsys.readouterr().out.split() == ["gelu_erf", "Gelu", "written", "with", "Erf."]
    assert main(["rules", "share", "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == ["share_weights"]
    assert main(["rules", "no such"]) == 2


def test_explain_says_rule_by_rule_and_so_does_the_page_of_diff(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    onnx.save(parser.parse_model(GELU), "a.onnx")
    assert main("optimize a.onnx --explain --verify".split()) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["gelu_erf", "1", "5", "1", "Mul", "2,", "Add,", "Div,", "Erf", "->", "Gelu"] in lines
    assert ["the", "model", "9", "1", "all", "nodes"] in lines
    assert lines[-1] == ["equal", "on", "random", "inputs"]
    assert lines[-2][0] == "y"
    assert 0 <= float(lines[-2][1]) < 1e-5
    assert [p.name for p in folder.glob("*.onnx")] == ["a.onnx"]  # without -o nothing is written
    assert main("optimize a.onnx -o b.onnx --explain --json".split()) == 0
    steps = {s["name"]: s for s in json.loads(capsys.readouterr().out)["steps"]}
    assert (steps["gelu_erf"]["before"], steps["gelu_erf"]["after"]) == (5, 1)
    gone = sum(s["before"] - s["after"] for s in steps.values())
    assert gone == 8
    main("diff a.onnx b.onnx --html d.html".split())
    page = Path("d.html").read_text(encoding="utf-8")
    assert "<h2>rules</h2>" in page
    assert "gelu_erf" in page
    main("diff a.onnx a.onnx --html e.html".split())
    assert "<h2>rules</h2>" not in Path("e.html").read_text(encoding="utf-8")
