"""Every command in a pipe: what it prints, what it writes, how it exits."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

from onnxwright.cli.main import main
from onnxwright.cli.main import parser as grammar

MODEL = """<ir_version: 10, opset_import: ["" : 18]>
g (float[N, 3] x) => (float[N, 3] y) <float[3] w = {1, 2, 3}> { t = Mul(x, w) y = %s(t) }"""
SCRIPT = "two scripts.py:model"


@pytest.fixture
def models(folder: Path) -> Path:
    """Two models that differ in one operator."""
    for name, op in (("one", "Relu"), ("two", "Neg")):
        onnx.save(parser.parse_model(MODEL % op), folder / f"{name} model.onnx")
    return folder


def commands() -> list[str]:
    action = next(a for a in grammar()._actions if a.dest == "command")
    assert action.choices is not None
    return list(action.choices)


def test_the_guide_lists_the_commands(root: Path) -> None:
    text = (root / "docs" / "guide" / "command_line.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`.*?`) \|", text, re.MULTILINE)
    listed = [name for cell in cells for name in re.findall(r"`([a-z-]+)", cell)]
    assert sorted(listed) == sorted(commands())


@pytest.mark.parametrize("name", commands())
def test_help_has_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        grammar().parse_args([name, "--help"])
    assert ended.value.code == 0
    assert f"onnxwright {name}" in capsys.readouterr().out.split("example", 1)[1]


def test_compile_writes_a_model_whose_name_has_a_space(command: Any, folder: Path) -> None:
    done = command("compile", SCRIPT, "-o", "my model.onnx", "--check")
    assert (done.returncode, done.stdout) == (0, f"my model.onnx: 4 nodes, {_size(folder)} bytes\n")
    assert done.stderr == "this file prints when it is executed\n"
    model = onnx.load(folder / "my model.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert sorted(p.name for p in folder.iterdir() if p.name != "__pycache__") == [
        "my model.onnx",
        "two scripts.py",
    ]


def _size(folder: Path) -> str:
    return f"{(folder / 'my model.onnx').stat().st_size:,}"


def test_compile_takes_types_attributes_and_the_form_from_the_name(command, folder) -> None:
    done = command(
        "compile", "two scripts.py:scale", "--type", "x=DOUBLE[B, 2]", "--attribute", "factor=4",
        "-o", "scale.onnxtxt", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["path"] == "scale.onnxtxt"
    text = (folder / "scale.onnxtxt").read_text(encoding="utf-8")
    assert "double[B,2] x" in text


def test_a_model_goes_through_pipes(command: Any) -> None:
    compiled = command("compile", SCRIPT, "-o", "-", text=False)
    assert compiled.returncode == 0, compiled.stderr
    assert onnx.load_model_from_string(compiled.stdout).graph.name == "model"
    ran = command(
        "run", "-", "--random", "--dim", "N=5", "--json", input=compiled.stdout, text=False
    )
    assert json.loads(ran.stdout)["outputs"]["output"]["shape"] == [5, 3], ran.stderr
    shown = command("show", "-", input=compiled.stdout, text=False)
    assert b"graph model(x: FLOAT[N, 3])" in shown.stdout
    assert b"\x1b" not in shown.stdout


def test_run_takes_inputs_from_files_and_from_the_line(command: Any, models: Path) -> None:
    x = np.array([[1, -1, 2]], np.float32)
    np.save(models / "x file.npy", x)
    np.savez(models / "all.npz", x=x)
    (models / "x.pb").write_bytes(onnx.numpy_helper.from_array(x, "x").SerializeToString())
    for argument in ("x=x file.npy", "all.npz", "x.pb", "x file.npy", "x=[[1, -1, 2]]"):
        done = command("run", "one model.onnx", "--inputs", argument)
        assert done.stdout == "y: FLOAT[1, 3] = [[1. 0. 6.]]\n", (argument, done.stderr)
    done = command(
        "run", "one model.onnx", "--inputs", "all.npz", "-o", "out.npz", "--evaluator", "reference"
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(models / "out.npz")["y"], [[1, 0, 6]])


def test_run_shows_every_value_and_stops_where_told(command: Any, models: Path) -> None:
    done = command("run", "one model.onnx", "--inputs", "x=[[1, 2, 3]]", "--trace")
    assert "Mul" in done.stdout
    assert "Relu" in done.stdout
    done = command(
        "run", "one model.onnx", "--inputs", "x=[[1, 2, Infinity]]", "--trace", "--stop-on", "inf"
    )
    assert done.returncode == 1
    assert "OW623" in done.stderr


def test_what_a_program_reads_is_json_whatever_the_numbers(command: Any, models: Path) -> None:
    done = command("run", "one model.onnx", "--inputs", "x=[[1, NaN, Infinity]]", "--json")

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    read = json.loads(done.stdout, parse_constant=refuse)
    assert read["outputs"]["y"]["data"][0][2] == "Infinity"


def test_show_has_text_figures_picture_and_page(command: Any, models: Path) -> None:
    done = command("show", "one model.onnx")
    assert "y: FLOAT[N, 3] = Relu(t)" in done.stdout
    done = command("show", "one model.onnx", "--json", "--dim", "N=2")
    figures = json.loads(done.stdout)
    assert figures["operators"] == {"Mul": 1, "Relu": 1}
    assert (figures["parameters"], figures["bytes"], figures["flops"]) == (3, 12, 12)
    assert "Relu" in command("show", "one model.onnx", "--work").stdout
    assert "parameters" in command("show", "one model.onnx", "--summary").stdout
    pytest.importorskip("pygraphviz")
    assert command("show", "one model.onnx", "--svg", "-").stdout.startswith("<svg")
    done = command("show", "one model.onnx", "--html", "a page.html")
    assert (done.stdout, done.returncode) == ("", 0), done.stderr
    assert "<svg" in (models / "a page.html").read_text(encoding="utf-8")


def test_a_script_that_is_not_a_model_is_shown_as_a_function(command: Any) -> None:
    assert "function this.scale(x, factor=2)" in command("show", "two scripts.py:scale").stdout


def test_view_writes_our_page(command: Any, models: Path) -> None:
    done = command("view", "one model.onnx", "--page", "--no-browser", env={"TMPDIR": str(models)})
    path = Path(done.stdout.strip())
    assert path.parent == models
    assert "Listing" in path.read_text(encoding="utf-8")


def test_view_runs_the_model_where_inputs_are_given(command: Any, models: Path) -> None:
    done = command("view", "one model.onnx", "--random", "--dim", "N=2", "-o", "page.html")
    assert done.returncode == 0, done.stderr
    assert re.search(r'\["value","FLOAT\[', (models / "page.html").read_text(encoding="utf-8"))


def test_to_script_gives_a_program_that_compiles_to_the_model(command: Any, models: Path) -> None:
    done = command("to-script", "one model.onnx", "-o", "back.py", "--explain")
    assert done.returncode == 0, done.stderr
    (models / "again.py").write_text(
        "import onnx, back\nonnx.save(back.make_model(), 'again.onnx')\n", encoding="utf-8"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    subprocess.run([sys.executable, "again.py"], cwd=models, env=env, check=True)
    assert command("diff", "one model.onnx", "again.onnx").returncode == 0


def test_compile_gives_back_the_whole_model_that_to_script_wrote(command, models: Path) -> None:
    """With what a model says beside its graph, and with its functions."""
    model = onnx.load(models / "one model.onnx")
    model.producer_name, model.model_version = "someone", 7
    model.metadata_props.add(key="k", value="v")
    node = onnx.helper.make_node("Relu", ["a"], ["b"])  # noqa: TID251
    imports = [onnx.helper.make_opsetid("", model.opset_import[0].version)]
    model.functions.append(onnx.helper.make_function("my", "f", ["a"], ["b"], [node], imports))
    onnx.save(model, models / "whole.onnx")
    assert command("to-script", "whole.onnx", "-o", "whole.py").returncode == 0
    assert command("diff", "whole.onnx", "whole.py").returncode == 0
    done = command("compile", "whole.py", "-o", "same.onnx")
    assert done.returncode == 0, done.stderr
    assert command("diff", "whole.onnx", "same.onnx").returncode == 0
    refused = command("compile", "whole.py", "--opset", "20")
    assert refused.returncode == 2
    assert "name a script to change it" in refused.stderr


def test_diff_tells_by_its_exit_status(command: Any, models: Path) -> None:
    same = command("diff", "one model.onnx", "one model.onnx")
    assert (same.returncode, same.stdout) == (0, "no difference (2 nodes)\n")
    other = command("diff", "one model.onnx", "two model.onnx", "--json")
    assert other.returncode == 1
    assert json.loads(other.stdout)["same"] is False
    quiet = command("diff", "one model.onnx", "two model.onnx", "-q", "--html", "d.html")
    assert (quiet.returncode, quiet.stdout) == (1, "")
    assert (models / "d.html").read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype")


def test_compare_runs_both(command: Any, models: Path) -> None:
    same = command("compare", "one model.onnx", "one model.onnx", "--random", "--runs", "3")
    assert (same.returncode, same.stdout.splitlines()[-1]) == (0, "all outputs agree in 3 runs")
    other = command("compare", "one model.onnx", "two model.onnx", "--random", "--where")
    assert other.returncode == 1
    assert "DIFFERS" in other.stdout
    assert "`y` differ" in other.stdout
    data = command("compare", "one model.onnx", "two model.onnx", "--random", "--json")
    assert json.loads(data.stdout)["outputs"]["y"]["same"] is False


def test_check_and_explain_are_as_before(command: Any) -> None:
    done = command("check", "two scripts.py")
    assert done.returncode == 0
    assert done.stdout.endswith("two scripts.py: 2 scripts, 0 with errors\n")
    assert command("explain", "OW501").stdout.startswith("# OW501")
    assert command("explain", "OW000").returncode == 2


def test_stubs_are_checked(command: Any) -> None:
    assert command("gen-stubs", "--check").returncode == 0


WRONG = {
    "no such file": (["show", "no where.onnx"], "there is no file no where.onnx"),
    "a folder": (["show", "."], ". is a folder, not a file"),
    "not a model": (["show", "junk.onnx"], "junk.onnx is not an ONNX model"),
    "an empty file": (["run", "empty.onnx"], "empty.onnx is not an ONNX model: it is empty"),
    "a cut file": (["to-script", "cut.onnx"], "cut.onnx is not an ONNX model"),
    "an empty pipe": (["show", "-"], "standard input is not an ONNX model"),
    "two pipes": (["diff", "-", "-"], "only one of the two"),
    "no such script": (["compile", "two scripts.py:modle"], "did you mean model?"),
    "which script": (["compile", "two scripts.py"], "it has: scale, model"),
    "no script": (["compile", "one model.onnx"], "a script is named as FILE.py:fn"),
    "no such program": (["compile", "gone.py:f"], "there is no file gone.py"),
    "a program that fails": (["compile", "fails.py:f"], "fails.py:2: ZeroDivisionError"),
    "a missing input": (["run", "one model.onnx"], "no value for x: FLOAT[N, 3]"),
    "an unknown input": (["run", "one model.onnx", "--inputs", "q=1"], "it has: x"),
    "a missing array": (["run", "one model.onnx", "--inputs", "x=no.npy"], "no file no.npy"),
    "a broken array": (
        ["run", "one model.onnx", "--inputs", "x=bad.npy"],
        "bad.npy is not an array",
    ),
    "no numbers": (["run", "one model.onnx", "--inputs", "x=abc"], "numbers such as [1, 2]"),
    "a bad size": (["run", "one model.onnx", "--random", "--dim", "N=x"], "NAME=SIZE"),
    "a bad type": (["compile", SCRIPT, "--type", "x=FLOT[3]"], "NAME=TYPE"),
    "nowhere to write": (["show", "one model.onnx", "--html", "no/a.html"], "cannot be written"),
    "a folder to write": (["compile", SCRIPT, "-o", "."], ". is a folder"),
    "no such command": (["frob"], "invalid choice"),
    "nothing at all": ([], "COMMAND"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_told_without_a_traceback(
    models: Path,
    case: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In this process: each costs no start of Python."""
    monkeypatch.chdir(models)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    (models / "junk.onnx").write_bytes(b"\xff\xfejunk")
    (models / "empty.onnx").write_bytes(b"")
    (models / "cut.onnx").write_bytes((models / "one model.onnx").read_bytes()[:-9])
    (models / "bad.npy").write_bytes(b"junk")
    (models / "fails.py").write_text("x = 0\ny = 1 / x\n", encoding="utf-8")
    arguments, words = WRONG[case]
    try:
        status = main(arguments)
    except SystemExit as ended:
        status = ended.code
    out, err = capsys.readouterr()
    assert (status, out) == (2, ""), err
    assert words in err
    assert "Traceback" not in err


