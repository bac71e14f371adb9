"""Model to Python to model: every model comes back the same, and Python to Python is a fixed point.

A fixed share of onnx's own cases runs always, all of them as `slow`; `table()` prints the figures.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import onnx
import pytest
from onnx.backend.test.case.node import collect_testcases

from onnxwright.decompiler import to_script
from onnxwright.decompiler.rebuild import rebuild
from onnxwright.dsl.function import ScriptFunction
from onnxwright.errors import OnnxwrightError
from onnxwright.testing import find_difference

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
SHARE = 12

# Cases that cannot come back the same, with the one reason; the list only shrinks.
LEFT_OUT: dict[str, str] = {}


@cache
def node_cases() -> list[tuple[str, onnx.ModelProto]]:
    """The generated cases of every operator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [(case.name, case.model) for case in collect_testcases(None)]


def stored() -> list[Path]:
    """The models that onnx ships as files."""
    return sorted(p for p in DATA.rglob("*.onnx") if "node" not in p.relative_to(DATA).parts[:1])


def round_trip(model: onnx.ModelProto, **options: object) -> str | None:
    """Why a model does not come back the same, or None."""
    source = to_script(model, **options)  # type: ignore[arg-type]
    back = rebuild(source)
    found = find_difference(model, back, subgraph_names=True)
    if found is not None:
        return str(found)
    if to_script(back, **options) != source:  # type: ignore[arg-type]
        return "the text is no fixed point"
    return None


def failures(cases: list[tuple[str, onnx.ModelProto]]) -> dict[str, str]:
    """Case -> reason, for those that do not come back the same."""
    found = {}
    for name, model in cases:
        reason = round_trip(model)
        if reason is not None:
            found[name] = reason
    return found


def stored_cases(paths: list[Path]) -> list[tuple[str, onnx.ModelProto]]:
    """Models of files, with the folder for a name."""
    return [(str(p.relative_to(DATA)), onnx.load(p)) for p in paths]


def test_a_share_of_the_node_cases_comes_back() -> None:
    assert failures(node_cases()[::SHARE]) == {}


def test_a_share_of_the_stored_models_comes_back() -> None:
    assert failures(stored_cases(stored()[::SHARE])) == {}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_every_node_case_comes_back(part: int) -> None:
    assert set(failures(node_cases()[part::8])) <= set(LEFT_OUT)


@pytest.mark.slow
def test_every_stored_model_comes_back() -> None:
    assert set(failures(stored_cases(stored()))) <= set(LEFT_OUT)


def scripts(path: Path) -> Iterator[ScriptFunction[..., object]]:
    """The scripts at the top of a file."""
    spec = importlib.util.spec_from_file_location(f"round_trip_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield from (v for v in vars(module).values() if isinstance(v, ScriptFunction))


FILES = [
    *sorted((ROOT / "examples").glob("*.py")),
    *sorted((ROOT / "tests" / "converter" / "valid").glob("*.py")),
]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_our_own_scripts_come_back(path: Path) -> None:
    """Every script of the examples and of the tests' valid programs, as function and as model."""
    text = path.read_text(encoding="utf-8")
    if "@script" not in text:
        return
    if "__main__" not in text and path.parent.name == "examples":
        return
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
                found = find_difference(proto, rebuild(source))
                assert found is None, f"{script.name}: {found}\n{source}"
    assert seen or not list(scripts(path))


def table() -> str:
    """How many models come back the same, by source."""
    rows = []
    for name, cases in (("node cases", node_cases()), ("stored models", stored_cases(stored()))):
        wrong = failures(cases)
        reasons = Counter(reason.splitlines()[0] for reason in wrong.values())
        rows.append(f"{name}: {len(cases) - len(wrong)} of {len(cases)}")
        rows += [f"    {count} x {reason}" for reason, count in reasons.most_common()]
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
