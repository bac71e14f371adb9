"""Unique names, always the same: the first asker gets the plain name, the next `name_1`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx_ir as ir

from onnxwright.ir.nested import all_nodes


class Namer:
    """Gives names that are unique in one model's main graph or function, subgraphs included.

    Example:
        >>> names = Namer()
        >>> names.unique("y"), names.unique("y")
        ('y', 'y_1')
    """

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}
        # For each name given, one after the other: the hint, its count before, the name.
        self._log: list[Any] = []
        # While set, names are given for good: going back does not free them.
        self.for_good = False
        self._kept: set[str] = set()

    def unique(self, hint: str) -> str:
        """`hint` itself if it is free, else `hint` with the first free number."""
        taken = self._taken
        before = taken.get(hint)
        if before is None:
            count, name = 0, hint
        else:
            count = before + 1
            while (name := f"{hint}_{count}") in taken:
                count += 1
            taken[name] = 0
        taken[hint] = count
        if self.for_good:
            self._kept.update((hint, name))
        else:
            self._log += (hint, before, name)
        return name

    def release(self, name: str) -> None:
        """Make a name free again: who had it is called something else now."""
        self._taken.pop(name, None)

    def mark(self) -> int:
        """A point to go back to."""
        return len(self._log)

    def rewind(self, mark: int) -> None:
        """Forget every name given since `mark` (what was built with them is thrown away)."""
        while len(self._log) > mark:
            hint, before, name = self._log[-3:]
            del self._log[-3:]
            if name not in self._kept:
                self._taken.pop(name, None)
            if before is not None and hint not in self._kept:
                self._taken[hint] = before


Key = tuple[str, str, str]


def rename_clashing(model: ir.Model, taken: Mapping[Key, ir.Function]) -> None:
    """Give functions that are called like other, different ones a new name.

    Args:
        taken: the functions of the model that it becomes a part of.
    """
    for key, function in list(model.functions.items()):
        other = taken.get(key)
        if other is None or same_function(function, other):
            continue
        number = 1
        while (key[0], f"{key[1]}_{number}", key[2]) in {*taken, *model.functions}:
            number += 1
        del model.functions[key]
        function.name = f"{key[1]}_{number}"
        model.functions[function.identifier()] = function
        for graph in (model.graph, *model.functions.values()):
            for node in all_nodes(graph):
                if node.op_identifier() == key:
                    node.op_type = function.name


def same_function(x: ir.Function, y: ir.Function) -> bool:
    """Whether two functions are written alike.

    Returns:
        Whether their protos have the same bytes.
    """
    one, two = ir.to_proto(x), ir.to_proto(y)
    return bool(one.SerializeToString() == two.SerializeToString())