def test_what_does_not_compile_is_shown_at_its_line(command: Any) -> None:
    done = command("compile", "two scripts.py:scale")
    assert done.returncode == 1
    assert "error[OW701]" in done.stderr
    assert "two scripts.py:10" in done.stderr


def test_what_a_model_refuses_names_nothing_of_ours(command: Any, models: Path) -> None:
    done = command("run", "one model.onnx", "--inputs", "x=[1, 2]")
    assert (done.returncode, done.stdout) == (1, "")
    assert "OW62" in done.stderr
    assert "runpy" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_over_two_gigabytes_is_told_at_once(command: Any, folder: Path) -> None:
    with (folder / "huge.onnx").open("wb") as huge:
        huge.truncate(3_000_000_000)
    done = command("show", "huge.onnx")
    assert done.returncode == 2
    assert "it has 3.0 GB" in done.stderr


def test_weights_in_other_files_are_not_read_to_look(command: Any, models: Path) -> None:
    """5 GB of weights beside the model (a sparse file): figures come at once."""
    model = parser.parse_model(MODEL % "Relu")
    tensor = model.graph.initializer[0]
    tensor.CopyFrom(onnx.TensorProto(name="w", data_type=1, dims=[1_250_000_000]))
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
    with (models / "weights.bin").open("wb") as weights:
        weights.truncate(5_000_000_000)
    onnx.save(model, models / "large.onnx")
    figures = json.loads(command("show", "large.onnx", "--json").stdout)
    assert figures["external_bytes"] == 5_000_000_000


