"""What users test with: comparing models, and proving that a rewrite rule changes no result."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxwright.compare.assertions import assert_isomorphic as assert_isomorphic
    from onnxwright.compare.assertions import (
        assert_isomorphic_function as assert_isomorphic_function,
    )
    from onnxwright.compare.assertions import assert_isomorphic_graph as assert_isomorphic_graph
    from onnxwright.compare.assertions import find_difference as find_difference
    from onnxwright.compare.diffing import Diff as Diff
    from onnxwright.compare.diffing import diff as diff
    from onnxwright.compare.proto_equality import (
        assert_onnx_proto_equal as assert_onnx_proto_equal,
    )
    from onnxwright.testing.proving import Proof as Proof
    from onnxwright.testing.proving import prove as prove
    from onnxwright.verification.verifying import first_difference as first_difference

# Public name -> the module that has it.
_HOMES = {
    "Diff": "onnxwright.compare.diffing",
    "diff": "onnxwright.compare.diffing",
    "assert_isomorphic": "onnxwright.compare.assertions",
    "assert_isomorphic_function": "onnxwright.compare.assertions",
    "assert_isomorphic_graph": "onnxwright.compare.assertions",
    "assert_onnx_proto_equal": "onnxwright.compare.proto_equality",
    "Proof": "onnxwright.testing.proving",
    "prove": "onnxwright.testing.proving",
    "first_difference": "onnxwright.verification.verifying",
    "find_difference": "onnxwright.compare.assertions",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
