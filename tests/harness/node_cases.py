"""The backend node tests of the installed onnx, made in memory: wheels hold no files of them."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np


@cache
def node_cases() -> tuple[Any, ...]:
    """All cases (`onnx.backend.test.case.test_case.TestCase`), sorted by name.

    Example:
        >>> any(case.name == "test_abs" for case in node_cases())
        True
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        from onnx.backend.test.case import node
        from onnx.backend.test.case.utils import import_recursive

        import_recursive(node)
    return tuple(sorted(node._NodeTestCases, key=lambda case: case.name))


__all__ = ["node_cases"]
