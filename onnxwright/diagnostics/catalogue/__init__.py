"""Every message, by kind; a module is imported where it is raised, `load_catalogue` imports all."""

from __future__ import annotations

import importlib
import pkgutil


def load_catalogue() -> None:
    """Fill `CATALOGUE` with every message there is."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


__all__ = ["load_catalogue"]
