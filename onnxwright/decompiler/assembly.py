"""A written module as text: docstring, imports, weights, then the functions."""

from __future__ import annotations

import re
from typing import Any

from onnxwright.decompiler.layout import text
from onnxwright.decompiler.module_contents import Module

_FROM_ONNXWRIGHT = frozenset(
    {"Details", "External", "Op", "Opset", "DType", "graph", "initializer"}
)


def head_of(module: Module) -> str:
    """The text before the functions."""
    uses = module.uses | module.trial_uses
    top = [*module.opset_lines.values()]
    if "folder" in uses:
        folder = module.options.weights_folder
        path = "Path(__file__).parent"
        top.append(f"folder = {path}" + (f" / {text(folder)}" if folder else ""))
    if "weights" in uses:
        top.append(f"weights = np.load(Path(__file__).parent / {text(module.options.npz)})")
    parts = [f'"""{module.title}"""\n', "\n".join(_imports(uses, module.imports))]
    if top:
        parts.append("\n" + "\n".join(top))
    if module.lines:
        parts.append("\n" + "\n".join(module.lines))
    return "\n".join(parts)


def functions_of(module: Module) -> str:
    """The text of the functions, with the empty lines before them."""
    return "".join("\n\n\n" + "\n".join(block) for block in module.blocks) + "\n"


def _import_order(name: str) -> tuple[Any, ...]:
    """As import sorters have it: constants, classes, the rest; numbers by their value."""
    parts = [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", name)]
    return not name.isupper(), not name[0].isupper(), parts


def _imports(uses: set[str], renaming: dict[str, str]) -> list[str]:
    """The import statements: the standard library, other packages, this one."""
    standard = ["from collections.abc import Sequence"] if "Sequence" in uses else []
    standard += ["from pathlib import Path"] if "Path" in uses else []
    standard += ["from typing import Optional"] if "Optional" in uses else []
    others = [f"import {name}" for name in ("ml_dtypes",) if name in uses]
    others += ["import numpy as np"] if "np" in uses else []
    others += ["import onnx"] if "onnx" in uses else []
    renamed = [f"{n} as {alias}" for n, alias in renaming.items() if alias]
    names = {n for n in uses if n in _FROM_ONNXWRIGHT or n.isupper() or n == "script"}
    names.update(n for n, alias in renaming.items() if not alias)
    listing = sorted(names, key=_import_order)
    ours = "from onnxwright import "
    line = ours + ", ".join(listing)
    if len(line) > 100:
        line = ours + "(\n" + "".join(f"    {n},\n" for n in listing) + ")"
    own = [line] if listing else []
    own += [ours + entry for entry in sorted(renamed)]
    lines: list[str] = []
    for group in (standard, others, own):
        lines += ["", *group] if lines and group else group
    return lines
