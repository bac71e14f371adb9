"""A `Frame` is one function being lowered: its locals, and where else names live.

Scoping is Python's: a name bound anywhere in a function is local to it, parameters shadow globals,
then come the enclosing function, the globals and the built-ins, all read when compiling.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from onnxwright.converter.frontend import hir
from onnxwright.converter.frontend.outer_names import OuterNames, unknown_name
from onnxwright.converter.lower.values import Poison
from onnxwright.diagnostics.catalogue import control_flow
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span

_MISSING: Any = object()
# The name of the frame of a comprehension; `:=` in it binds in the function around it.
COMPREHENSION = "<comprehension>"


@dataclass
class Frame:
    """One function being lowered.

    Attributes:
        name: the function's name.
        local_names: every name it binds.
        outer: names around it: another frame (nested functions) or a function's surroundings.
        env: what its names hold now.
        doc: its docstring.
    """

    name: str
    local_names: frozenset[str]
    outer: Frame | OuterNames
    env: dict[str, Any] = field(default_factory=dict)

    def lookup(self, name: str, span: Span | None) -> Any:
        """The value of a name.

        Raises:
            ScriptNameError: it has none here (OW201, OW301, OW302).
        """
        value = self.env.get(name, _MISSING)
        if value is _MISSING:
            if name in self.local_names:
                fail(control_flow.NotAssigned(name=name, advice=self._advice(name), span=span))
            if isinstance(self.outer, Frame):
                return self.outer.lookup(name, span)
            try:
                return self.outer[name]
            except KeyError:
                fail(unknown_name(name, self.visible(), span))
        if isinstance(value, Poison):
            fail(value.diagnostic.at(span))
        return value

    def _advice(self, name: str) -> str:
        """What to do about a name of this function that has no value yet."""
        if isinstance(self.outer, Frame) and self.outer.binds(name):
            return (
                f"a nested function only reads `{name}` of the function around it: return the new "
                "value, and assign it where the function is called"
            )
        return f"give `{name}` a value first"

    def binds(self, name: str) -> bool:
        """Whether this frame or one around it has a value for a name."""
        around = self.outer
        return name in self.env or (isinstance(around, Frame) and around.binds(name))

    def visible(self) -> list[str]:
        """Names that may be meant by a misspelt one."""
        outer = self.outer
        around = outer.visible() if isinstance(outer, Frame) else list(outer)
        return [*self.local_names, *around]


@dataclass(frozen=True)
class Closure:
    """A nested function or lambda, with the frame its free names live in.

    `defaults` are the values of parameters with defaults, taken where the function is defined.
    """

    function: hir.LocalFunction
    frame: Frame
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def __name__(self) -> str:
        return self.function.name
