"""First steps with an installed package, in an empty folder: data files, README, commands."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = (
    "--version",
    "check first_model.py",
    "compile first_model.py:sample_model -o compiled.onnx",
    "show sample_model.onnx",
    "show sample_model.onnx --html page.html",
    "run sample_model.onnx --random",
    "to-script sample_model.onnx -o again.py",
    "check again.py",
    "diff sample_model.onnx compiled.onnx",
    "optimize sample_model.onnx -o small.onnx",
    "convert sample_model.onnx --opset 21 -o newer.onnx",
    "explain OW302",
)


def data_files(package: Path) -> set[str]:
    """What a package holds beside Python: type markers, stubs, pages, scripts of the viewer.

    Args:
        package: its folder.

    Returns:
        Paths inside it.
    """
    found = (path for path in package.rglob("*") if path.is_file())
    left_out = {".py", ".pyc"}
    return {p.relative_to(package).as_posix() for p in found if p.suffix not in left_out}


def first_example(readme: str) -> str:
    r"""The first Python block of a README.

    Example:
        >>> first_example("text\n```python\nx = 1\n```\n")
        'x = 1\n'
    """
    found = re.search(r"^```python\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    if found is None:
        raise ValueError("the README has no Python block")
    return found[1]


def first_steps(python: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """What somebody does first with the package that an environment has.

    Args:
        python: the interpreter of the environment.
        folder: an empty folder.

    Yields:
        Each step, and what went wrong with it: an empty text if nothing did.
    """
    where = _run(folder, python, "-c", "import onnxwright; print(onnxwright.__path__[0])")
    package = Path(where.stdout.strip())
    yield "import onnxwright", where.stderr
    missing = data_files(ROOT / "onnxwright") - data_files(package)
    yield "data files", f"missing: {', '.join(sorted(missing))}" if missing else ""
    (folder / "first_model.py").write_text(
        first_example((ROOT / "README.md").read_text(encoding="utf-8")), encoding="utf-8"
    )
    yield "README, first example", _wrong(_run(folder, python, "first_model.py"))
    command = python.with_name("onnxwright")
    for line in COMMANDS:
        yield f"onnxwright {line}", _wrong(_run(folder, command, *line.split()))


def _run(folder: Path, program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(program), *arguments], cwd=folder, env={**os.environ, "PYTHONPATH": ""},
        check=False, capture_output=True, text=True,
    )  # fmt: skip


def _wrong(done: subprocess.CompletedProcess[str]) -> str:
    """Why a step failed."""
    bad = done.returncode != 0 or "Traceback" in done.stderr
    return f"status {done.returncode}: {(done.stderr or done.stdout)[-500:]}" if bad else ""
