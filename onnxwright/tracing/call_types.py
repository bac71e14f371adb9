"""What is known of the calls of functions in one model, shared by everything that replays it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx_ir as ir

from onnxwright.ir.nested import all_nodes
from onnxwright.types.kinds import OnnxType

# Up to this many nodes, what a function calls is built together with it.
MOST_INLINED = 500


class CallTypes:
    """What is known of the calls of functions in one model.

    Attributes:
        types: function, types of arguments and attributes -> types of results.
    """

    def __init__(self) -> None:
        self.types: dict[object, list[OnnxType | None]] = {}
        self._sizes: dict[object, int] = {}

    def is_small(self, function: ir.Function, functions: Mapping[Any, ir.Function]) -> bool:
        """Whether a function has few nodes with those of the functions that it calls.

        Args:
            functions: the functions of the model, none of which calls itself.
        """
        return self._size(function, functions) <= MOST_INLINED

    def _size(self, function: ir.Function, functions: Mapping[Any, ir.Function]) -> int:
        key = function.identifier()
        size = self._sizes.get(key)
        if size is None:
            size = 0
            for node in all_nodes(function):
                callee = functions.get(node.op_identifier())
                size += 1 if callee is None else self._size(callee, functions)
            self._sizes[key] = size
        return size
