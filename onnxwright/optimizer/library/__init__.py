"""The rule library: one file for each topic, one rule for each pattern; each proves itself."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

from onnxwright.optimizer.rules import Rule


@functools.cache
def rules() -> tuple[Rule, ...]:
    """All rules of the library, by file and in the order they are written.

    Returns:
        The rules.
    """
    by_name: dict[str, Rule] = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda i: i.name):
        module = importlib.import_module(f"{__name__}.{info.name}")
        for value in _rules_of(module):
            if value.replacement is not None:
                assert by_name.get(value.name, value) is value, f"two rules called {value.name}"
                value.of_library = True
                by_name[value.name] = value
    return tuple(by_name.values())


def _rules_of(module: Any) -> Iterator[Rule]:
    """The rules that a module names, alone or in lists."""
    for value in vars(module).values():
        for one in value if isinstance(value, list) else (value,):
            if isinstance(one, Rule):
                yield one


__all__ = ["rules"]
