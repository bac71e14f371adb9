"""What one compilation shares between the functions it lowers: policy, callees, the call chain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any, Protocol

from onnxwright.converter import hir
from onnxwright.converter.analyze.liveness import liveness
from onnxwright.converter.capture import capture
from onnxwright.converter.frame import check_names
from onnxwright.converter.normalize.single_exit import normalize
from onnxwright.converter.parse import Parsed, parse
from onnxwright.diagnostics.catalogue import names as messages
from onnxwright.diagnostics.diagnostic import Sink, fail
from onnxwright.diagnostics.span import Span
from onnxwright.opset.opsets import Opset
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


def is_script(x: object) -> bool:
    """Whether `x` is a decorated function."""
    return getattr(type(x), "__ow_script__", False) is True


@dataclass(frozen=True)
class Front:
    """A function after the stages that need no values: parsed, normalized, with liveness.

    `chains` are the names and dotted names it reads, among which its opset is found.
    """

    parsed: Parsed
    body: hir.Block
    chains: tuple[hir.Name | hir.Attribute, ...]


_fronts: dict[tuple[Any, ...], Front] = {}


def front(function: FunctionType, source: str | None = None) -> Front:
    """The front end's result for a function, made once for each code object.

    Raises:
        ScriptError: everything in it that cannot be said in ONNX, and every unknown name, at once.
    """
    # NOTE: code objects of two files may be equal.
    key = (function.__code__.co_filename, function.__code__, source)
    found = _fronts.get(key)
    sink = Sink()
    if found is None:
        unit = capture(function, source)
        parsed = parse(unit, sink)
        body = liveness(normalize(parsed.body))
        found = Front(parsed, body, tuple(_chains(body)))
        if not sink.errors:
            _fronts[key] = found
    own = Parsed(
        found.parsed.unit if found.parsed.unit.function is function else _rebound(found, function),
        found.parsed.name,
        found.parsed.params,
        found.parsed.body,
        found.parsed.doc,
    )
    check_names(own, found.body, sink)
    sink.raise_if_any()
    return replace(found, parsed=own)


def _chains(node: Any) -> Iterator[hir.Name | hir.Attribute]:
    """Every name, and every dotted name, in a body."""
    if isinstance(node, tuple):
        for item in node:
            yield from _chains(item)
        return
    if isinstance(node, (hir.Name, hir.Attribute)):
        yield node
    for child in hir.children(node):
        yield from _chains(child)


def _rebound(found: Front, function: FunctionType) -> Any:
    """The same source for another function object of the same code (closures, reloads)."""
    return replace(found.parsed.unit, function=function)


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
        exact: nodes as they are written: nothing shared, copied, removed or added.
    """

    choose: Callable[[Script], str] = lambda script: "auto"
    callees: dict[tuple[str, str, str], Script] = field(default_factory=dict)
    chain: list[tuple[object, str]] = field(default_factory=list)
    results: dict[object, Any] = field(default_factory=dict)
    opset_version: int | None = None
    default_version: int | None = None
    exact: bool = False

    @contextmanager
    def entering(self, key: object, name: str, span: Span | None, limit: int = 1) -> Iterator[None]:
        """Lower a function; the same one `limit` times inside itself is recursion."""
        if sum(1 for known, _ in self.chain if known is key) >= limit:
            chain = " -> ".join([*(n for _, n in self.chain[-6:]), name])
            fail(messages.Recursion(name=name, chain=chain, span=span))
        self.chain.append((key, name))
        try:
            yield
        finally:
            self.chain.pop()
