"""Runs tests in clean environments: oldest and newest dependencies, other Pythons, wheel and sdist.

    python -m tools.matrix                                   # floor and newest, this Python
    python -m tools.matrix --python python3.10 --python python3.13 --share quick --store
    python -m tools.matrix --form wheel --form sdist --only newest --share quick --store
    python -m tools.matrix --only floor --set onnx==1.19     # would a lower floor do?
    python -m tools.matrix --torch 2.10.0 --torch newest     # exports, by these versions of PyTorch
    python -m tools.matrix --page                            # docs/compatibility.md anew

The floors are those of `pyproject.toml`.  An environment is made once in `--folder` and used again.
No configuration but those of `--torch` has PyTorch: tests that need it are left out of others.
`--torch` runs `TORCH_TESTS`, each night for the oldest and the newest version; the newest
dependencies are installed with it.  A wheel or an sdist is built from
this folder and installed; its tests run in a copy that has no `onnxwright` beside them, and the
README's first example and the commands of `matrix_installed` in an empty folder.  `--store` writes
the counts to `docs/compatibility.json`, one entry for each configuration.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.harness.oldest import LIMITS
from tools.matrix_installed import first_steps
from tools.matrix_page import PAGE, STORED, Result, page, read

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = ("exporter", "atenlib", "testing", "typing", "test_site.py", "test_notebooks.py")
"""Tests that need more than the run-time dependencies."""
TORCH_TESTS = ("tests/exporter/test_torch_versions.py", "tests/exporter/test_replacements.py")
"""Exports of each kind, and whether each replacement is still needed: for a version of PyTorch."""
OF_THE_REPOSITORY = ("tools", "test_architecture.py", "test_docs.py", "test_benchmarks.py",
                     "test_doctests.py")  # fmt: skip
"""Tests of the repository's own files: they cannot run where only the package is installed."""
SHARES = {"whole": "not slow", "quick": "not slow and not full"}
FORMS = ("repository", "wheel", "sdist")

_TOOLS = ("pytest>=8.2", "pytest-xdist>=3.6", "hypothesis>=6.100")
_COPIED = ("tests", "tools", "docs", "examples", "benchmarks", "pyproject.toml", "README.md",
           "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "mkdocs.yml")  # fmt: skip


@dataclass(frozen=True)
class Configuration:
    """What one run is made of.

    Attributes:
        python: the interpreter.
        kind: "floor" or "newest".
        form: "repository", "wheel" or "sdist".
        share: a name of `SHARES`.
    """

    python: str
    kind: str
    form: str
    share: str


def floors(text: str, python: tuple[int, int] = (3, 11)) -> list[str]:
    """The lowest allowed version of each run-time dependency.

    Args:
        text: the contents of `pyproject.toml`.
        python: the version of Python, for entries that are about some versions only.

    Returns:
        Requirements such as `onnx==1.19`.

    Example:
        >>> lines = ("dependencies = [", '  "onnx>=1.19",', "]")
        >>> floors(chr(10).join(lines))
        ['onnx==1.19']
    """
    found = re.search(r"^dependencies = \[(.*?)^\]", text, re.DOTALL | re.MULTILINE)
    entry = re.compile(r'"([\w-]+)>=([\d.]+)(?:; python_version (<|>=) \'3\.(\d+)\')?"')
    made = []
    for name, version, sign, minor in entry.findall(found[1] if found is not None else ""):
        older = sign and python < (3, int(minor))
        if not sign or older == (sign == "<"):
            made.append(f"{name}=={version}")
    return made


def requirements(kind: str, changed: Sequence[str], python: tuple[int, int] = (3, 11)) -> list[str]:
    """What is installed in an environment.

    Args:
        kind: "floor" or "newest".
        changed: requirements in place of those of the same package.
        python: the version of Python.

    Returns:
        The requirements.
    """
    made = floors((ROOT / "pyproject.toml").read_text(encoding="utf-8"), python)
    if kind == "newest":
        made = [entry.partition("==")[0] for entry in made]
    own = {re.split(r"[=<>~!]", entry)[0]: entry for entry in changed}
    return [own.get(entry.partition("==")[0], entry) for entry in made]


def environment(folder: Path, python: str, wanted: Sequence[str], form: str = "repository") -> Path:
    """The Python of an environment with these packages; made where it is not there yet.

    Args:
        folder: where environments are kept.
        python: the interpreter it is made from.
        wanted: the requirements.
        form: where the package comes from: each form has environments of its own.

    Returns:
        Its interpreter.
    """
    parts = [Path(python).name, *wanted, *([form] if form != "repository" else [])]
    home = folder / re.sub(r"[^\w.=-]+", "_", "-".join(parts))[:150]
    found = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (home / "complete").exists():
        subprocess.run([python, "-m", "venv", "--clear", str(home)], check=True)
        _pip(found, *wanted, *_TOOLS)
        (home / "complete").touch()
    return found


def build(folder: Path, form: str) -> Path:
    """Build a wheel or an sdist of this repository, in a clean environment.

    Args:
        folder: where environments are kept.
        form: "wheel" or "sdist".

    Returns:
        The file.
    """
    builder = environment(folder, sys.executable, ["build"])
    made = folder / "dist" / form
    shutil.rmtree(made, ignore_errors=True)
    # From a copy without what earlier builds left.
    with tempfile.TemporaryDirectory() as clean:
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy2(ROOT / name, clean)
        skipped = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "onnxwright", Path(clean, "onnxwright"), ignore=skipped)
        command = [str(builder), "-m", "build", f"--{form}", "--outdir", str(made), clean]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return next(made.iterdir())


