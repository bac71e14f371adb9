"""The names of modules and parameters in a graph, while a module builds its nodes there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from onnxwright.builder.nn.parameter import Parameter
from onnxwright.builder.parts import BuilderOps
from onnxwright.diagnostics.catalogue.builder import StrangeModule
from onnxwright.diagnostics.diagnostic import fail

if TYPE_CHECKING:
    from onnxwright.builder.graph_builder import GraphBuilder
    from onnxwright.semantics.graph_value import GraphValue


class Part(Protocol):
    """What is asked of a module."""

    @property
    def name(self) -> str | None:
        """Its own name, where it is called first."""

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Part]]:
        """The modules in it by path."""

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """The parameters in it by name."""


class _Building:
    """The module that was called first, and the graph in which it builds."""

    def __init__(self, builder: GraphBuilder, root: Part) -> None:
        self.builder = builder
        self.root = root
        prefix = ".".join(part for part in (builder.module_path, root.name) if part)
        self.paths = {id(module): path for path, module in root.named_modules(prefix)}
        self.names = {id(p): name for name, p in root.named_parameters(prefix)}

    def value(self, parameter: Parameter) -> GraphValue:
        """The value of a parameter: the same one in the whole graph."""
        name = self.names.get(id(parameter))
        if name is None:
            fail(StrangeModule(what="a parameter", root=type(self.root).__name__))
        return self.builder.weight(parameter, name, parameter.tensor(name), parameter.type)


_CURRENT: ContextVar[_Building | None] = ContextVar("onnxwright_nn_building", default=None)


@contextmanager
def building_with(module: Part, op: Any) -> Iterator[None]:
    """Let the parameters of a module be values of a graph, and its nodes have its path.

    Args:
        module: the module.
        op: the operators of a `GraphBuilder`.

    Raises:
        TypeError: they are not.
        ScriptValueError: the module is not a part of the one that was called first (OW551).
    """
    if not isinstance(op, BuilderOps):
        raise TypeError(
            f"{type(module).__name__} is called with the operators of a GraphBuilder first, "
            f"`model(g.op, x)`; got {type(op).__name__}"
        )
    builder: Any = op.builder
    current = _CURRENT.get()
    token = None
    if current is None or current.builder is not builder:
        current = _Building(builder, module)
        token = _CURRENT.set(current)
    path = current.paths.get(id(module))
    if path is None:
        kind = type(module).__name__
        fail(
            StrangeModule(what=f"a module of the class `{kind}`", root=type(current.root).__name__)
        )
    try:
        with builder.inside_module(path, type(module)):
            yield
    finally:
        if token is not None:
            _CURRENT.reset(token)


def value_of(parameter: Parameter) -> Any:
    """What the attribute of a parameter is: its value while a graph is built, else the parameter.

    Args:
        parameter: the parameter.

    Returns:
        The value, or the parameter.
    """
    current = _CURRENT.get()
    return parameter if current is None else current.value(parameter)
