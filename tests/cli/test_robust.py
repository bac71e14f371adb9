"""What goes wrong around a command: bytes that are not a model, encodings, pipes, signals, bugs."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser

from onnxwright.cli import main as entry
from onnxwright.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
HEAD = '<ir_version: 10, opset_import: ["" : 18]> g '


def save(path: Path, text: str) -> None:
    onnx.save(parser.parse_model(HEAD + text), path)


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "m.onnx", "(float[2] x) => (float[2] y) { y = Relu(x) }")
    return tmp_path


def test_what_is_no_model_is_told_in_words_of_the_user(odd: Path, capsys) -> None:
    data = (odd / "m.onnx").read_bytes()
    for name, content, words in (
        ("empty", b"", "it is empty"),
        ("cut", data[:-3], "damaged, cut short or something else"),
        ("text", b"hello\n", "damaged, cut short or something else"),
        ("other", b"\x08\x07", "it has no graph"),
    ):
        (odd / name).write_bytes(content)
        assert main(["show", name]) == 2
        err = capsys.readouterr().err
        assert words in err
        assert "protobuf" not in err
        assert "Wire" not in err


def test_errors_are_json_where_that_is_asked_for(odd: Path, capsys) -> None:
    assert main(["show", "nowhere.onnx", "--json"]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out) == {"error": "there is no file nowhere.onnx"}
    assert "nowhere.onnx" in err
    (odd / "bad.py").write_text(
        "from onnxwright import FLOAT, script\n\n\n@script()\ndef f(x: FLOAT[2]) -> FLOAT[2]:\n"
        "    return nope\n",
        encoding="utf-8",
    )
    assert main(["compile", "bad.py:f", "--json"]) == 1
    output = json.loads(capsys.readouterr().out)
    assert output["diagnostics"][0]["code"] == "OW201"
    assert output["diagnostics"][0]["span"]["line"] == 6


def test_check_and_explain_and_stubs_are_json(odd: Path, capsys) -> None:
    (odd / "f.py").write_text(
        "from onnxwright import FLOAT, script\nprint('noise')\n\n\n@script()\n"
        "def good(x: FLOAT[2]) -> FLOAT[2]:\n    return x + 1.0\n\n\n@script()\n"
        "def bad(x: FLOAT[2]) -> FLOAT[2]:\n    return nope\n",
        encoding="utf-8",
    )
    assert main(["check", "f.py", "gone.py", "--json"]) == 2
    output = json.loads(capsys.readouterr().out)
    assert output["ok"] is False
    one, other = output["files"]
    assert one["scripts"] == [
        {"name": "good", "compiles": True},
        {"name": "bad", "compiles": False},
    ]
    assert [d["code"] for d in one["diagnostics"]] == ["OW201"]
    assert other["error"] == "there is no file gone.py"
    assert main(["explain", "302", "--json"]) == 0
    page = json.loads(capsys.readouterr().out)
    assert (page["code"], page["name"]) == ("OW302", "MayBeUnassigned")
    assert main(["explain", "--json"]) == 0
    assert {"OW302", "OW501"} <= {p["code"] for p in json.loads(capsys.readouterr().out)}
    assert main(["gen-stubs", "--check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stale"] is False
    assert main(["gen-stubs", "-o", "my.pyi"]) == 0
    assert main(["gen-stubs", "-o", "my.pyi", "--check"]) == 0
    (odd / "my.pyi").write_text("old", encoding="utf-8")
    assert main(["gen-stubs", "-o", "my.pyi", "--check"]) == 1


def test_a_file_that_ends_python_is_told(odd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (odd / "ends.py").write_text("import sys\nsys.exit(5)\n", encoding="utf-8")
    (odd / "fails.py").write_text("x = 1\nimport nope_nope\n", encoding="utf-8")
    assert main(["check", "ends.py", "fails.py"]) == 2
    err = capsys.readouterr().err
    assert "it ends Python by itself (SystemExit: 5)" in err
    assert "fails.py:2: ModuleNotFoundError" in err
    assert "Traceback" not in err
    assert main(["compile", "ends.py:f"]) == 2


def test_a_bug_of_ours_is_not_taken_for_a_difference(odd: Path, monkeypatch, capsys) -> None:
    def broken(args: Any) -> int:
        raise KeyError("surprise")

    arg_parser = entry.parser()
    monkeypatch.setattr(entry, "parser", lambda: arg_parser)
    for action in arg_parser._actions:
        if action.dest == "command" and action.choices is not None:
            action.choices["show"].set_defaults(run=broken)  # type: ignore[index,call-overload]
    assert main(["show", "m.onnx"]) == 3
    err = capsys.readouterr().err
    assert "surprise" in err
    assert "This is a bug in onnxwright" in err


@pytest.mark.parametrize(("wrong", "meant"), [("sho", "show"), ("tocript", "to-script")])
def test_a_slip_of_the_pen_is_guessed(wrong: str, meant: str, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main([wrong])
    assert ended.value.code == 2
    assert f"did you mean {meant!r}?" in capsys.readouterr().err


def test_a_terminal_without_letters_gets_escapes_and_json_stays_json(command, folder) -> None:
    names = ["größe", "ausgabe_ä"]
    info = [helper.make_tensor_value_info(n, 1, [2]) for n in names]
    node = helper.make_node("Relu", names[:1], names[1:])  # noqa: TID251
    graph = helper.make_graph([node], "netz_ö", info[:1], info[1:])
    opsets = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), folder / "ü.onnx")
    env = {"PYTHONIOENCODING": "ascii"}
    shown = command("show", "ü.onnx", env=env, encoding="ascii")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "gr\\xf6\\xdfe: FLOAT[2]" in shown.stdout
    figures = command("show", "ü.onnx", "--json", env=env, encoding="ascii")
    assert json.loads(figures.stdout)["name"] == "netz_ö"
    script = command("to-script", "ü.onnx", env=env, text=False)
    assert script.returncode == 0
    compile(script.stdout, "m.py", "exec")


def test_ctrl_c_ends_with_130(folder: Path) -> None:
    (folder / "slow.py").write_text(
        "import time\nopen('started', 'w').close()\ntime.sleep(60)\n", encoding="utf-8"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    # A shell lets what it starts in the background ignore the signal.
    process = subprocess.Popen(
        [sys.executable, "-m", "onnxwright", "check", "slow.py"],
        cwd=folder, env=env, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    end = time.monotonic() + 60
    while not (folder / "started").exists() and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "onnxwright check: stopped" in err
    assert "Traceback" not in err


def test_a_reader_that_leaves_before_an_error_is_told_nothing_odd(folder: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m onnxwright show nowhere.onnx --json | true; exit ${{PIPESTATUS[0]}}",
        shell=True, executable="/bin/bash", cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode in (2, 141)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def external(folder: Path) -> Path:
    folder.mkdir()
    model = parser.parse_model(HEAD + "(float[40] x) => (float[40] y) { y = Mul(x, w) }")
    model.graph.initializer.append(numpy_helper.from_array(np.arange(40, dtype=np.float32), "w"))
    path = folder / "m.onnx"
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    return path


def test_a_script_finds_weights_that_stay_with_the_model(odd: Path, capsys) -> None:
    """The script in one folder, the weights in another."""
    external(odd / "the models")
    (odd / "scripts").mkdir()
    arguments = ["to-script", "the models/m.onnx", "--weights", "external"]
    assert main([*arguments, "-o", "scripts/m.py"]) == 0
    program = (
        "import numpy as np\nfrom m import *\nimport m\n"
        "x = np.ones(40, np.float32)\n"
        "from onnxwright.types.initializers import External\n"
        "print(Path(m.folder).resolve().name)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=odd / "scripts", capture_output=True, text=True,
        check=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout == "the models\n"
    assert main([*arguments, "-o", "the models/m.py"]) == 0
    beside = (odd / "the models" / "m.py").read_text(encoding="utf-8")
    assert "folder = Path(__file__).parent\n" in beside
    assert main(arguments) == 0
    assert 'folder = Path(__file__).parent / "the models"' in capsys.readouterr().out


def test_weights_that_are_not_there_are_named(odd: Path, capsys, monkeypatch) -> None:
    path = external(odd / "a")
    (odd / "a" / "w.bin").unlink()
    for arguments in (["run", "a/m.onnx", "--random"], ["to-script", "a/m.onnx"]):
        assert main(arguments) == 2
        assert "a/w.bin is not there" in capsys.readouterr().err

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert main(["run", "-", "--random"]) == 2
    assert "w.bin is not in the working folder" in capsys.readouterr().err


def test_where_pairs_values_by_what_they_are(odd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The names of the second model belong to other values: the third node is what differs."""
    io = "(float[4] x) => (float[4] y) "
    save(odd / "a.onnx", io + "{ v0 = Abs(x) v1 = Exp(v0) v2 = Neg(v1) y = Tanh(v2) }")
    save(odd / "b.onnx", io + "{ v1 = Abs(x) v2 = Exp(v1) v0 = Exp(v2) y = Tanh(v0) }")
    assert main(["compare", "a.onnx", "b.onnx", "--random", "--where"]) == 1
    out = capsys.readouterr().out
    assert "`y` differ" in out
    assert "2 pairs before them agree" in out


