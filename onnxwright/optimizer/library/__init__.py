"""The rule library: one file for each topic, one rule for each pattern; each proves itself."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from onnxwright.optimizer.rules import Rule


@functools.cache
def rules() -> tuple[Rule, ...]:
    """All rules of the library, by file and in the order they are written.

    Returns:
        The rules.
    """
    found: dict[str, Rule] = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda i: i.name):
        module = importlib.import_module(f"{__name__}.{info.name}")
        for value in vars(module).values():
            if isinstance(value, Rule) and value.replacement is not None:
                assert found.get(value.name, value) is value, f"two rules called {value.name}"
                found[value.name] = value
    return tuple(found.values())


__all__ = ["rules"]