def test_an_older_result_stays_whole_when_a_new_one_fails(command: Any, folder: Path) -> None:
    (folder / "out.onnx").write_text("old", encoding="utf-8")
    assert command("compile", "two scripts.py:scale", "-o", "out.onnx").returncode == 1
    assert (folder / "out.onnx").read_text(encoding="utf-8") == "old"


def test_a_result_keeps_permissions_and_links(command: Any, folder: Path) -> None:
    real = folder / "real.onnx"
    real.write_text("old", encoding="utf-8")
    real.chmod(0o640)
    (folder / "link.onnx").symlink_to(real)
    assert command("compile", SCRIPT, "-o", "link.onnx").returncode == 0
    assert (folder / "link.onnx").is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert onnx.load(real).graph.name == "model"


def test_a_reader_that_leaves_ends_the_command_quietly(command: Any, models: Path) -> None:
    nodes = " ".join(f"v{n} = Relu({'x' if n == 0 else f'v{n - 1}'})" for n in range(5000))
    text = MODEL.split("<float[3]")[0].replace("y)", "v4999)") + "{" + nodes + "}"
    onnx.save(parser.parse_model(text), models / "long.onnx")
    done = subprocess.run(
        f"{sys.executable} -m onnxwright show long.onnx | head -n 1",
        shell=True, cwd=models, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("# opset")


def test_names_of_a_model_cannot_write_to_the_terminal(command: Any, models: Path) -> None:
    model = parser.parse_model(MODEL % "Relu")
    model.graph.node[0].name = "\x1b]0;owned\x07"
    model.graph.input[0].name = model.graph.node[0].input[0] = "\x1b[31mx\u202e"
    model.graph.doc_string = "a\nb\x1b[2J"
    onnx.save(model, models / "hostile.onnx")
    for arguments in (
        ["show", "hostile.onnx"],
        ["show", "hostile.onnx", "--summary"],
        ["show", "hostile.onnx", "--work"],
        ["run", "hostile.onnx", "--random", "--trace"],
        ["run", "hostile.onnx"],
        ["diff", "hostile.onnx", "one model.onnx"],
    ):
        done = command(*arguments)
        assert "\x1b" not in done.stdout + done.stderr, arguments
        assert "\u202e" not in done.stdout + done.stderr, arguments


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command(command: Any, shell: str) -> None:
    done = command("completion", shell)
    assert done.returncode == 0
    assert all(name in done.stdout for name in commands())


def test_bash_completes_commands_options_choices_and_files(command: Any, models: Path) -> None:
    script = command("completion", "bash").stdout
    (models / "c.sh").write_text(script, encoding="utf-8")

    def complete(*words: str) -> list[str]:
        line = " ".join(f"'{w}'" for w in words)
        program = (
            f". ./c.sh; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _onnxwright 2>/dev/null; "
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            ["bash", "-c", program], cwd=models, capture_output=True, text=True, check=True
        )
        return done.stdout.split("\n")[:-1]

    assert complete("onnxwright", "comp") == ["compile", "compose", "compare", "completion"]
    assert complete("onnxwright", "show", "--su") == ["--summary"]
    assert complete("onnxwright", "run", "--evaluator", "r") == ["reference"]
    assert complete("onnxwright", "show", "on") == ["one model.onnx"]
    assert complete("onnxwright", "completion", "z") == ["zsh"]


def test_view_opens_netron_where_it_is_installed(command: Any, models: Path) -> None:
    (models / "netron.py").write_text(
        "def start(file, browse): print('netron', file, browse)\ndef wait(): print('waited')\n",
        encoding="utf-8",
    )
    paths = os.pathsep.join([str(models), str(Path(__file__).resolve().parents[2])])
    done = command("view", "one model.onnx", "--no-browser", env={"PYTHONPATH": paths})
    assert done.stdout == "netron one model.onnx False\nwaited\n", done.stderr
    done = command("view", "one model.onnx", "-o", "p.html", env={"PYTHONPATH": paths})
    assert (models / "p.html").exists()
