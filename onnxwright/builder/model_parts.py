"""A whole model as a part of a graph: its nodes are built for the arguments, names are made unique.

Its initializers become initializers of the graph, its functions functions of the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx_ir as ir

from onnxwright.builder.functions import Functions
from onnxwright.builder.replay_model import initializer
from onnxwright.diagnostics.catalogue.names import BadCall
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir import door
from onnxwright.ir.names import rename_clashing
from onnxwright.ir.nested import all_graphs, all_nodes
from onnxwright.opset import registry
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import as_value
from onnxwright.tracing.backend import TracingBackend
from onnxwright.tracing.carrying import Carrier, kind_of
from onnxwright.tracing.replay import Env, Replay
from onnxwright.types.kinds import OnnxType, TensorType, fits
from onnxwright.types.roles import Script
from onnxwright.types.shapes import Dim
from onnxwright.versions.api import convert_version


def is_model(x: object) -> bool:
    """Whether an object is a model, a path of one, or holds one; scripts are functions here."""
    return door.is_model(x) and not isinstance(x, Script)


def call_model(
    b: TracingBackend,
    functions: Functions,
    source: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """The outputs of a model for values of a graph.

    Args:
        b: the backend of the graph.
        functions: the functions of the graph's model; those of the part are added.
        source: the model; it is not changed, and its weights are shared.
        args: its inputs in order: values, numbers, arrays.
        kwargs: its inputs by name.

    Returns:
        A value, or a tuple of them.

    Raises:
        ScriptTypeError: these are not its inputs, or their types differ (OW207).
        ConversionError: it has another opset version, and cannot be converted (OW870).
    """
    model = door.opened(source).clone()
    version = model.graph.opset_imports.get("", b.opset.version)
    if version != b.opset.version:
        model = convert_version(model, b.opset.version)
    bound = _bind(b, model.graph, args, kwargs)
    _check_domains(b, model.graph)
    _rename_dims(model.graph, bound)
    _clear_names(b, model.graph)
    rename_clashing(model, functions.by_key)
    for function in model.functions.values():
        functions.by_key.setdefault(function.identifier(), function)
    env: Env = {}
    for graph in all_graphs(model.graph):
        for name, value in graph.initializers.items():
            if value.const_value is not None and bound.get(value) is None:
                env[value] = initializer(b, value, b.recorder.names.unique(name))
    env.update({value: argument for value, argument in bound.items() if argument is not None})
    replay = Replay(
        b, {"": b.opset.version, **model.graph.opset_imports}, calls=model.functions,
        carrier=Carrier(names=False), tolerant=True, verbatim=not b.folds,
    )  # fmt: skip
    b.recorder.holds_given_nodes = True
    results = replay.run(model.graph, list(model.graph.outputs), env)
    return results[0] if len(results) == 1 else tuple(results)


def _bind(
    b: TracingBackend, graph: ir.Graph, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[ir.Value, GraphValue | None]:
    """A value for each input; None for one that has a default."""
    # Inputs that have a default come after the others, as in runtimes; old models list weights so.
    order = [v for v in graph.inputs if v.const_value is None]
    order += [v for v in graph.inputs if v.const_value is not None]
    names = {v.name or "": v for v in order}
    if len(args) > len(order):
        _wrong(graph, f"takes {len(order)} inputs, {len(args)} were given")
    arguments: dict[ir.Value, Any] = dict(zip(order, args))
    for key, value in kwargs.items():
        if key not in names:
            _wrong(graph, f"has no input `{key}`")
        if names[key] in arguments:
            _wrong(graph, f"has two values for its input `{key}`")
        arguments[names[key]] = value
    sizes: dict[str, int] = {}
    bound: dict[ir.Value, GraphValue | None] = {}
    for value in order:
        kind, held = kind_of(value), arguments.get(value)
        if held is None:
            if value.const_value is None:
                _wrong(graph, f"needs a value for its input `{value.name}`")
            bound[value] = None
            continue
        dtype = kind.dtype if isinstance(kind, TensorType) else None
        one = as_value(b, held, dtype=dtype)
        if not _fits(one.kind, kind, sizes):
            _wrong(graph, f"takes {kind} as `{value.name}`, and {one.kind} is given")
        bound[value] = one
    return bound


def _fits(actual: OnnxType | None, expected: OnnxType | None, sizes: dict[str, int]) -> bool:
    """Whether a type fits, where a name is the same number for all inputs."""
    if not fits(actual, expected):
        return False
    if not isinstance(actual, TensorType) or not isinstance(expected, TensorType):
        return True
    for size, name in zip(actual.shape or (), expected.shape or ()):
        if isinstance(name, str) and isinstance(size, int):
            if sizes.setdefault(name, size) != size:
                return False
    return True


def _wrong(graph: ir.Graph, reason: str) -> None:
    shown = ", ".join(f"{v.name}: {kind_of(v) or '?'}" for v in graph.inputs)
    fail(BadCall(name=graph.name or "the model", reason=reason, signature=f"({shown})"))


def _check_domains(b: TracingBackend, graph: ir.Graph) -> None:
    """Two versions of one domain cannot be in one model."""
    for domain, version in graph.opset_imports.items():
        others = [v for v in b.recorder.opsets.get(domain, ()) if v != version]
        if domain and others and registry.is_known_domain(domain):
            _wrong(graph, f"uses version {version} of {domain}, and this graph version {others[0]}")


def _rename_dims(graph: ir.Graph, bound: Mapping[ir.Value, GraphValue | None]) -> None:
    """Names of sizes mean what they mean in the model: here they are sizes of the arguments."""
    here: dict[str, Dim] = {}
    for value, argument in bound.items():
        kind = argument.kind if argument is not None else None
        if value.shape is not None and isinstance(kind, TensorType):
            for dim, size in zip(value.shape, kind.shape or ()):
                if isinstance(dim, ir.SymbolicDim) and dim.value is not None:
                    here.setdefault(dim.value, size)
    for inner in all_graphs(graph):
        values = [*inner.inputs, *inner.initializers.values()]
        values += [v for node in inner for v in node.outputs]
        for value in values:
            if value.shape is not None and not value.shape.is_static():
                value.shape = ir.Shape(
                    [d if isinstance(d, int) else here.get(d.value or "") for d in value.shape]
                )


def _clear_names(b: TracingBackend, graph: ir.Graph) -> None:
    """Nodes that are called like others of the graph have no name."""
    taken = {n.name for scope in b.recorder.scopes for n in all_nodes(scope.nodes) if n.name}
    for node in all_nodes(graph):
        if node.name in taken:
            node.name = None