def test_the_model_that_fails_is_named(odd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(odd / "r.onnx", "(float[2] x) => (float[N] y) {"
         "s = Constant<value = int64[1] {3}>() y = Reshape(x, s) }")  # fmt: skip
    assert main(["compare", "m.onnx", "r.onnx", "--random"]) == 1
    assert "r.onnx fails" in capsys.readouterr().err


def test_weights_too_large_for_a_text_are_told_at_once(odd: Path, capsys) -> None:
    """3 GB beside the model (a sparse file): nothing is read."""
    model = parser.parse_model(HEAD + "(int64[1] k) => (float[1] y) { y = Gather(w, k) }")
    tensor = model.graph.initializer.add(name="w", data_type=1, dims=[750_000_000])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    with (odd / "w.bin").open("wb") as weights:
        weights.truncate(3_000_000_000)
    onnx.save(model, odd / "large.onnx")
    assert main(["to-script", "large.onnx"]) == 2
    assert "3.0 GB, too much for a text" in capsys.readouterr().err
    arguments = ["to-script", "large.onnx", "--weights", "external", "--no-operators"]
    assert main(arguments) == 0
    assert "External(" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "m.onnx", "--rums", "3"], "onnxwright run: unrecognized arguments: --rums 3"),
        (["compare", "m.onnx", "m.onnx", "--runs", "0"], "0 is not a number from 1 on"),
        (["diff", "m.onnx", "m.onnx", "--limit", "-1"], "-1 is not a number from 0 on"),
        (["show", "m.onnx", "--svg", "-", "--html", "-"], "only one of --svg, --html"),
        (["show", "m.onnx", "--html", "no folder/x.html"], "no folder does not exist"),
        (["to-script", "m.onnx", "-o", "m.onnx/x.py"], "m.onnx is a file"),
        (["to-script", "m.onnx", "-o", "m.onnx"], "m.onnx is a model, which this would overwrite"),
        (["show", "m.onnx", "--svg", "m.onnx"], "m.onnx is a model, which this would overwrite"),
        (["run", "m.onnx", "--random", "-o", "m.onnx"], "m.onnx is a model"),
        (["run", "m.onnx", "--random", "--seed", "-1"], "-1 is not a number from 0 on"),
        (["run", "m.onnx", "--random", "--dim", "N=3"], "the inputs have no dimension N"),
    ],
)
def test_a_wrong_option_is_told_with_its_command(
    odd: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status: Any = main(arguments)
    except SystemExit as ended:
        status = ended.code
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert words in err
    assert main(["show", "m.onnx"]) == 0


def test_a_model_as_text_is_read_without_a_warning(odd: Path, capsys) -> None:
    (odd / "m.onnxtxt").write_text(
        HEAD + "(float[2] x) => (float[2] y) { y = Relu(x) }", encoding="utf-8"
    )
    assert main(["show", "m.onnxtxt"]) == 0
    out, err = capsys.readouterr()
    assert "y: FLOAT[2] = Relu(x)" in out
    assert err == ""
