"""`Names`: the names a builder's user gives; names the builder found itself give way to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import onnx_ir as ir

from onnxwright.builder.tracing import TracingBackend
from onnxwright.diagnostics.catalogue.builder import NameTaken
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.semantics.graph_backend import GraphValue
from onnxwright.types.kinds import OnnxType


class Names:
    """Who is called what.

    Args:
        b: the backend whose values have the names.
    """

    def __init__(self, b: TracingBackend) -> None:
        self.b = b
        self.given: dict[str, GraphValue] = {}

    def input(self, name: str, kind: OnnxType | None) -> GraphValue:
        """A new input of exactly this name."""
        self._free(name, None)
        value = self.b.input(name, kind)
        self.given[name] = value
        return value

    def give(self, value: GraphValue, name: str, fresh: Sequence[ir.Node] | None = None) -> None:
        """Call a value `name`; one that is not new, or has a name, is known by it too.

        Args:
            value: the value.
            name: the name.
            fresh: the nodes that were just made; None for a value that no node makes.
        """
        before = self.given.get(name)
        if before is not None:
            if before.value is value.value:
                return
            fail(NameTaken(what="a value", name=name))
        mine = value.value
        if fresh is None or mine.producer() in fresh:
            if not any(
                v.value is mine for v in (self.given.get(mine.name or ""),) if v is not None
            ):
                self._free(name, mine)
                mine.name = name
                self.b.recorder.holders[name] = mine
                self.b.recorder.names.unique(name)
        self.given[name] = value

    def _free(self, name: str, mine: ir.Value | None) -> None:
        """Make a name free; who has it by accident gets another."""
        if name in self.given:
            fail(NameTaken(what="a value", name=name))
        recorder = self.b.recorder
        holder = recorder.holders.pop(name, None)
        if holder is not None and holder is not mine and holder.name == name:
            holder.name = recorder.names.unique(name)
            recorder.holders[holder.name] = holder
        recorder.names.release(name)

    def of(self, value: GraphValue) -> str:
        """The name of a value; a constant may have none yet."""
        return value.value.name or self.b.recorder.names.unique("output")

    def find(self, name: str) -> GraphValue | None:
        """The value of a name."""
        found = self.given.get(name)
        if found is None:
            holder = self.b.recorder.holders.get(name)
            if holder is not None and holder.name == name:
                found = self.b.value_of(holder)
        return found

    def known(self) -> Iterable[str]:
        """All names there are."""
        return [*self.given, *self.b.recorder.holders]


__all__ = ["Names"]
