"""Results of nodes: those that are missing, numbers as arrays, and whether sizes fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch.fx import Node

from onnxwright.exporter.torch_internals import pytree


def sizes_fit(got: Any, expected: Any) -> bool:
    """Whether no size that is known in both differs."""
    return got is None or (
        len(got) == len(expected)
        and all(
            a == b or not (isinstance(a, int) and isinstance(b, int))
            for a, b in zip(got, expected, strict=True)
        )
    )


class _Missing:
    """Stands for the result of an operator without a function, so that all of them are found."""

    def __repr__(self) -> str:
        return "<no ONNX>"


MISSING: Any = _Missing()


def lacks(x: Any) -> bool:
    """Whether nested arguments contain the placeholder of a missing result."""
    return any(leaf is MISSING for leaf in pytree.tree_leaves(x))


def missing_like(node: Node) -> Any:
    """What stands for the results of a node without a function."""
    value = node.meta.get("val")
    return [MISSING] * len(value) if isinstance(value, (list, tuple)) else MISSING


def as_array(value: Any) -> np.ndarray[Any, Any]:
    """A Python number as the array a model output holds."""
    if isinstance(value, bool):
        return np.array(value, np.bool_)
    return np.array(value, np.int64 if isinstance(value, int) else np.float32)
