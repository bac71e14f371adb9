"""A graph or function run node by node: what no session can run whole, and what a debugger shows.

Values are plain (arrays, sequences, maps, None).  Subgraphs see the values of the graphs around
them; attributes of a function are bound where its body refers to them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import numpy_helper

from onnxwright.eager.control_flow import callable_bodies
from onnxwright.eager.control_flow.protos import attribute_value, attribute_values
from onnxwright.eager.node_model import constant_array
from onnxwright.eager.tensor import as_value
from onnxwright.eager.values import Value, raw_value
from onnxwright.errors import OnnxwrightError
from onnxwright.ir.reading import raise_damage
from onnxwright.ir.validation.damage import Damage, quoted
from onnxwright.operators import facts
from onnxwright.opset import registry
from onnxwright.opset.op import Op, require_attributes
from onnxwright.opset.opsets import Opset
from onnxwright.opset.registry import normalize_domain
from onnxwright.types.dtypes import DType

RunOp = Callable[[Op, Sequence[Value], Mapping[str, Any], int], Sequence[Value]]


@dataclass(frozen=True)
class Step:
    """One node that was run.

    Fields:
        node: the NodeProto.
        path: where it is: the nodes and iterations around it, outermost first.
        inputs: its inputs.
        outputs: its outputs.
        seconds: how long it took.
    """

    node: onnx.NodeProto
    path: tuple[str, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    seconds: float


class Scope(NamedTuple):
    """Where nodes run.

    Fields:
        values: name -> value, also of the graphs around; nodes add theirs.
        attributes: the attributes of the function around.
        path: the nodes and iterations around, outermost first.
    """

    values: dict[str, Value]
    attributes: Mapping[str, Any] = {}
    path: tuple[str, ...] = ()


_NOWHERE = Scope({})


@dataclass
class Interpreter:
    """Runs nodes one after the other.

    Fields:
        run_op: runs one operator.
        versions: domain -> opset version of the graph.
        functions: (domain, name, overload) -> FunctionProto.
        watch: called after each node, if given.
        load: reads an initializer.
        failed: called with the node that failed and its error; it raises.
    """

    run_op: RunOp
    versions: Mapping[str, int]
    functions: Mapping[tuple[str, str, str], Any] = field(default_factory=dict)
    watch: Callable[[Step], None] | None = None
    load: Callable[[Any], Value] | None = None
    failed: Callable[[Any, OnnxwrightError], None] | None = None
    _initializers: dict[int, tuple[Any, dict[str, Value]]] = field(default_factory=dict)

    def graph(
        self, graph: onnx.GraphProto, inputs: Sequence[Value], around: Scope = _NOWHERE
    ) -> list[Value]:
        """Run a graph.

        Args:
            graph: the GraphProto.
            inputs: its inputs in order; fewer where initializers give the rest.
            around: where it runs; its own values are not added there.

        Returns:
            Its outputs in order.
        """
        values = {**around.values, **self.initializers(graph)}
        for info, value in zip(graph.input, inputs, strict=False):
            values[info.name] = value
        self.nodes(graph.node, around._replace(values=values))
        return [values[o.name] for o in graph.output]

    def function(
        self,
        proto: Any,
        inputs: Sequence[Value],
        attributes: Mapping[str, Any],
        path: tuple[str, ...] = (),
    ) -> list[Value]:
        """Run a function.

        Args:
            inputs: its inputs in order; absent ones at the end may be missing.
            path: where the call is.

        Returns:
            Its outputs in order.
        """
        versions = {normalize_domain(o.domain): o.version for o in proto.opset_import}
        inner = Interpreter(
            self.run_op,
            versions,
            self.functions,
            self.watch,
            self.load,
            self.failed,
            self._initializers,
        )
        defaults = {a.name: attribute_value(a, {}) for a in proto.attribute_proto}
        defaults.update(attributes)
        values: dict[str, Value] = dict.fromkeys(proto.input)
        values.update(zip(proto.input, inputs, strict=False))
        inner.nodes(proto.node, Scope(values, defaults, path))
        # A body made for one call may leave out outputs that the call does not want.
        return [values.get(name) for name in proto.output]

    def nodes(self, nodes: Sequence[Any], scope: Scope) -> None:
        """Run nodes in order and put their outputs into the values of `scope`."""
        for node in nodes:
            inputs = _inputs(node, scope.values)
            start = time.perf_counter()
            try:
                outputs = tuple(self.node(node, inputs, scope))
            except OnnxwrightError as error:
                if self.failed is not None:
                    self.failed(node, error)
                raise
            seconds = time.perf_counter() - start
            scope.values.update({n: v for n, v in zip(node.output, outputs, strict=False) if n})
            if self.watch is not None:
                self.watch(Step(node, scope.path, inputs, outputs, seconds))

    def node(self, node: onnx.NodeProto, inputs: Sequence[Value], scope: Scope) -> Sequence[Value]:
        """The outputs of one node, whose subgraphs see the values of `scope`."""
        domain = normalize_domain(node.domain)
        values = attribute_values(node, scope.attributes)
        here = (*scope.path, node.name or node.op_type)
        local = self.functions.get((domain, node.op_type, node.overload))
        if local is not None:
            return self.function(local, inputs, values, here)
        version = self.versions.get(domain)
        opset = Opset(domain, version if version is not None else registry.newest(domain))
        op = opset[node.op_type]
        trimmed = op.listed(inputs)
        outputs = max((n + 1 for n, name in enumerate(node.output) if name), default=1)
        if facts(node.op_type, domain).has_bodies:
            return self._control(op, node, trimmed, values, scope._replace(path=here))
        if domain == "" and node.op_type == "Constant":
            array = constant_array(values)
            if array is not None:
                return [array]
        return self.run_op(op, trimmed, values, outputs)

    def _control(
        self,
        op: Op,
        node: onnx.NodeProto,
        inputs: Sequence[Value],
        values: Mapping[str, Any],
        scope: Scope,
    ) -> Sequence[Value]:
        require_attributes(op, values)  # the attribute of a function that a call does not give
        least = op.signature.min_input if op.signature is not None else 0
        if len(inputs) < least:
            what = f"it has {len(inputs)} inputs, and {op.name} takes at least {least}"
            raise_damage(Damage("structure", f"a node `{op.name}`", what))
        bodies = {
            name: self.callable(body, scope, number=op.name != "If")
            if hasattr(body, "node")
            else body
            for name, body in values.items()
        }
        wrapped = [as_value(x) for x in inputs]
        results = callable_bodies.run(op, wrapped, bodies, len(node.output))
        assert results is not None
        results_of_body = [raw_value(r) for r in results]
        body = values.get("body")
        if len(results_of_body) < len(node.output) and body is not None:
            # No iteration: what is stacked is empty, of the type that the body declares.
            results_of_body += [
                _empty(o) for o in body.output[len(body.output) - len(node.output) :]
            ][len(results_of_body) :]
        return results_of_body

    def callable(
        self, graph: onnx.GraphProto, scope: Scope, *, number: bool = False
    ) -> Callable[..., Any]:
        """A subgraph as a Python callable on tensors.

        Args:
            scope: where it runs; values are looked up when it is called.
            number: whether its calls are numbered in the path.
        """
        calls = 0

        def body(*args: Any) -> tuple[Any, ...]:
            nonlocal calls
            place = f"#{calls}" if number else graph.name or "body"
            calls += 1
            inner = scope._replace(path=(*scope.path, place))
            results = self.graph(graph, [raw_value(a) for a in args], inner)
            return tuple(as_value(r) for r in results)

        return body

    def initializers(self, graph: onnx.GraphProto) -> dict[str, Value]:
        """The initializers of a graph, read once."""
        arrays = self._initializers.get(id(graph))
        if arrays is None:
            load = self.load or numpy_helper.to_array
            values: dict[str, Value] = {}
            for t in graph.initializer:
                array: Any = load(t)
                values[t.name] = array.astype(object) if array.dtype.kind in "SU" else array
            # The graph is kept with its values, so that its id stays its own.
            arrays = self._initializers[id(graph)] = (graph, values)
        return arrays[1]


def _empty(info: Any) -> Value:
    """What a loop without iterations stacks: no rows of the declared type."""
    tensor = info.type.tensor_type
    dtype = DType(tensor.elem_type) if tensor.elem_type else DType.FLOAT
    shape = [d.dim_value for d in tensor.shape.dim] if tensor.HasField("shape") else []
    return np.zeros((0, *shape), dtype.numpy)


def _inputs(node: Any, scope: Mapping[str, Value]) -> tuple[Value, ...]:
    """The values that a node reads.

    A graph that a call gives to a function may read values around the call, which the function
    does not have.
    """
    try:
        return tuple(scope[name] if name else None for name in node.input)
    except KeyError as error:
        where = f"node {quoted(node.op_type)}"
        what = f"it reads {quoted(error.args[0])}, which is not defined where its graph runs"
        advice = "inline the function that takes the graph (`onnx.inliner.inline_local_functions`)"
        raise_damage(Damage("structure", where, what, advice))
