"""`Running`: a graph that is not finished, run on arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import onnx_ir as ir

from onnxwright.builder.calling import Calling
from onnxwright.builder.functions import Functions
from onnxwright.diagnostics.catalogue import builder as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.nested import all_nodes, subgraphs
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import describe
from onnxwright.tracing.backend import TracingBackend
from onnxwright.tracing.carrying import kind_of
from onnxwright.tracing.closing import ModelFacts
from onnxwright.tracing.replay import Env, Replay


class Running(Calling):
    """Runs the graph of a `GraphBuilder` as far as it is built."""

    ir_version: int | None
    _functions: Functions
    _outputs: list[tuple[str, GraphValue]]
    _attributes: list[ir.Attr]

    def run(
        self,
        inputs: Mapping[str, Any],
        *values: Any,
        providers: Sequence[Any] | None = None,
    ) -> Any:
        """Run the graph as it is now; more can be added afterwards.

        Only what the values need is run, and only its inputs are needed.  A value that a node makes
        can be given like an input: its node is then not run.

        Args:
            inputs: arrays by name, or by value.
            values: the values that are wanted, or their names; without any, the outputs of the
                graph, and where it has none, what no node reads.
            providers: execution providers of ONNX Runtime; the CPU if not given.

        Returns:
            The array of the value, a tuple where there are several; without `values` a dict by
            name.

        Raises:
            ScriptNameError: a name is that of no value (OW541).
            ScriptError: there is nothing to run (OW545), or an attribute parameter has no value
                (OW550).
            TypeError: `inputs` is not a mapping.
            EagerValueError: the runtime does not have a provider (OW625).
            EagerTypeError: an input is missing, or has another type (OW621).
            EagerError: a node failed (OW622).

        Example:
            >>> import numpy as np
            >>> from onnxwright import FLOAT, GraphBuilder
            >>> g = GraphBuilder()
            >>> x = g.input("x", FLOAT["N"])
            >>> y = x * 2
            >>> g.run({"x": np.array([1.0, 2.0], np.float32)}, y)
            array([2., 4.], dtype=float32)
            >>> g.output(g.op.ReduceSum(y), "total")
            >>> g.run({"x": np.array([1.0, 2.0], np.float32)})
            {'total': array([6.], dtype=float32)}
        """
        from onnxwright.eager.ort.compiled_models import CompiledModel

        if not isinstance(inputs, Mapping):
            raise TypeError(f"`run` takes arrays by name, not {describe(inputs)}")
        if self._attributes:
            fail(messages.AttributeOfModel(name=self._attributes[0].name))
        targets = [self._target(v) for v in values]
        names: list[str] = []
        if not values:
            names, targets = self._results()
        if not targets:
            fail(messages.NothingToBuild())
        arrays = {self._fed(key): array for key, array in inputs.items()}
        fed = {name: self.value(name) for name in arrays}
        model, needed = _unfinished(self.backend, targets, fed, self._functions, self.ir_version)
        compiled = CompiledModel(model, providers=providers)
        outputs = compiled(**{n: a for n, a in arrays.items() if n in needed})
        if values:
            return outputs
        results = outputs if len(compiled.output_names) > 1 else (outputs,)
        return dict(zip(names, results, strict=True))

    def _target(self, value: Any) -> GraphValue:
        """A value, that of an output's name, or that of another name."""
        if not isinstance(value, str):
            return self._argument(value)
        output = dict(self._outputs).get(value)
        return self.value(value) if output is None else output

    def _fed(self, key: Any) -> str:
        return str(key.value.name) if isinstance(key, GraphValue) else str(key)

    def _results(self) -> tuple[list[str], list[GraphValue]]:
        """The outputs, or what no node reads."""
        if self._outputs:
            return [n for n, _ in self._outputs], [v for _, v in self._outputs]
        nodes = self.backend.recorder.scopes[0].nodes
        last = [v for node in nodes for v in node.outputs if not v.uses() and v.name]
        return [str(v.name) for v in last], [self.backend.value_of(v) for v in last]


def _unfinished(
    b: TracingBackend,
    targets: Sequence[GraphValue],
    fed: Mapping[str, GraphValue],
    functions: Functions,
    ir_version: int | None,
) -> tuple[ir.Model, set[str]]:
    """A model of what some values need, and the names of its inputs."""
    fed_names = {v.value: name for name, v in fed.items()}
    nodes, free = _needed([v.value for v in targets], fed_names)
    aside = b.aside()
    aside.recorder.holds_given_nodes = b.recorder.holds_given_nodes
    env: Env = {}
    needed = set()
    for value in free:
        if value in fed_names or value not in b.pool:
            name = fed_names.get(value, str(value.name))
            needed.add(name)
            env[value] = aside.input(name, b.recorder.type_of(value) or kind_of(value))
            continue
        array = b.recorder.const_value(value)
        if array is not None:
            env[value] = aside.constant(array)
        else:
            env[value] = aside.value_of(aside.pool.weight(b.pool.as_tensor(value), "weight"))
    imports = {d: max(versions) for d, versions in b.recorder.opsets.items()}
    replay = Replay(
        aside,
        {**imports, "": b.opset.version},
        calls=functions.by_key,
        tolerant=True,
        verbatim=True,
    )
    order = [n for scope in b.recorder.scopes for n in scope.nodes if n in nodes]
    replayed = replay.run(order, [v.value for v in targets], env)
    results = [v for v in replayed if v is not None]
    names = [f"result_{n}" for n in range(len(results))]
    facts = ModelFacts(functions=_called(order, functions), ir_version=ir_version)
    return aside.to_ir_model(results, names, facts), needed


def _called(nodes: Iterable[ir.Node], functions: Functions) -> list[ir.Function]:
    """The functions that nodes call, and those that these call."""
    called: dict[ir.Function, None] = {}
    stack: list[Iterable[ir.Node]] = [nodes]
    while stack:
        for node in all_nodes(stack.pop()):
            function = functions.by_key.get(node.op_identifier())
            if function is not None and function not in called:
                called[function] = None
                stack.append(function)
    return list(called)


def _needed(
    values: Iterable[ir.Value], fed: Mapping[ir.Value, str]
) -> tuple[set[ir.Node], list[ir.Value]]:
    """The nodes that values need, and the values that no node of these makes."""
    nodes: set[ir.Node] = set()
    free: dict[ir.Value, None] = {}
    stack = list(values)
    while stack:
        value = stack.pop()
        node = value.producer()
        if value in fed or node is None:
            free[value] = None
        elif node not in nodes:
            nodes.add(node)
            stack += _read_by(node)
    return nodes, list(free)


def _read_by(node: ir.Node) -> list[ir.Value]:
    """What a node reads, its bodies included."""
    reads = [v for v in node.inputs if v is not None]
    inside: set[ir.Value] = set()
    for inner in all_nodes([node]):
        for graph in subgraphs(inner):
            inside.update(graph.inputs)
            inside.update(graph.initializers.values())
            reads += list(graph.outputs)
            for one in graph:
                inside.update(one.outputs)
                reads += [v for v in one.inputs if v is not None]
    return [v for v in reads if v not in inside]
