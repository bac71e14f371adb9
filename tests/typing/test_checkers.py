"""mypy --strict and pyright on annotations and operators: what they accept and what they find."""

from __future__ import annotations

import ast
import importlib.metadata
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EXAMPLE = ROOT / "examples" / "annotations.py"
ACCEPTED = HERE / "cases" / "accepted.py"
REFUSED = HERE / "cases" / "refused.py"
SHORT_FORM = HERE / "cases" / "short_form.py"

# The README's program is checked too, but for what Python's types cannot say (numbers in brackets
# of an annotation), parameters without an annotation, and packages without types.
README = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
NOT_SAYABLE = re.compile(
    r"expects no type arguments|Expected no type arguments|Invalid type: try using Literal"
    r"|Name \"\w+\" is not defined|missing a type annotation|missing a return type"
    r"|Returning Any from|Skipping analyzing"
)

# What annotations do not name is not read: that took most of the time.  Pyright reads it all.
UNREAD = (
    "torch", "onnxscript", "sympy", "onnxruntime", "transformers", "onnx.reference", "IPython",
    "rich", *(f"onnxwright.{room}" for room in (
        "atenlib", "cli", "converter", "decompiler", "exporter.capture", "model_tools", "quantize",
        "reports", "sweep", "verification", "versions", "viz",
    )),
)  # fmt: skip
# Two files of dimensions name the types alone.
UNREAD_BY_PLUGIN = (
    *UNREAD, "onnx", "onnx_ir", "ml_dtypes", *(f"onnxwright.{room}" for room in (
        "builder", "compare", "eager", "exporter", "ir", "operators", "optimizer", "semantics",
        "testing", "torch_onnx",
    )),
)  # fmt: skip


def config(unread: tuple[str, ...], plugin: str = "") -> str:
    """A configuration of mypy."""
    skipped = ",".join(f"{name}.*" for name in unread)
    return f"[mypy]\nstrict = True\n{plugin}\n[mypy-{skipped}]\nfollow_imports = skip\n"


PLAIN = config(UNREAD)
PLUGIN = config(UNREAD_BY_PLUGIN, "plugins = onnxwright.mypy")

# Checker -> file -> the lines it complains about, with its words.
Found = dict[Path, dict[int, str]]


def run(folder: Path, *command: str) -> str:
    """Run a checker where the repository is not the working folder: it uses the installation."""
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def run_mypy(folder: Path, config: str, *files: str) -> str:
    """Without errors of the package itself: CI checks it whole."""
    (folder / "mypy.ini").write_text(config, encoding="utf-8")
    options = ["--no-error-summary", "--show-absolute-path", "--follow-imports=silent"]
    return run(folder, "mypy", *options, f"--cache-dir={folder / 'cache'}", *files)


def mypy(tmp_path: Path) -> Found:
    files = [str(f) for f in (EXAMPLE, ACCEPTED, REFUSED, tmp_path / "readme.py")]
    out = run_mypy(tmp_path, PLAIN, *files)
    found: Found = {}
    for path, line, text in re.findall(r"^(.+?):(\d+): error: (.+)$", out, re.MULTILINE):
        found.setdefault(Path(path), {})[int(line)] = text
    return found


def pyright(tmp_path: Path) -> Found:
    files = [str(f) for f in (EXAMPLE, ACCEPTED, REFUSED, tmp_path / "readme.py")]
    out = run(tmp_path, "pyright", "--outputjson", "--pythonpath", sys.executable, *files)
    found: Found = {}
    for item in json.loads(out)["generalDiagnostics"]:
        if item["severity"] == "error":
            lines = found.setdefault(Path(item["file"]), {})
            lines[item["range"]["start"]["line"] + 1] = item["message"]
    return found


@pytest.fixture(scope="module", params=[mypy, pyright], ids=lambda f: f.__name__)
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Found:
    """One run of a checker over all the files."""
    check: Callable[[Path], Found] = request.param
    folder = tmp_path_factory.mktemp("checker")
    assert README is not None
    (folder / "readme.py").write_text(README[1], encoding="utf-8")
    return check(folder)


def test_an_editable_install_is_a_plain_path() -> None:
    """Type checkers follow a path in a `.pth` file, and no finder hook."""
    installation = importlib.metadata.distribution("onnxwright")
    origin = json.loads(installation.read_text("direct_url.json") or "{}")
    if not origin.get("dir_info", {}).get("editable", False):
        pytest.skip("the package is not installed with `pip install -e`")
    (hook,) = [file for file in installation.files or () if file.suffix == ".pth"]
    (line,) = hook.read_text().split()
    assert (Path(line) / "onnxwright" / "py.typed").is_file()


def test_the_plugin_of_mypy_reads_dimensions(tmp_path: Path) -> None:
    """With the plugin `FLOAT["N", 3]` is `FLOAT`, and the README's program has no error of ours."""
    assert README is not None
    readme = tmp_path / "readme.py"
    readme.write_text(README[1], encoding="utf-8")
    out = run_mypy(tmp_path, PLUGIN, str(SHORT_FORM), str(readme))
    errors = re.findall(r"^(.+?):(\d+): error: (.+)$", out, re.MULTILINE)
    lines = SHORT_FORM.read_text(encoding="utf-8").splitlines()
    marked = [n for n, line in enumerate(lines, 1) if line.endswith("# error")]
    assert [int(n) for file, n, _ in errors if Path(file) == SHORT_FORM] == marked
    untyped = re.compile(
        r"missing a (return )?type annotation|Skipping analyzing|Returning Any from"
    )
    rest = [text for file, _, text in errors if Path(file) == readme]
    assert [text for text in rest if not untyped.search(text)] == []


def test_the_example_is_accepted(found: Found) -> None:
    assert found.get(EXAMPLE, {}) == {}


def test_good_programs_are_accepted(found: Found) -> None:
    assert found.get(ACCEPTED, {}) == {}


def test_bad_lines_are_found(found: Found) -> None:
    lines = REFUSED.read_text(encoding="utf-8").splitlines()
    wanted = [n for n, line in enumerate(lines, 1) if line.endswith("# error")]
    assert sorted(found.get(REFUSED, {})) == wanted


def test_the_program_of_the_readme_is_accepted(found: Found) -> None:
    said = next((lines for file, lines in found.items() if file.name == "readme.py"), {})
    assert {n: text for n, text in said.items() if not NOT_SAYABLE.search(text)} == {}


def test_nothing_else_is_said(found: Found) -> None:
    assert {file.name for file in found} <= {f.name for f in (EXAMPLE, REFUSED, ACCEPTED)} | {
        "readme.py"
    }


def test_methods_of_arrays_are_typed_with_the_parameters_that_they_have() -> None:
    from onnxwright.semantics.numpy_functions.table import METHODS

    text = (ROOT / "onnxwright" / "types" / "array_methods.py").read_text(encoding="utf-8")
    typed = {
        node.name: [a.arg for a in (*node.args.posonlyargs, *node.args.args)][1:]
        + ([f"*{node.args.vararg.arg}"] if node.args.vararg else [])
        + [a.arg for a in node.args.kwonlyargs]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
    }
    there = {
        name: [str(p).split(":")[0] for p in inspect.signature(m.meaning).parameters.values()][2:]
        for name, m in METHODS.items()
        if m.is_method
    }
    assert typed == there


def test_no_comment_silences_a_checker() -> None:
    for file in (EXAMPLE, ACCEPTED, REFUSED):
        assert not re.search(r"type: ?ignore|pyright: ?ignore", file.read_text(encoding="utf-8"))
