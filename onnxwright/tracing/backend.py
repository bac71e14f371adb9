"""`TracingBackend`: builds the smallest graph that does what the calls say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from onnxwright.ir import adapters
from onnxwright.ir.builder import Recorder
from onnxwright.ir.collector import collector_paused
from onnxwright.ir.nested import all_nodes
from onnxwright.operators import facts
from onnxwright.operators.contrib import types_of_runtime
from onnxwright.operators.op_call import OpCall, as_array
from onnxwright.opset.op import Op
from onnxwright.opset.opsets import Opset
from onnxwright.opset.registry import signature
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing import control_flow
from onnxwright.tracing.call_keys import exact_attributes
from onnxwright.tracing.call_memo import CallFacts, call_facts, known_facts
from onnxwright.tracing.closing import ClosedModel, ModelFacts, finalize, ir_graph
from onnxwright.tracing.constants import constant_array
from onnxwright.tracing.fold import fold, foldable, may_round
from onnxwright.tracing.graph_backend import ConvertCall, GraphBackend
from onnxwright.tracing.inline import adapted
from onnxwright.tracing.scripts import Callee, call_script
from onnxwright.tracing.simplify import simplify
from onnxwright.tracing.traced_value import TracedValue
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.roles import AttributeReference
from onnxwright.types.shapes import Shape

# Arrays of a builder's user of more bytes are weights, not numbers written down in code.
LITERAL_BYTES = 1024
# Weights of so many numbers are read when their values are asked for.
FEW_NUMBERS = 64

_NONE: Mapping[str, object] = {}


class TracingBackend(GraphBackend):
    """A graph backend that simplifies each call before it becomes a node.

    Constants are folded, an Identity is its input, equal nodes are shared, and nodes that nothing
    reads are dropped.  Constants are not nodes: they become initializers of the model, or Constant
    nodes of a function, when it is closed.

    Args:
        recorder: where nodes go.
        opset: the default-domain opset.
        convert_call: converts a call that is written for another opset version;
            `versions.one_call.converted_call` does.

    Example:
        >>> from onnxwright.semantics.ops import Ops
        >>> from onnxwright.types.dtypes import DType
        >>> from onnxwright.versions.one_call import converted_call
        >>> b = TracingBackend(Recorder(), Opset("", 23), converted_call)
        >>> op = Ops(b)
        >>> x = b.input("x", TensorType(DType.FLOAT, ("N", 4)))
        >>> y = op.Reshape(x, op.Concat(op.Shape(x)[0:1] * 2, [2], axis=0))
        >>> str(y.kind), op.Size(x).dims
        ('FLOAT[2*N, 2]', '4*N')
        >>> [node.op_type for node in b.to_ir_model([op.Relu(op.Identity(x) * 1.0)]).graph]
        ['Relu']
    """

    def __init__(self, recorder: Recorder, opset: Opset, convert_call: ConvertCall) -> None:
        super().__init__(recorder, opset, convert_call)
        self.folds = True
        # Whether arrays of numpy take the type of the tensor beside them, as numbers do.
        self.adapts_arrays = False
        # Whether only that is folded which every machine computes to the same bits.
        self.folds_exactly = False
        # Whether calls that need no node are left out, and equal calls are one node.
        self.simplifies = True
        # Asked before each call whether its inputs may be used.
        self.guard: Callable[[Sequence[GraphValue | None]], None] | None = None

    # -- values ------------------------------------------------------------------------------------

    def wrap(self, value: ir.Value, kind: OnnxType | None, weak: str | None = None) -> TracedValue:
        """A value of this backend for a value of the IR."""
        return TracedValue(self, value, kind, weak)

    def constant(self, array: np.ndarray[Any, Any]) -> GraphValue:
        """A value that holds `array` (equal ones are shared)."""
        array = np.asarray(array)
        if self.adapts_arrays and array.nbytes > LITERAL_BYTES:
            return self.value_of(self.pool.initializer(array))
        return self.value_of(self.pool.array(array))

    def weight_value(self, value: GraphValue) -> np.ndarray[Any, Any] | None:
        """The array of a weight that is held in memory, or is a few numbers."""
        held = self.pool.held.get(value.value, (None, None))[0]
        if adapters.is_tensor(held) and held.size <= FEW_NUMBERS:
            array: np.ndarray[Any, Any] = held.numpy()
            return array
        return held if isinstance(held, np.ndarray) else None

    def _note_use(self, op: Op) -> None:
        # Calls of other versions are adapted when they are made: nothing is left for the end.
        if op.domain != "":
            self.recorder.use_opset(op.domain, op.version, self.span)

    # -- calls -------------------------------------------------------------------------------------

    def emit_written(
        self,
        op: Op,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> tuple[GraphValue, ...]:
        """As `emit`: a node that a traced function calls is dropped if nothing reads it."""
        return self.emit(op, inputs, attributes, outputs)

    def emit(
        self,
        op: Op,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> tuple[GraphValue, ...]:
        """The outputs of an operator: known values, an input itself, or those of a node."""
        if self.guard is not None:
            self.guard(inputs)
        if op.domain == "":
            if op.opset is not self.opset and op.signature is not None:
                there = signature("", op.name, self.opset.version)
                if there is not op.signature:
                    return adapted(self, op, inputs, attributes, outputs)
                op = self.opset[op.name]
            if facts(op.name).has_bodies:
                results = control_flow.build(self, op, inputs, attributes, outputs)
                return tuple(map(self._own, results))
            if op.name == "Constant" and not any(map(_is_reference, attributes.values())):
                if not self.folds:
                    return self._constant_node(op, attributes)
                return (self.constant(constant_array(attributes)),)
        call = self.op_call(op, inputs, attributes, outputs)
        if call is not None and op.domain == "" and self.folds and self.simplifies:
            simple = simplify(self, call, list(inputs))
            if simple is not None:
                return (self._own(simple),)
        return self.build(op, call, inputs, attributes, outputs)

    def _own(self, value: GraphValue) -> GraphValue:
        """The same value as an object of its own: `y = x * 1` is not `x`, where `y[0]` is set."""
        alias = self.wrap(value.value, value.kind, self.weak_kind(value))
        asked = getattr(value, "asked", None)
        if asked is not None:
            alias.asked = asked
        return alias

    def build(
        self,
        op: Op,
        call: OpCall | None,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> tuple[GraphValue, ...]:
        """The outputs of an operator that is not its input: shared, folded, or those of a node."""
        written = exact_attributes(attributes)
        shares = self.folds and self.simplifies
        key = self._sharing_key(op, inputs, written, outputs) if shares else None
        shared = self._shared(key)
        if shared is not None:
            return shared
        attrs = self.checked_attributes(op, attributes) if attributes else []
        if call is not None:
            output_facts = known_facts(call, op.opset.version, written)
            if output_facts is None:
                infer = partial(self._inferred, op, inputs, attrs)
                output_facts = call_facts(call, op.opset.version, written, infer)
        else:
            kinds = [None if v is None else v.kind for v in inputs]
            named = types_of_runtime(op.name, op.domain, kinds, outputs, attributes)
            output_facts = CallFacts(tuple(named or [None] * outputs), None, None)
        if self.folds:
            results = self._without_node(op, call, output_facts, attrs)
            if results is not None:
                self._share(key, [v.value for v in results])
                return results
        types, dims, _ = output_facts
        # Nodes that were written as they are stay, though nothing may read them.
        sugar = self.folds
        values = self.append_node(op, inputs, attrs, types, call, sugar=sugar, dims=dims or ())
        if dims is not None and len(values) == 1 and self.folds:
            self._share(_shape_key(types[0], dims[0]), values)
        self._share(key, values)
        if len(values) == 1:
            return (self.wrap(values[0], types[0]),)
        return tuple([self.wrap(v, k) for v, k in zip(values, types, strict=True)])

    def _inferred(
        self, op: Op, inputs: Sequence[GraphValue | None], attrs: list[ir.Attr], call: OpCall
    ) -> Sequence[OnnxType | None]:
        return self.output_types(op, call, inputs, attrs) or [None] * call.count

    def _constant_node(self, op: Op, attributes: Mapping[str, object]) -> tuple[GraphValue, ...]:
        """The output of a Constant that stays a node; what it holds is known."""
        array = constant_array(attributes)
        kind = TensorType(DType.from_numpy(array.dtype), array.shape)
        attrs = self.checked_attributes(op, attributes)
        (value,) = self.append_node(op, (), attrs, [kind], None, sugar=False)
        self.recorder.info(value).const_value = array
        return (self.wrap(value, kind),)

    def _without_node(
        self, op: Op, call: OpCall | None, output_facts: CallFacts, attrs: list[ir.Attr]
    ) -> tuple[GraphValue, ...] | None:
        """The outputs as constants, or as what holds the same shape, where that is known now."""
        if call is None or op.domain != "":
            return None
        types, dims, array = output_facts
        if call.is_bare and call.types and array is None and dims is None:
            return None  # as most calls are
        if foldable(op, call) and not (self.folds_exactly and may_round(op, types)):
            arrays = fold(op, call, types, attrs)
            if arrays is not None:
                return tuple(map(self.constant, arrays))
        if call.count != 1:
            return None
        kind, shape = types[0], dims[0] if dims is not None else None
        if array is None and shape is not None and isinstance(kind, TensorType):
            array = as_array(shape, kind)
        if array is not None:
            return (self.constant(array),)
        return self._shared(_shape_key(kind, shape)) if self.simplifies else None

    def call_script(self, script: Callee, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What a `@script` function returns for values of this graph.

        Args:
            args: positional arguments.
            kwargs: arguments by name.

        Returns:
            A value, or a tuple of them.
        """
        return call_script(self, script, args, kwargs)

    # -- closing -----------------------------------------------------------------------------------

    @collector_paused()
    def to_ir_model(
        self,
        outputs: Sequence[GraphValue],
        names: Sequence[str] | None = None,
        facts: ModelFacts | None = None,
    ) -> ir.Model:
        """The graph built so far as a model; what no output needs is dropped.

        Args:
            outputs: the model's outputs; constants, inputs and repeated values are allowed.
            names: their names, in order; by default those of the values.
            facts: what else the model says: IR version, names, documentation, functions.

        Returns:
            The model; it owns the graph, so nothing can be built after it.
        """
        closed = self.closed_model(outputs, names, facts)
        self.own_types(closed.closed.nodes)
        return closed.ir_model()

    def closed_model(
        self,
        outputs: Sequence[GraphValue],
        names: Sequence[str] | None = None,
        facts: ModelFacts | None = None,
    ) -> ClosedModel:
        """As `to_ir_model`, of values that may still share their types: to be read only."""
        facts = facts or ModelFacts()
        closed = finalize(self, outputs, names, as_they_are=facts.opened is not None)
        return ClosedModel(self, closed, facts)

    def own_types(self, nodes: Iterable[ir.Node]) -> None:
        """Give the constants of this graph, and what its nodes make, types that may be changed."""
        if self.shares_types:
            self.shares_types = self.pool.shares_types = False
            for value in self.pool:
                adapters.own_type(value)
            for node in all_nodes(nodes):
                for value in node.outputs:
                    adapters.own_type(value)

    def to_ir_graph(
        self,
        outputs: Sequence[GraphValue],
        names: Sequence[str] | None = None,
        doc_string: str | None = None,
    ) -> ir.Graph:
        """The graph built so far, its constants as nodes: the body of a function."""
        closed = finalize(self, outputs, names)
        self.own_types(closed.nodes)
        return ir_graph(self, closed, doc_string)

    @collector_paused()
    def to_model_proto(
        self,
        outputs: Sequence[GraphValue],
        names: Sequence[str] | None = None,
        facts: ModelFacts | None = None,
    ) -> onnx.ModelProto:
        """As `to_ir_model`, as a ModelProto.

        Args:
            outputs: the model's outputs.
            facts: what else the model says.
        """
        return self.closed_model(outputs, names, facts).proto()


def _shape_key(kind: OnnxType | None, dims: Shape | None) -> object | None:
    """What makes two values the same shape: the same names are the same numbers."""
    return None if dims is None or None in dims else ("shape", kind, dims)


def _is_reference(value: object) -> bool:
    return isinstance(value, AttributeReference)
