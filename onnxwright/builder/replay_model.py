"""A whole model replayed: graph, bodies and functions, with all that it says beside its nodes.

Inputs and outputs, their names, types and order stay as they are; so do initializers that are
inputs.  Weights are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import onnx
import onnx_ir as ir

from onnxwright.ir.builder import Recorder
from onnxwright.ir.nested import all_nodes, name_nodes, subgraphs
from onnxwright.ir.stored import notes_of, props_of
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.backend import TracingBackend
from onnxwright.tracing.call_types import CallTypes
from onnxwright.tracing.carrying import Carrier, kind_of
from onnxwright.tracing.closing import Closed, finalize, ir_graph
from onnxwright.tracing.constants import may_be_read
from onnxwright.tracing.replay import Env, Replay
from onnxwright.versions.one_call import converted_call

INFERRED = "onnxwright.inferred"
"""Where an output of a replayed model keeps the type that was inferred for it."""


@dataclass(frozen=True)
class ReplayOptions:
    """How a model is replayed.

    Fields:
        version: the version of the standard opset afterwards; by default that of the model.
        inline: functions whose calls are inlined; all others stay functions.
        verbatim: nodes are copied as they are, nothing is simplified.
        prepare: called with each new backend before nodes are built on it.
        consumes: whether the nodes and values of the main graph may become those of the new one:
            the model is not to be used afterwards.
    """

    version: int | None = None
    inline: Callable[[ir.Function], bool] = lambda _: False
    verbatim: bool = False
    prepare: Callable[[TracingBackend], None] | None = None
    consumes: bool = False


def replay_model(model: ir.Model, options: ReplayOptions | None = None) -> ir.Model:
    """A model made again, node by node.

    Args:
        model: the model; it is not changed, and its tensors are shared with the new one.
        options: how.

    Returns:
        The new model.

    Example:
        >>> x = ir.Value(name="x", shape=ir.Shape(["N"]), type=ir.TensorType(ir.DataType.FLOAT))
        >>> same = ir.Node("", "Identity", [x], num_outputs=1)
        >>> last = ir.Node("", "Relu", [same.outputs[0]], num_outputs=1)
        >>> same.outputs[0].name, last.outputs[0].name = "same", "y"
        >>> graph = ir.Graph([x], last.outputs, nodes=[same, last], opset_imports={"": 20})
        >>> model = replay_model(ir.Model(graph, ir_version=10))
        >>> [n.op_type for n in model.graph], model.graph.outputs[0].name
        (['Relu'], 'y')
    """
    return replayed(model, options or ReplayOptions()).model


@dataclass(frozen=True)
class Replayed:
    """A model that was made again, and what is known of its values.

    Fields:
        model: the new model.
        parts: its graph and its functions, each with the replay that built it.
    """

    model: ir.Model
    parts: list[tuple[ir.Graph | ir.Function, Replay]]


def replayed(model: ir.Model, options: ReplayOptions) -> Replayed:
    """As `replay_model`, with the backends that built the graphs of the new model.

    Args:
        model: the model; it is not changed, and its tensors are shared with the new one.
        options: how.

    Returns:
        The new model, and its parts.
    """
    run = _ModelReplay(model, options)
    return Replayed(run.run(), run.parts)


class _ModelReplay:
    def __init__(self, model: ir.Model, options: ReplayOptions) -> None:
        self.model = model
        self.options = options
        self.inlined = {k: f for k, f in model.functions.items() if options.inline(f)}
        self.seen = CallTypes()
        self.kept = {k: f for k, f in model.functions.items() if k not in self.inlined}
        self.parts: list[tuple[ir.Graph | ir.Function, Replay]] = []

    def run(self) -> ir.Model:
        source = self.model.graph
        version = self._version(source.opset_imports)
        b, replay, env = self._start(version, source.opset_imports, references=False)
        names = _output_names(source)
        outputs = filled(b, replay, source, env, consumes=self.options.consumes)
        closed = finalize(b, outputs, names, as_they_are=True)
        model = self._model(b, closed, version)
        self.parts.append((model.graph, replay))
        return model

    def _version(self, imports: Any) -> int:
        version = self.options.version or imports.get("")
        return int(version) if version else onnx.defs.onnx_opset_version()

    def _start(
        self, version: int, imports: Any, *, references: bool
    ) -> tuple[TracingBackend, Replay, Env]:
        b = TracingBackend(Recorder(), Opset("", version), converted_call)
        if self.options.prepare is not None:
            self.options.prepare(b)
        replay = Replay(
            b, {"": version, **imports}, functions=self.inlined,
            calls=self.kept, carrier=Carrier(), references=references, tolerant=True,
            verbatim=self.options.verbatim, seen=self.seen,
        )  # fmt: skip
        return b, replay, {}

    def _model(self, b: TracingBackend, closed: Closed, version: int) -> ir.Model:
        old, source = self.model, self.model.graph
        for value in closed.constants:
            value.const_value = b.pool.as_tensor(value)
            kept = b.pool.sources.get(value)
            if kept is not None and kept is not value:
                if props_of(kept):
                    value.metadata_props.update(kept.metadata_props)
                if notes_of(kept):
                    value.meta.update(kept.meta)
                value.doc_string = kept.doc_string
        inputs, outputs = list(source.inputs), list(source.outputs)
        if self.options.consumes:
            _empty(source)
        for new, original in zip(closed.inputs, inputs, strict=True):
            copy_value(original, new)
            if original.const_value is not None:
                new.const_value = original.const_value
        for new, original in zip(closed.outputs, outputs, strict=True):
            kind = b.recorder.type_of(new)
            copy_value(original, new)
            new.meta[INFERRED] = kind
        defaults = [v for v in closed.inputs if v.const_value is not None]
        functions = [self._function(f) for f in self.kept.values()]
        imports = dict(source.opset_imports)
        imports.update(closed.imports)
        if "" in imports or not imports:
            imports[""] = version
        name_nodes(closed.nodes)
        graph = ir.Graph(
            closed.inputs,
            closed.outputs,
            nodes=closed.nodes,
            initializers=[*closed.constants, *defaults],
            opset_imports=imports,
            name=source.name,
            doc_string=source.doc_string,
            metadata_props=dict(source.metadata_props),
        )
        graph.meta.update(source.meta)
        model = ir.Model(
            graph,
            ir_version=old.ir_version,
            producer_name=old.producer_name,
            producer_version=old.producer_version,
            domain=old.domain,
            model_version=old.model_version,
            doc_string=old.doc_string,
            functions=functions,
            metadata_props=dict(old.metadata_props),
            device_configurations=tuple(old.device_configurations or ()),
        )
        model.meta.update(old.meta)
        return model

    def _function(self, source: ir.Function) -> ir.Function:
        """A function with its body made again; its inputs may have any type."""
        version = self._version(source.opset_imports)
        b, replay, env = self._start(version, source.opset_imports, references=True)
        replay.function = source.identifier()
        for value in source.inputs:
            env[value] = _input(b, value)
        _reserve(b, _names(source.graph))
        outputs = [v for v in replay.run(source, list(source.outputs), env) if v is not None]
        closed = finalize(b, outputs, _output_names(source.graph), as_they_are=True)
        for new, original in zip((*closed.inputs, *closed.outputs),
                              (*source.inputs, *source.outputs), strict=True):  # fmt: skip
            copy_value(original, new)
        graph = ir_graph(b, closed, source.doc_string)
        imports = {**source.opset_imports, **graph.opset_imports}
        if "" in source.opset_imports:
            imports[""] = version
        graph.opset_imports.clear()
        graph.opset_imports.update(imports)
        function = ir.Function(
            source.domain, source.name, source.overload, graph=graph, attributes=source.attributes
        )
        function.metadata_props.update(source.metadata_props)
        function.doc_string = source.doc_string
        function.meta.update(source.meta)
        self.parts.append((function, replay))
        return function


def _empty(graph: ir.Graph) -> None:
    """Release the values and nodes of a graph, for another one."""
    graph.inputs.clear()
    graph.outputs.clear()
    graph.initializers.clear()
    graph.remove(list(graph))


def filled(
    b: TracingBackend, replay: Replay, source: ir.Graph, env: Env, *, consumes: bool = False
) -> list[GraphValue]:
    """Make the inputs, initializers and nodes of a graph in an empty one, with their names.

    Args:
        b: the backend of the empty graph.
        replay: how nodes are made.
        source: the graph.
        env: the values that replace those of the graph; it is filled.
        consumes: whether values and nodes of the graph may become those of the other one.

    Returns:
        The outputs.
    """
    for value in source.inputs:
        env[value] = _input(b, value, stays=consumes)
    for name, value in source.initializers.items():
        if value not in env and value.const_value is not None:
            env[value] = initializer(b, value, name, stays=consumes)
    taken = dict.fromkeys(_names(source))
    _reserve(b, taken)
    for graph in _bodies(source):
        for name, value in graph.initializers.items():
            if value not in env and value.const_value is not None:
                # Bodies beside each other may have one name twice; here all of them see it.
                free = name not in taken and name not in b.recorder.holders
                own = name if free else b.recorder.names.unique(name)
                env[value] = initializer(b, value, own)
    results = replay.run(source, list(source.outputs), env, consumes=consumes)
    outputs = [v for v in results if v is not None]
    assert len(outputs) == len(source.outputs)
    return outputs


def _output_names(graph: ir.Graph) -> list[str]:
    return [v.name or "" for v in graph.outputs]


def _input(b: TracingBackend, value: ir.Value, *, stays: bool = False) -> GraphValue:
    kind = kind_of(value)
    kept = value if stays and value.name else None
    graph_input = b.wrap(b.recorder.input(value.name or "x", kind, value=kept), kind)
    b.recorder.holders[str(graph_input.value.name)] = graph_input.value
    return graph_input


def initializer(
    b: TracingBackend, value: ir.Value, name: str, *, stays: bool = False
) -> GraphValue:
    """An initializer: small integers are read, everything else may be trained, and is not.

    Args:
        b: the backend.
        value: an initializer of another graph.
        name: its name.
        stays: whether it becomes the value of this graph itself.

    Returns:
        The value of this graph.
    """
    tensor: Any = value.const_value
    if may_be_read(tensor):
        ir_value = b.pool.literal(tensor, name, value, stays=stays)
    else:
        ir_value = b.pool.weight(tensor, name, value, stays=stays)
    return b.value_of(ir_value)


def copy_value(source: ir.Value, target: ir.Value) -> None:
    """Copy the type and metadata of one value to another.

    Args:
        source: a value of the old graph.
        target: the value that replaces it.
    """
    if target is source:
        return
    if source.type is not None:
        target.type = source.type
        target.shape = None if source.shape is None else source.shape.copy()
    target.doc_string = source.doc_string
    if props_of(source):
        target.metadata_props.update(source.metadata_props)
    if notes_of(source):
        target.meta.update(source.meta)


def _reserve(b: TracingBackend, names: Iterable[str]) -> None:
    """Take names, so that no new value gets the one of a value that comes later."""
    recorder = b.recorder
    before, recorder.names.for_good = recorder.names.for_good, True
    for name in names:
        if name not in recorder.holders:
            recorder.names.unique(name)
    recorder.names.for_good = before


def _names(graph: ir.Graph) -> Iterator[str]:
    for value in graph.outputs:
        if value.name:
            yield value.name
    for node in all_nodes(graph):
        for value in node.outputs:
            if value.name:
                yield value.name
        for inner in subgraphs(node) if node.attributes.data else ():
            for value in inner.inputs:
                if value.name:
                    yield value.name


def _bodies(graph: ir.Graph) -> Iterator[ir.Graph]:
    for node in all_nodes(graph):
        if node.attributes.data:
            yield from subgraphs(node)
