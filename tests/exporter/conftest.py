"""Tests of the exporter: PyTorch's own warnings are not what they are about."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Torch warns of its own deprecations while it captures; ours stay errors or expected."""
    for item in items:
        if HERE in item.path.parents:
            for kind in ("FutureWarning", "DeprecationWarning", "UserWarning"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{kind}"))
