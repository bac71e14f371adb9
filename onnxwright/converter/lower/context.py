"""What one compilation shares between the functions it lowers: policy, callees, the call chain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from onnxwright.converter.frontend.depth import room_for
from onnxwright.diagnostics.catalogue import names as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.opset.opsets import Opset
from onnxwright.types import roles
from onnxwright.types.signature import FunctionSignature


class Script(Protocol):
    """What the converter needs of a decorated function (`dsl.ScriptFunction` is one)."""

    @property
    def function(self) -> Any:
        """The Python function (a `FunctionType`; type checkers would bind it as a method)."""

    @property
    def name(self) -> str:
        """The name of the ONNX function."""

    @property
    def domain(self) -> str:
        """Its domain."""

    @property
    def overload(self) -> str:
        """Which of several functions of one name it is."""

    @property
    def version(self) -> int:
        """The version of its domain."""

    @property
    def signature(self) -> FunctionSignature:
        """Its parameters and results."""

    @property
    def source_text(self) -> str | None:
        """Its text, where it was given or had to be kept."""

    @property
    def default_opset(self) -> Opset | None:
        """The opset of its operators such as `+`, where the author named one."""


# What a call of a function in a function takes of the stack, as levels of nested source.
_LEVELS = 2


def is_script(x: object) -> bool:
    """Whether `x` is a decorated function."""
    return isinstance(x, roles.Script)


@dataclass(frozen=True)
class VerbatimPlan:
    """What verbatim lowering of one function must know beside its text.

    Attributes:
        shared: equal constants are made once, as they are when compiling as usual.
        copies: results that a graph did not make itself get an Identity, as usual.
        loops: for each loop, in order: `carried` (names), `first` and `again` (its condition).
        names: the ONNX names of parameters that have others in Python.
    """

    shared: bool = False
    copies: bool = False
    loops: tuple[Mapping[str, Any], ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Context:
    """One compilation.

    Attributes:
        choose: for a called script, `call` (a call node), `inline`, or `auto` (a call node where
            the callee can be an ONNX function on its own).
        callees: the scripts that were called as nodes, in order of first call.
        chain: the functions being lowered, outermost first, to find recursion.
        results: what calls were found to give, by callee and argument types.
        opset_version: the ai.onnx version asked for, if any.
        default_version: the ai.onnx version of functions that name no opset.
        verbatim: nodes as they are written: nothing shared, copied, removed or added.
        plans: for verbatim lowering, by Python function.
    """

    choose: Callable[[Script], str] = lambda script: "auto"
    callees: dict[tuple[str, str, str], Script] = field(default_factory=dict)
    chain: list[tuple[object, str]] = field(default_factory=list)
    results: dict[object, Any] = field(default_factory=dict)
    opset_version: int | None = None
    default_version: int | None = None
    verbatim: bool = False
    plans: dict[object, VerbatimPlan] = field(default_factory=dict)

    @contextmanager
    def entering(self, key: object, name: str, span: Span | None, limit: int = 1) -> Iterator[None]:
        """Lower a function; the same one `limit` times inside itself is recursion."""
        if sum(1 for entered, _ in self.chain if entered is key) >= limit:
            chain = " -> ".join([*(n for _, n in self.chain[-6:]), name])
            fail(messages.Recursion(name=name, chain=chain, span=span))
        self.chain.append((key, name))
        try:
            with room_for(len(self.chain) * _LEVELS):
                yield
        finally:
            self.chain.pop()
