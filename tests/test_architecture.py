"""The house stands: imports look downward, the map is current, every module says what it is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import architecture, docs_map

ROOT = Path(__file__).resolve().parent.parent


def test_imports_look_downward() -> None:
    """No upward import, no cycle, no import hidden in a function but the listed ones."""
    problems = architecture.check(ROOT)
    assert not problems, "\n" + "\n".join(map(str, problems))


def test_every_room_stands_on_a_floor() -> None:
    subpackages = {
        path.name
        for path in (ROOT / "onnxwright").iterdir()
        if path.is_dir() and (path / "__init__.py").exists()
    }
    assert subpackages <= {subpackage for layer in architecture.LAYERS for subpackage in layer}


def test_every_lazy_import_has_a_reason() -> None:
    assert all(reason for reason in architecture.LAZY.values())


def test_declared_packages_are_those_of_pyproject() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = text.split("\ndependencies = [", 1)[1].split("]", 1)[0]
    names = {
        line.strip().strip('",').split(">=")[0].replace("-", "_")
        for line in block.strip().splitlines()
    }
    assert names | {"torch", "sympy"} == architecture.DECLARED  # torch brings sympy


def test_map_is_current() -> None:
    """docs/map.md is what `python -m tools.docs_map` would write."""
    text, silent = docs_map.render(ROOT)
    assert not silent, f"no docstring: {silent}"
    assert (ROOT / docs_map.MAP).read_text(encoding="utf-8") == text, (
        "docs/map.md is stale: run `python -m tools.docs_map`"
    )


# --- the check itself ----------------------------------------------------------------------------


def tree(root: Path, files: dict[str, str]) -> Path:
    """A package `onnxwright` with these files; folders get an empty `__init__.py`."""
    for name, text in files.items():
        path = root / "onnxwright" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        for parent in path.parents:
            if parent == root:
                break
            init = parent / "__init__.py"
            if not init.exists():
                init.write_text("", encoding="utf-8")
    return root


BAD: dict[str, tuple[dict[str, str], str]] = {
    "an import of a higher layer": (
        {"ir/a.py": "from onnxwright.dsl import script\n", "dsl/b.py": ""},
        "upward",
    ),
    "an import of a subpackage on the same layer": (
        {"eager/a.py": "import onnxwright.converter.b\n", "converter/b.py": ""},
        "upward",
    ),
    "types looking up at opset": (
        {"types/a.py": "from onnxwright.opset import op\n", "opset/op.py": ""},
        "upward",
    ),
    "an upward import for type checkers only": (
        {
            "ir/a.py": (
                "from typing import TYPE_CHECKING\n"
                "if TYPE_CHECKING:\n    from onnxwright.dsl import script\n"
            ),
            "dsl/b.py": "",
        },
        "upward",
    ),
    "a relative import that climbs": (
        {"ir/a.py": "from ..dsl import b\n", "dsl/b.py": ""},
        "upward",
    ),
    "an import of the facade": ({"ir/a.py": "import onnxwright as ow\n"}, "upward"),
    "an eager facade": (
        {"__init__.py": "from onnxwright.dsl import b\n", "dsl/b.py": ""},
        "upward",
    ),
    "a folder of a package imports one above it": (
        {
            "exporter/capture/lists/a.py": "from onnxwright.exporter.capture.decisions import b\n",
            "exporter/capture/decisions/b.py": "",
        },
        "upward",
    ),
    "a folder of a package without a layer": (
        {
            "exporter/capture/attic/a.py": "from onnxwright.exporter.capture import attempts\n",
            "exporter/capture/attempts.py": "",
        },
        "upward",
    ),
    "a subpackage without a layer": ({"attic/a.py": "from onnxwright import errors\n"}, "upward"),
    "a circle of two": (
        {
            "ir/a.py": "from onnxwright.ir import b\n",
            "ir/b.py": "from onnxwright.ir import a\n",
        },
        "cycle",
    ),
    "a circle of imports for type checkers": (
        {
            "ir/a.py": "from onnxwright.ir import b\n",
            "ir/b.py": (
                "from typing import TYPE_CHECKING\n"
                "if TYPE_CHECKING:\n    from onnxwright.ir import a\n"
            ),
        },
        "cycle",
    ),
    "a circle of three": (
        {
            "ir/a.py": "import onnxwright.ir.b\n",
            "ir/b.py": "from onnxwright.ir.c import x\n",
            "ir/c.py": "from onnxwright.ir import a\nx = 1\n",
        },
        "cycle",
    ),
    "an import hidden in a function": (
        {"ir/a.py": "def f():\n    from onnxwright.types import b\n", "types/b.py": ""},
        "hidden",
    ),
    "an import hidden in a lambda by name": (
        {
            "ir/a.py": (
                "import importlib\nf = lambda: importlib.import_module('onnxwright.dsl.b')\n"
            ),
            "dsl/b.py": "",
        },
        "upward",
    ),
    "a light third-party import hidden in a method": (
        {"ir/a.py": "class A:\n    def f(self):\n        import typing_extensions\n"},
        "hidden",
    ),
    "onnxruntime outside eager": ({"dsl/a.py": "import onnxruntime\n"}, "pin"),
    "onnxruntime in a function outside eager": (
        {"dsl/a.py": "def f():\n    import onnxruntime as ort\n"},
        "pin",
    ),
    "torch in the ATen library": ({"atenlib/a.py": "from torch import nn\n"}, "pin"),
    "onnx_ir below ir": ({"opset/a.py": "import onnx_ir\n"}, "pin"),
    "a package nobody declared": ({"ir/a.py": "import rich\n"}, "undeclared"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_tree_is_found(tmp_path: Path, what: str) -> None:
    files, kind = BAD[what]
    problems = architecture.check(tree(tmp_path, {"errors.py": "", **files}), lazy={}, circles={})
    assert kind in {problem.kind for problem in problems}, problems


def test_a_good_tree_is_sound(tmp_path: Path) -> None:
    """Downward, standard library, heavy lazy and listed imports are fine."""
    files = {
        "errors.py": "import sys\n",
        "types/__init__.py": "from onnxwright.types.a import x\n",
        "types/a.py": "from onnxwright.types.b import x\n",
        "types/b.py": "import numpy as np\nx = np\n",
        "opset/a.py": "from onnxwright.types import x\ndef f():\n    import onnx.defs\n",
        "ir/a.py": "import onnx_ir\nfrom onnxwright.errors import sys\n",
        "eager/a.py": (
            "from onnxwright.ir import a\ndef f():\n    import onnxruntime\n    import inspect\n"
        ),
        "cli/a.py": "def f():\n    from onnxwright.eager import a\n",
    }
    lazy = {("onnxwright.cli.*", "onnxwright.*"): "a command loads only what it runs"}
    assert architecture.check(tree(tmp_path, files), lazy=lazy, circles={}) == []


def test_an_unused_exception_is_found(tmp_path: Path) -> None:
    lazy = {("onnxwright.ir.a", "onnxwright.dsl.b"): "was needed once"}
    problems = architecture.check(tree(tmp_path, {"ir/a.py": ""}), lazy=lazy, circles={})
    assert [problem.kind for problem in problems] == ["stale"]


def test_map_lists_every_module(tmp_path: Path) -> None:
    root = tree(tmp_path, {"ir/a.py": '"""Says what it is for."""\n', "errors.py": '"""E."""\n'})
    text, silent = docs_map.render(root)
    assert "| `ir.a` | Says what it is for. |" in text
    assert "onnxwright.ir" in silent


def test_a_known_circle_is_accepted_until_it_is_gone(tmp_path: Path) -> None:
    circle = {("onnxwright.ir.a", "onnxwright.ir.b"): "a reason"}
    files = {"ir/a.py": "from onnxwright.ir import b\n", "ir/b.py": "from onnxwright.ir import a\n"}
    root = tree(tmp_path, files)
    assert architecture.check(root, lazy={}, circles=circle) == []
    (root / "onnxwright" / "ir" / "b.py").write_text("", encoding="utf-8")
    problems = architecture.check(root, lazy={}, circles=circle)
    assert [p.kind for p in problems] == ["stale"]
