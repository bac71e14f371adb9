"""Weights."""

from typing import Any


def fold_weights(model: Any, *, fixed: Any, limit: int, exact: bool) -> None:
    """Later."""
