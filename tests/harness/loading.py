"""A Python file of a test, loaded as a module."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def load_file(path: Path, text: str | None = None, *, registered: bool = False) -> ModuleType:
    """Load a file as a new module with the name of the file.

    Args:
        path: the file.
        text: what is written to the file first.
        registered: whether the module is in `sys.modules`, as after an import.

    Returns:
        The module.
    """
    if text is not None:
        path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if registered:
        sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
