"""Tests of the exporter: PyTorch's own warnings are not what they are about."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Torch warns of its own deprecations while it captures; ours stay errors or expected."""
    modules = dict.fromkeys(item.getparent(pytest.Module) for item in items)
    for module in modules:
        if module is not None and HERE in module.path.parents:
            for kind in ("FutureWarning", "DeprecationWarning", "UserWarning"):
                module.add_marker(pytest.mark.filterwarnings(f"ignore::{kind}"))
