"""The IR version that a model needs for its opsets and the element types that it holds."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

import onnx

from onnxwright.types.kinds import OnnxType

# The lowest that new models have.
LOWEST = 10
# The first in which an initializer need not be an input.
DEFAULTS = 4
# The IR version that brought an element type; the first one has the others.
_OF_TYPE = {
    "BFLOAT16": 4, "FLOAT8E4M3FN": 9, "FLOAT8E4M3FNUZ": 9, "FLOAT8E5M2": 9, "FLOAT8E5M2FNUZ": 9,
    "INT4": 10, "UINT4": 10, "FLOAT4E2M1": 11, "FLOAT8E8M0": 12, "INT2": 13, "UINT2": 13,
    "FLOAT6E2M3": 14, "FLOAT6E3M2": 14,
}  # fmt: skip


def lowest_ir_version(
    imports: Mapping[str, int], kinds: Iterable[OnnxType | None], *, least: int = LOWEST
) -> int:
    """The lowest IR version that holds opsets and element types.

    Args:
        imports: the version of each domain; those that ONNX does not know do not count.
        kinds: types of values.
        least: the lowest version that is asked for.

    Example:
        >>> lowest_ir_version({"": 18}, []), lowest_ir_version({"": 25}, [])
        (10, 13)
    """
    lowest = max(least, _of_opsets(tuple(imports.items())))
    # Few types differ, and equal ones are mostly one object.
    for kind in {id(kind): kind for kind in kinds}.values():
        inner: Any = kind
        while hasattr(inner, "elem"):
            inner = inner.elem
        lowest = max(lowest, version_of_type(getattr(inner, "dtype", None)))
    return lowest


def version_of_type(dtype: Any) -> int:
    """The IR version that brought an element type of this package or of onnx_ir; 0 for most."""
    return 0 if dtype is None else _OF_TYPE.get(dtype.name, 0)


@functools.lru_cache(maxsize=64)
def _of_opsets(imports: tuple[tuple[str, int], ...]) -> int:
    opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in imports]
    lowest: int = onnx.helper.find_min_ir_version_for(opsets, ignore_unknown=True)
    return lowest
