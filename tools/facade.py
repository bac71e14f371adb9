"""What type checkers read of `onnxwright/__init__.py`, written from its one table of public names.

Run it from the repository's root:

    python -m tools.facade            # write the block again
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import onnxwright
from onnxwright import types

FILE = Path(__file__).resolve().parent.parent / "onnxwright" / "__init__.py"
_START = "    # Written by `python -m tools.facade` from the tables below.\n    # isort: off\n"
_END = "    # isort: on\n"
# The module of this name can be called, as the function is that type checkers see.
_CALLABLE_MODULES = {"evaluator": "onnxwright.eager"}
# Modules of other projects' names: type checkers find them as files.
_NOT_CHECKED = frozenset({"values", "onnx_opset", "onnx_types", "tensor"})


def _order(name: str) -> tuple[object, ...]:
    """Names as import sorters order them: constants, classes, functions; numbers by value."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    parts = re.split(r"(\d+)", name)
    return kind, [(int(p), "") if p.isdigit() else (-1, p) for p in parts]


def block() -> str:
    """The imports for type checkers, one for each public name.

    Returns:
        Lines of Python, indented.
    """
    homes = dict.fromkeys(types.__all__, onnxwright._TYPES)
    homes.update(onnxwright._HOMES)
    for name, module in onnxwright._MODULES.items():
        package, _, last = module.rpartition(".")
        if last == name and name not in _NOT_CHECKED:
            homes[name] = _CALLABLE_MODULES.get(name, package)
    by_home: dict[str, list[str]] = {}
    for name, home in homes.items():
        by_home.setdefault(home, []).append(name)
    by_home.setdefault("onnxwright.opset", []).append("*")
    lines = []
    for home in sorted(by_home):
        for name in sorted(by_home[home], key=lambda n: (n != "*", _order(n))):
            if name == "*":
                lines.append(f"    from {home} import *  # noqa: F403\n")
            else:
                lines.append(f"    from {home} import {name} as {name}\n")
    return "".join(lines)


def written(text: str) -> str:
    """A facade with its block written again.

    Args:
        text: the module.

    Returns:
        The module with the block that fits its tables.
    """
    start, end = text.index(_START) + len(_START), text.index(_END)
    return text[:start] + block() + text[end:]


def main() -> int:
    """Write the block.

    Returns:
        The exit code.
    """
    FILE.write_text(written(FILE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