def run(chosen: Configuration, given: argparse.Namespace, workplace: Path) -> Result:
    """Run the tests of one configuration.

    Args:
        chosen: the configuration.
        given: the command line.
        workplace: an empty folder.

    Returns:
        What came out.

    Raises:
        CalledProcessError: the environment cannot be made.
    """
    version = _version(chosen.python)
    wanted = requirements(chosen.kind, given.set, version)
    print(f"== {_title(chosen)}: {' '.join(wanted)}", flush=True)
    found = environment(given.folder, chosen.python, wanted, chosen.form)
    left_out: tuple[str, ...] = LEFT_OUT
    place = ROOT
    if chosen.form != "repository":
        artifact = build(given.folder, chosen.form)
        _pip(found, "--force-reinstall", "--no-deps", str(artifact))
        left_out, place = LEFT_OUT + OF_THE_REPOSITORY, workplace
        _copy_tests(found, place)
    report = workplace / "report.xml"
    tests = given.tests or ["tests", *(f"--ignore=tests/{name}" for name in left_out)]
    options = ["-q", "-p", "no:cacheprovider", f"--junitxml={report}", "-m", SHARES[chosen.share]]
    command = [str(found), "-m", "pytest", "-n", str(given.processes), *options, *tests]
    paths = {"PYTHONPATH": str(ROOT)} if chosen.form == "repository" else {"PYTHONPATH": ""}
    done = subprocess.run(command, cwd=place, env={**os.environ, **paths}, check=False)
    passed, skipped, failed = _counts(report, done.returncode)
    if chosen.form != "repository":
        with tempfile.TemporaryDirectory() as empty:
            for step, wrong in first_steps(found, Path(empty)):
                print(f"{step}: {wrong or 'done'}", flush=True)
                passed, failed = passed + (not wrong), failed + bool(wrong)
    return Result(
        python=".".join(map(str, version)),
        kind=chosen.kind,
        form=chosen.form,
        share=chosen.share,
        versions=_installed(found, wanted),
        passed=passed,
        skipped=skipped,
        failed=failed,
        date=dt.datetime.now(dt.timezone.utc).date().isoformat(),
        system=f"{platform.system()} {platform.machine()}",
    )


def run_torch(version: str, python: str, folder: Path) -> bool:
    """Run the exports of every kind with a version of PyTorch.

    Args:
        version: "2.10.0"; "oldest" for that of `pyproject.toml`, "newest" for what pip finds.
        python: the interpreter.
        folder: where environments are kept.

    Returns:
        Whether all passed.

    Raises:
        CalledProcessError: the environment cannot be made.
    """
    wanted = [*requirements("newest", (), _version(python)), *torch_requirements(version)]
    print(f"== {python}: {' '.join(wanted)}", flush=True)
    found = environment(folder, python, wanted)
    options = ["-q", "-p", "no:cacheprovider", "-rs", "-m", "slow or not slow"]
    command = [str(found), "-m", "pytest", *options, *TORCH_TESTS]
    paths = {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **paths}, check=False)
    print(f"== PyTorch {version}: {'passed' if done.returncode == 0 else 'failed'}", flush=True)
    return done.returncode == 0


def torch_requirements(version: str) -> list[str]:
    """What is installed to export with a version of PyTorch.

    Args:
        version: as in `run_torch`.

    Returns:
        Requirements; transformers is that of the extra `test`.
    """
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    oldest = re.search(r'^torch = \["torch>=([\d.]+)"\]', text, re.MULTILINE)
    models = re.search(r'"(transformers[^"]*)"', text)
    assert oldest is not None
    assert models is not None
    number = {"oldest": f"=={oldest[1]}.0", "newest": ""}.get(version, f"=={version}")
    return [f"torch{number}", models[1]]


