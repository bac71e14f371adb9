"""Comparing models, random and damaged script programs, a numpy oracle, golden messages."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxwright.testing.diffing import Diff as Diff
    from onnxwright.testing.diffing import diff as diff
    from onnxwright.testing.isomorphism import assert_isomorphic as assert_isomorphic
    from onnxwright.testing.isomorphism import find_difference as find_difference

# Public name -> the module that has it.
_HOMES = {
    "Diff": "onnxwright.testing.diffing",
    "diff": "onnxwright.testing.diffing",
    "assert_isomorphic": "onnxwright.testing.isomorphism",
    "find_difference": "onnxwright.testing.isomorphism",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
