"""`Names`: the names a builder's user gives; names the builder found itself give way to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import onnx_ir as ir

from onnxwright.diagnostics.catalogue.builder import NameTaken
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.unicode_text import check_text
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.backend import TracingBackend
from onnxwright.types.kinds import OnnxType


class Names:
    """Who is called what.

    Args:
        b: the backend whose values have the names.
    """

    def __init__(self, b: TracingBackend) -> None:
        self.b = b
        self.by_name: dict[str, GraphValue] = {}
        # In how many graphs one was when a name was given.
        self.depths: dict[str, int] = {}

    def input(self, name: str, kind: OnnxType | None) -> GraphValue:
        """A new input of exactly this name."""
        check_text(name, "the name")
        self._free(name, None)
        value = self.b.input(name, kind)
        self.by_name[name] = self._own(value)
        return value

    def _own(self, value: GraphValue) -> GraphValue:
        """The value in an object of its own: `x[0] = 1` changes what the user's object holds."""
        return self.b.wrap(value.value, value.kind, self.b.weak_kind(value))

    def give(self, value: GraphValue, name: str, fresh: Sequence[ir.Node] | None = None) -> None:
        """Call a value `name`; one that is not new, or has a name, is known by it too.

        Args:
            value: the value.
            name: the name.
            fresh: the nodes that were just made; None for a value that no node makes.
        """
        check_text(name, "the name")
        before = self._holder(name)
        if before is not None:
            if before.value is value.value:
                return
            if not self._out_of_sight(before, name):
                fail(NameTaken(what="a value", name=name))
            # Names are unique in the whole model: this one gets a number behind it.
            self.by_name[name] = self._own(value)
            name = self.b.recorder.names.unique(name)
        self.depths[name] = len(self.b.recorder.scopes)
        mine = value.value
        if fresh is None or mine.producer() in fresh:
            if not any(
                v.value is mine for v in (self.by_name.get(mine.name or ""),) if v is not None
            ):
                self._free(name, mine)
                mine.name = name
                self.b.recorder.holders[name] = mine
                self.b.recorder.names.unique(name)
        self.by_name[name] = self._own(value)

    def _free(self, name: str, mine: ir.Value | None) -> None:
        """Make a name free; who has it by accident gets another."""
        if self._holder(name) is not None:
            fail(NameTaken(what="a value", name=name))
        recorder = self.b.recorder
        holder = recorder.holders.pop(name, None)
        if holder is not None and holder is not mine and holder.name == name:
            holder.name = recorder.names.unique(name)
            recorder.holders[holder.name] = holder
        recorder.names.release(name)

    def _out_of_sight(self, holder: GraphValue, name: str) -> bool:
        """Whether a name is that of a value in a finished graph beside this one."""
        scopes = self.b.recorder.scopes
        deep = len(scopes) > 1 and self.depths.get(name, 0) >= len(scopes)
        return deep and not any(holder.value in scope.values for scope in scopes)

    def _holder(self, name: str) -> GraphValue | None:
        """Who was given a name, unless its graph was thrown away."""
        holder = self.by_name.get(name)
        if holder is not None and holder.value in self.b.recorder.dropped:
            del self.by_name[name]
            return None
        return holder

    def output(self, value: GraphValue, name: str | None) -> str:
        """The name of an output.

        Args:
            value: what it gives.
            name: the name asked for, or None.

        Returns:
            The name: the value's own by default, a free one for an input or a constant.
        """
        ir_value = value.value
        asked = getattr(value, "asked", None)
        if name is None and asked is not None and self._holder(asked) is not None:
            return str(asked)
        if name is None:
            own = ir_value.name or "output"
            return own if ir_value.producer() is not None else self.b.recorder.names.unique(own)
        check_text(name, "the name")
        before = self._holder(name)
        if before is not None and (before.value is not ir_value or ir_value.producer() is None):
            fail(NameTaken(what="a value", name=name))
        return name

    def find(self, name: str) -> GraphValue | None:
        """The value of a name."""
        value = self.by_name.get(name)
        if value is None:
            holder = self.b.recorder.holders.get(name)
            if holder is not None and holder.name == name:
                value = self.b.value_of(holder)
        return None if value is None else self._own(value)

    def all_names(self) -> Iterable[str]:
        """All names there are."""
        return [*self.by_name, *self.b.recorder.holders]