def _title(chosen: Configuration) -> str:
    return f"{chosen.python}, {chosen.kind}, {chosen.form}, {chosen.share}"


def _pip(python: Path, *packages: str) -> None:
    subprocess.run([str(python), "-m", "pip", "install", "-q", *packages], check=True)


def _version(python: str) -> tuple[int, int]:
    code = "import sys; print(*sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    major, minor = done.stdout.split()
    return int(major), int(minor)


def _installed(python: Path, wanted: Sequence[str]) -> dict[str, str]:
    """The versions of the dependencies in an environment."""
    names = [entry.partition("==")[0] for entry in wanted]
    code = (
        "import importlib.metadata, json, sys; "
        "print(json.dumps({n: importlib.metadata.version(n) for n in sys.argv[1:]}))"
    )
    done = subprocess.run(
        [str(python), "-c", code, *names], check=True, capture_output=True, text=True
    )
    versions: dict[str, str] = json.loads(done.stdout)
    return versions


def _copy_tests(python: Path, place: Path) -> None:
    """The tests and what they read, without the package: it is the installed one that is tested."""
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            skipped = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, place / name, symlinks=True, ignore=skipped)
        else:
            shutil.copy2(source, place / name)
    code = "import onnxwright, pathlib; print(pathlib.Path(onnxwright.__file__).parent)"
    done = subprocess.run(
        [str(python), "-c", code], cwd=place, env={**os.environ, "PYTHONPATH": ""},
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    package = Path(done.stdout.strip())
    if package.is_relative_to(ROOT) and not package.is_relative_to(python.parents[1]):
        raise RuntimeError(f"{package} is not an installed package")


def _counts(report: Path, status: int) -> tuple[int, int, int]:
    """How many tests passed, were skipped and failed."""
    if not report.exists():
        return 0, 0, max(status, 1)
    suite = ET.parse(report).getroot().find("testsuite")  # noqa: S314 - pytest wrote it
    total, skipped, failed, errors = (
        int(suite.get(name, "0")) if suite is not None else 0
        for name in ("tests", "skipped", "failures", "errors")
    )
    failed += errors
    if status not in (0, 1):  # interrupted, or nothing was collected
        failed = max(failed, 1)
    return max(total - skipped - failed, 0), skipped, failed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests in each environment and print one line for each.

    Args:
        arguments: the command line.

    Returns:
        The status: 1 where tests failed.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.matrix")
    parser.add_argument("--only", choices=("floor", "newest"))
    parser.add_argument("--python", action="append", help="interpreters; this one by default")
    parser.add_argument("--form", choices=FORMS, action="append", help="the repository by default")
    parser.add_argument("--share", choices=tuple(SHARES), default="whole")
    parser.add_argument("--processes", type=int, default=2, help="test processes; 2 by default")
    parser.add_argument("--set", action="append", default=[], help="a requirement to use instead")
    parser.add_argument("--folder", type=Path, default=ROOT / ".matrix")
    parser.add_argument("--store", action="store_true", help=f"write the counts to {STORED.name}")
    parser.add_argument(
        "--torch", action="append", default=[], metavar="VERSION",
        help="export with this version of PyTorch, and run nothing else; or oldest, newest",
    )  # fmt: skip
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name} and nothing else")
    parser.add_argument("tests", nargs="*", help="tests to run instead; these cannot be stored")
    given = parser.parse_args(arguments)
    if given.store and (given.tests or given.set):
        parser.error("only whole shares with the dependencies of pyproject.toml can be stored")
    if given.torch:
        pythons = given.python or [sys.executable]
        runs = [run_torch(v, python, given.folder) for python in pythons for v in given.torch]
        return int(not all(runs))
    bad = False
    for chosen in [] if given.page else _configurations(given):
        with tempfile.TemporaryDirectory() as workplace:
            try:
                result = run(chosen, given, Path(workplace))
            except subprocess.CalledProcessError:
                print(f"== {_title(chosen)}: cannot be installed", flush=True)
                bad = True
                continue
        bad |= result.failed > 0
        print(f"== {_title(chosen)}: {result.counts}", flush=True)
        if given.store:
            result.store()
    if given.page or given.store:
        limits = [(limit.package, limit.below, limit.reason) for limit in LIMITS]
        PAGE.write_text(page(read(), limits), encoding="utf-8")
    return int(bad)


def _configurations(given: argparse.Namespace) -> list[Configuration]:
    return [
        Configuration(python, kind, form, given.share)
        for python in given.python or [sys.executable]
        for form in given.form or ["repository"]
        for kind in ([given.only] if given.only else ["floor", "newest"])
    ]


if __name__ == "__main__":
    sys.exit(main())
