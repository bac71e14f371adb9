"""Model to Python to model: every model comes back the same, and Python to Python is a fixed point.

A fixed share of onnx's own cases runs always, all of them as `slow`; `table()` prints the figures.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import onnx
import pytest

from onnxwright.decompiler import to_script
from onnxwright.decompiler.rebuild import rebuild
from onnxwright.dsl.function import ScriptFunction
from onnxwright.errors import OnnxwrightError
from onnxwright.testing import find_difference
from tests.harness import node_cases
from tests.harness.programs import load_program, make_program

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
SHARE = 24

# Cases that cannot come back the same, with the one reason; the list only shrinks.
LEFT_OUT: dict[str, str] = {}


def node_models() -> list[tuple[str, onnx.ModelProto]]:
    """The generated cases of every operator."""
    return [(case.name, case.model) for case in node_cases.node_cases()]


def stored() -> list[Path]:
    """The models that onnx ships as files."""
    return sorted(p for p in DATA.rglob("*.onnx") if "node" not in p.relative_to(DATA).parts[:1])


def round_trip(model: onnx.ModelProto, **options: object) -> str | None:
    """Why a model does not come back the same, or None."""
    source = to_script(model, **options)  # type: ignore[arg-type]
    back = rebuild(source)
    difference = find_difference(model, back, subgraph_names=True)
    if difference is not None:
        return str(difference)
    if to_script(back, **options) != source:  # type: ignore[arg-type]
        return "the text is not a fixed point"
    return None


def failures(cases: list[tuple[str, onnx.ModelProto]]) -> dict[str, str]:
    """Case -> reason, for those that do not come back the same."""
    reasons = {}
    for name, model in cases:
        reason = round_trip(model)
        if reason is not None:
            reasons[name] = reason
    return reasons


def stored_cases(paths: list[Path]) -> list[tuple[str, onnx.ModelProto]]:
    """Models of files, with the folder for a name."""
    return [(str(p.relative_to(DATA)), onnx.load(p)) for p in paths]


def test_a_share_of_the_node_cases_comes_back() -> None:
    assert failures(node_models()[::SHARE]) == {}


def test_a_share_of_the_stored_models_comes_back() -> None:
    assert failures(stored_cases(stored()[::SHARE])) == {}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_every_node_case_comes_back(part: int) -> None:
    assert set(failures(node_models()[part::8])) <= set(LEFT_OUT)


@pytest.mark.slow
def test_every_stored_model_comes_back() -> None:
    assert set(failures(stored_cases(stored()))) <= set(LEFT_OUT)


def scripts(path: Path) -> Iterator[ScriptFunction[..., object]]:
    """The scripts at the top of a file."""
    name = f"round_trip_{path.parent.name}_{path.stem}".replace(".", "_")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    with contextlib.redirect_stdout(io.StringIO()):
        spec.loader.exec_module(module)
    held = (v for v in vars(module).values() if isinstance(v, ScriptFunction))
    yield from {id(v): v for v in held}.values()


def _files() -> list[Path]:
    """Every file with scripts at its top level that is not a program that must fail."""
    files = [*(ROOT / "examples").glob("*.py"), *(ROOT / "tests").rglob("*.py")]
    bad = [p for p in files if p.parent.name == "errors" and not p.name.endswith(".fixed.py")]
    rest = {p: p.read_text(encoding="utf-8") for p in sorted(files) if p not in bad}
    # A file of the command `migrate` may keep what another package has alone.
    of_others = re.compile(r"^ *(from|import) onnxscript\b", re.MULTILINE)
    scripts = re.compile(r"^@script", re.MULTILINE)
    return [p for p, text in rest.items() if scripts.search(text) and not of_others.search(text)]


# Files of which no script makes a function or a model by itself, with the reason.
NO_MODELS = {
    "OW308_raise.fixed": "its attribute has no default, and raising depends on it",
    "conftest": "its scripts stand in a text that tests write to files",
    "test_lists_in_loops": "its scripts are compiled from a text",
    "test_locale": "its scripts are in texts that tests write to files",
    "test_loops": "its scripts are compiled from a text",
    "test_onnxscript_names": "its scripts are in texts that tests write to files",
}


@pytest.mark.share(2, by=lambda path: path.parent)
@pytest.mark.parametrize("path", _files(), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_our_own_scripts_come_back(path: Path, tmp_path, monkeypatch) -> None:
    """Every script at the top of a file of ours, as function and as model."""
    monkeypatch.chdir(tmp_path)  # an example writes where it runs
    seen = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for script in scripts(path):
            for make in (script.to_function_proto, script.to_model_proto):
                try:
                    proto = make()
                except OnnxwrightError:
                    continue  # it cannot be this kind of thing
                seen += 1
                source = to_script(proto)
                back = rebuild(source)
                difference = find_difference(proto, back)
                assert difference is None, f"{script.name}: {difference}\n{source}"
                assert to_script(back) == source
    assert seen or path.stem in NO_MODELS


# Programs whose text is not a fixed point: what inference says of the types of the second model is
# not what it says of those of the first, so an operator becomes a call.
NOT_FIXED = {47, 79}


def random_failures(seeds: Iterable[int]) -> dict[int, str]:
    """Seed -> reason, for random programs whose model or function does not come back the same."""
    reasons = {}
    for seed in seeds:
        main = load_program(make_program(seed))
        compiled = 0
        for make in (main.to_model_proto, main.to_function_proto):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    proto = make()
                except OnnxwrightError:
                    continue  # it cannot be this kind of thing
                compiled += 1
                source = to_script(proto)
                back = rebuild(source)
                wrong = find_difference(proto, back, subgraph_names=True)
                if wrong is None and seed not in NOT_FIXED and to_script(back) != source:
                    wrong = "the text is not a fixed point"
            if wrong is not None:
                reasons[seed] = str(wrong)
        if not compiled:
            reasons[seed] = "it is neither a model nor a function"
    return reasons


def test_random_programs_come_back() -> None:
    assert random_failures(range(0, 100, 20)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 100, 25))
def test_more_random_programs_come_back(first: int) -> None:
    assert random_failures(range(first, first + 25)) == {}


def table() -> str:
    """How many models come back the same, by source."""
    rows = []
    for name, cases in (("node cases", node_models()), ("stored models", stored_cases(stored()))):
        wrong = failures(cases)
        reasons = Counter(reason.splitlines()[0] for reason in wrong.values())
        rows.append(f"{name}: {len(cases) - len(wrong)} of {len(cases)}")
        rows += [f"    {count} x {reason}" for reason, count in reasons.most_common()]
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
