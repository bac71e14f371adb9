"""`assert_isomorphic` and `find_difference`, where they have always been imported from."""

from __future__ import annotations

from onnxwright.compare.assertions import assert_isomorphic, find_difference

__all__ = ["assert_isomorphic", "find_difference"]
