"""Tests of the exporter: they need PyTorch, whose own warnings are not what they are about."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

HERE = Path(__file__).parent


class _WithoutTorch(pytest.Module):
    """A test file that is not imported."""

    def collect(self) -> list[pytest.Item]:
        pytest.skip("PyTorch is not installed: the exporter takes its programs")


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Without PyTorch, every file of this folder is skipped, with one reason."""
    if importlib.util.find_spec("torch") is not None:
        return None
    return _WithoutTorch.from_parent(parent, path=module_path)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Torch warns of its own deprecations while it captures; ours stay errors or expected."""
    modules = dict.fromkeys(item.getparent(pytest.Module) for item in items)
    for module in modules:
        if module is not None and HERE in module.path.parents:
            for kind in ("FutureWarning", "DeprecationWarning", "UserWarning"):
                module.add_marker(pytest.mark.filterwarnings(f"ignore::{kind}"))
