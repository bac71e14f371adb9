"""Calls of `@script` functions with values of a graph that is being traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import onnx_ir as ir
from typing_extensions import TypeIs

from onnxwright.diagnostics.catalogue.ops import NoTruthWhileBuilding, ValueNeededNow
from onnxwright.errors import OnnxwrightError
from onnxwright.semantics.literals import as_value
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.tracing.inline import Env, Replay
from onnxwright.types.roles import Script


class Body(Protocol):
    """The body of a script, compiled for the types of one call."""

    inputs: list[ir.Value]
    outputs: list[ir.Value]
    nodes: list[ir.Node]
    imports: dict[str, int]


class Callee(Protocol):
    """What is needed of a script."""

    function: Callable[..., Any]
    domain: str
    name: str
    overload: str

    def lowered_functions(self, version: int) -> list[ir.Function]:
        """It and the functions it calls, callees first, for an opset version."""

    def lowered_for(
        self,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        to_value: Callable[[Any, Any], Any],
        version: int,
    ) -> tuple[Body, list[Any], Mapping[ir.Value, Any]]:
        """Its body for these arguments, the arguments as values, and the arrays it holds."""


def is_script(x: object) -> TypeIs[Callee]:
    """Whether an object is a function decorated with `@script`."""
    return isinstance(x, Script)


def call_script(
    b: GraphBackend, script: Callee, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """What a script returns for values of a graph.

    The Python function runs, as in eager mode; where it needs to know a value that only a run of
    the model knows (`if x > 0`, `for i in range(n)`), its compiled body is used instead.

    Args:
        args: positional arguments.
        kwargs: arguments by name.

    Returns:
        A value, or a tuple of them.
    """
    try:
        return script.function(*args, **kwargs)
    except OnnxwrightError as error:
        needed = (NoTruthWhileBuilding, ValueNeededNow)
        if not any(isinstance(d, needed) for d in error.diagnostics):
            raise

    def to_value(x: Any, dtype: Any) -> Any:
        return as_value(b, x, dtype=dtype)

    body, values, arrays = script.lowered_for(args, kwargs, to_value, b.opset.version)
    env: Env = dict(zip(body.inputs, values, strict=True))
    for value, array in arrays.items():
        env[value] = b.initializer(array, value.name)
    results = Replay(b, body.imports).run(body.nodes, body.outputs, env)
    return results[0] if len(results) == 1 else tuple(results)
