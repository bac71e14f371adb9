"""`GraphBuilder`: a model built by calls; each value knows what can be known of it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import onnx_ir as ir

from onnxwright.builder.callees import Callees
from onnxwright.builder.functions import Functions
from onnxwright.builder.names import Names
from onnxwright.builder.opening import fill
from onnxwright.builder.parts import BuilderOps, Subgraph
from onnxwright.builder.results import Results
from onnxwright.builder.scopes import Scoped, Scopes
from onnxwright.builder.types import read_type
from onnxwright.diagnostics.catalogue import builder as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir import adapters, door, model_kinds
from onnxwright.ir.builder import Recorder
from onnxwright.opset import DEFAULT_OPSET_VERSION
from onnxwright.opset.op import Op
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import describe
from onnxwright.tracing.backend import TracingBackend
from onnxwright.types.kinds import AttrKind, OnnxType
from onnxwright.types.roles import AttributeReference
from onnxwright.versions.one_call import converted_call


class GraphBuilder(Callees, Results, Scoped):
    """A graph under construction.

    Args:
        opset: the version of the default opset, an `Opset`, or versions by domain.
        ir_version: the IR version of the model; by default the lowest that holds everything.
        name: the name of the graph.
        doc_string: a description of the model.
        producer_name: who makes the model.
        metadata: entries for the model's `metadata_props`.
        origins: whether nodes remember the Python line that made them.
        fold: whether a call becomes as few nodes as possible; else each call is one node, as it is
            written, though it could be computed at once, is there already or is read by nothing.

    Attributes:
        op: the operators of the default opset.
        functions: the model's functions, by (domain, name, overload).
        metadata: entries for the model's `metadata_props`.
        backend: the `TracingBackend` underneath.

    Raises:
        ScriptTypeError: a call does not fit its operator; the message has the typed signature and
            the last nodes.

    Example:
        >>> import numpy as np
        >>> from onnxwright import FLOAT
        >>> g = GraphBuilder(opset=21)
        >>> x = g.input("x", FLOAT["N", 4])
        >>> w = g.initializer(np.ones((4, 2), np.float32), "w")
        >>> y = g.op.Relu(g.op.MatMul(x, w) + 1)
        >>> g.output(y, "y")
        >>> model = g.to_model_proto()
        >>> [node.op_type for node in model.graph.node], y.shape
        (['MatMul', 'Add', 'Relu'], ('N', 2))
    """

    def __init__(
        self,
        *,
        opset: int | Opset | Mapping[str, int] | None = None,
        ir_version: int | None = None,
        name: str = "main",
        doc_string: str | None = None,
        producer_name: str = "onnxwright",
        metadata: Mapping[str, str] | None = None,
        origins: bool = False,
        fold: bool = True,
    ) -> None:
        self._versions = dict(opset) if isinstance(opset, Mapping) else {}
        version = self._versions.get("", DEFAULT_OPSET_VERSION)
        if isinstance(opset, Opset):
            version = opset.version
        elif opset is not None and not isinstance(opset, Mapping):
            version = opset
        self.backend = TracingBackend(Recorder(), Opset("", version), converted_call)
        self.ir_version = ir_version
        self.name = name
        self.doc_string = doc_string
        self.producer_name = producer_name
        self.metadata: dict[str, str] = dict(metadata or {})
        self.origins = origins
        self.op = BuilderOps(self, self.backend.opset)
        self._opsets: dict[tuple[str, int], BuilderOps] = {("", version): self.op}
        self._names = Names(self.backend)
        self._functions = Functions(self.backend)
        self._scopes = Scopes(self.backend.recorder)
        self._opened: ir.Model | None = None
        self._outputs: list[tuple[str, GraphValue]] = []
        self._output_names: set[str] = set()
        self._attributes: list[ir.Attr] = []
        self._finished: Any = None
        self._weights: dict[Any, GraphValue] = {}
        self.backend.folds = fold
        self.backend.guard = self._check
        self.backend.adapts_arrays = True
        self.backend.shares_types = self.backend.pool.shares_types = True

    @classmethod
    def from_model(cls, model: Any, *, origins: bool = False, fold: bool = True) -> GraphBuilder:
        """A builder that holds a model already, so that more can be added to it.

        What the model holds stays as it is: nodes, names, weights (which are not read), functions,
        metadata, outputs.  Its values are found by `value`; see also `inputs` and `outputs`.

        Args:
            model: a model of any kind (see `ow.load`); it is not changed, but another builder is
                finished.
            origins, fold: as for `GraphBuilder`, for what is added.

        Returns:
            The builder, of the model's opset versions.

        Raises:
            ModelError: the model is damaged, or the file cannot be read.
            ModelTypeError: it is none of these (OW752).

        Example:
            >>> import onnx
            >>> head = '<ir_version: 10, opset_import: ["" : 21]>'
            >>> text = head + "g (float[N] x) => (float[N] y) { h = Exp(x)  y = Neg(h) }"
            >>> g = GraphBuilder.from_model(onnx.parser.parse_model(text))
            >>> g.output(g.value("h") + g.outputs["y"], "z")
            >>> model = g.to_model_proto()
            >>> [n.op_type for n in model.graph.node], [o.name for o in model.graph.output]
            (['Exp', 'Neg', 'Add'], ['y', 'z'])
        """
        opened = door.opened(model)
        imports = dict(opened.graph.opset_imports)
        builder = cls(
            opset=imports, ir_version=opened.ir_version, name=opened.graph.name or "main",
            doc_string=opened.doc_string, producer_name=opened.producer_name or "",
            metadata=opened.metadata_props, origins=origins,
        )  # fmt: skip
        builder._opened = opened
        builder._functions.by_key.update(opened.functions)
        results = fill(builder.backend, builder._names, opened)
        for value, result in zip(opened.graph.outputs, results, strict=True):
            builder._outputs.append((value.name or "", result))
            builder._output_names.add(value.name or "")
        builder.backend.folds = fold
        return builder

    @property
    def inputs(self) -> dict[str, GraphValue]:
        """The inputs of the graph, by name."""
        values = self.backend.recorder.scopes[0].inputs
        return {str(v.name): self.backend.value_of(v) for v in values}

    @property
    def outputs(self) -> dict[str, GraphValue]:
        """The outputs of the graph so far, by name."""
        return dict(self._outputs)

    def remove_output(self, name: str) -> None:
        """Let a value not be an output any more; what nothing else needs is not in the model.

        Args:
            name: the name of the output.

        Raises:
            ScriptNameError: there is no output of this name (OW541).
        """
        self._check(())
        if name not in self._output_names:
            close = difflib.get_close_matches(name, sorted(self._output_names), 1)
            fail(messages.UnknownValueName(name=name, suggestion=close[0] if close else None))
        self._outputs = [(n, v) for n, v in self._outputs if n != name]
        self._output_names.discard(name)

    def __repr__(self) -> str:
        count = len(self.backend.recorder.scopes[0].nodes)
        return f"<GraphBuilder `{self.name}`: {count} nodes>"

    # -- what there is -----------------------------------------------------------------------------

    def input(
        self,
        name: Any,
        type: Any = None,  # noqa: A002 - what it is
        shape: Any = None,
        *,
        doc_string: str | None = None,
    ) -> GraphValue:
        """An input of the graph (inside `subgraph`, of that one).

        Args:
            name: its name, exactly; a text.
            type: an annotation, an element type in any spelling, or a TypeProto.
            shape: its dimensions, where `type` is an element type.
            doc_string: a description.

        Returns:
            The value.

        Raises:
            ScriptNameError: the name is taken (OW544), or no name (OW549).
            ScriptTypeError: the type is none (OW548).
        """
        self._check(())
        if not isinstance(name, str) or not name:
            fail(messages.BadName(value=repr(name)))
        kind = read_type(name, type, shape)
        value = self._names.input(name, kind)
        value.value.doc_string = doc_string
        return value

    def initializer(self, array: Any, name: str | None = None) -> GraphValue:
        """A value the model holds.  Equal small ones are one value; large ones are not copied.

        Args:
            array: a numpy array, a number or list, a TensorProto, a tensor of onnx_ir (one in a
                file stays there), or any tensor with `__array__` or `__dlpack__`.
            name: its name; a value that is shared keeps the name it has.

        Returns:
            The value.

        Raises:
            ScriptTypeError: it is not a tensor (OW403).
            ScriptNameError: the name is not a text (OW549), or taken by another value (OW544).
        """
        self._check(())
        if name is None:
            return self.backend.initializer(array)
        untyped_name: object = name
        if not isinstance(untyped_name, str) or not untyped_name:
            fail(messages.BadName(value=describe(untyped_name)))
        value = self.backend.initializer(array, owner=name)
        self._names.give(value, name)
        return value

    def weight(
        self, key: Any, name: str, tensor: ir.TensorProtocol | None, kind: OnnxType | None
    ) -> GraphValue:
        """A weight that keeps its name: it is neither folded nor shared with equal ones.

        Args:
            key: what it is the weight of; the same one gives the same value.
            name: its name, exactly.
            tensor: its numbers; without them it is an input of the model.
            kind: its type, where there are no numbers.

        Returns:
            The value, in an object of its own.

        Raises:
            ScriptNameError: the name is taken by another value (OW544).
        """
        value = self._weights.get(key)
        if value is None:
            self._check(())
            if tensor is None:
                with self.backend.recorder.in_main_graph():
                    value = self._names.input(name, kind)
            else:
                value = self.backend.value_of(self.backend.pool.weight(tensor, name))
                self._names.give(value, name)
            self._weights[key] = value
        return self.backend.wrap(value.value, value.kind)

    def attribute(self, name: str, kind: AttrKind | str, default: Any = None) -> Any:
        """An attribute parameter, for a graph that becomes a function.

        Args:
            name: its name.
            kind: its kind, such as `"FLOAT"` or `"INTS"`.
            default: its default; without one every call must give it.

        Returns:
            A reference to its value for attributes of calls.
        """
        kind = AttrKind(kind)
        if default is None:
            self._attributes.append(ir.Attr(name, adapters.attribute_type(kind), None))
        else:
            self._attributes.append(adapters.attribute(name, default, kind))
        return AttributeReference(name, kind)

    def output(
        self,
        value: Any,
        name: str | None = None,
        type: Any = None,  # noqa: A002 - what it is
        shape: Any = None,
    ) -> None:
        """Name a value as an output of the graph.

        Args:
            value: the value, or its name, or a number or array.
            name: the output's name; by default the value's own.
            type: its type where it is not known, in any form that `input` takes.
            shape: its shape likewise.

        Raises:
            ScriptNameError: there is an output of this name (OW544).
            ScriptTypeError: the type contradicts what is known of the value (OW706).
            ScriptValueError: the value is not of this graph (OW542, OW543).
        """
        graph_value = self._argument(self.value(value) if isinstance(value, str) else value)
        self._check((graph_value,))
        kind = read_type(name or str(graph_value.value.name), type, shape)
        graph_value = self._typed(graph_value, kind, name or str(graph_value.value.name))
        chosen = self._names.output(graph_value, name)
        if chosen in self._output_names:
            if name is not None:
                fail(messages.NameTaken(what="an output", name=name))
            chosen = self.backend.recorder.names.unique(chosen)
        # A value of its own: `x[0] = 1` later changes what `x` holds, not the output.
        self._outputs.append((chosen, self.backend.wrap(graph_value.value, graph_value.kind)))
        self._output_names.add(chosen)

    # -- calls -------------------------------------------------------------------------------------

    def opset(self, domain: str, version: int | None = None) -> BuilderOps:
        """The operators of another domain (or version of the default one).

        Args:
            domain: the domain.
            version: its version; as given to the builder, or 1.

        Returns:
            The operators, as attributes.
        """
        number = version or self._versions.get(domain, 1 if domain else self.op.version)
        key = (domain, number)
        if key not in self._opsets:
            self._opsets[key] = BuilderOps(self, Opset(domain, number))
        return self._opsets[key]

    def node(
        self,
        op_type: str,
        inputs: Sequence[Any] = (),
        attributes: Mapping[str, Any] | None = None,
        *,
        domain: str = "",
        version: int | None = None,
        outputs: int | Sequence[str] | None = None,
        name: str | None = None,
        output_types: Any = None,
    ) -> Any:
        """A call of any operator of any domain.

        Args:
            op_type: the operator.
            inputs: its inputs in order: values, their names, numbers, arrays, None.
            attributes: its attributes.
            domain: its domain.
            version: the version of the domain.
            outputs: the names of its outputs, or their number.
            name: the name of the node.
            output_types: the type of its output, or a list of them, in any form that `input` takes,
                for an operator without a schema.

        Returns:
            One value, or a tuple of them.

        Raises:
            ScriptNameError: a name is that of no value (OW541).
            ScriptTypeError: the call does not fit the schema, or a type contradicts what is known
                (OW706).
        """
        op: Op = self.opset(domain, version).opset[op_type]
        arguments = [self.value(x) if isinstance(x, str) else x for x in inputs]
        return self._call(op, arguments, dict(attributes or {}), name, outputs, None, output_types)

    @contextmanager
    def subgraph(self, name: str = "body") -> Iterator[Subgraph]:
        """A graph for an attribute, built inside `with`; values around it may be used.

        Args:
            name: its name.

        Yields:
            The subgraph: `input` and `output` of it; afterwards `graph`.

        Example:
            >>> from onnxwright import BOOL, FLOAT
            >>> g = GraphBuilder()
            >>> x, c = g.input("x", FLOAT["N"]), g.input("c", BOOL[()])
            >>> with g.subgraph("then") as then:
            ...     then.output(g.op.Relu(x))
            >>> with g.subgraph("else") as other:
            ...     other.output(g.op.Neg(x))
            >>> str(g.node("If", [c], {"then_branch": then.graph, "else_branch": other.graph}).kind)
            'FLOAT[N]'
        """
        recorder = self.backend.recorder
        subgraph = Subgraph(self)
        recorder.push()
        depth = len(recorder.scopes)
        try:
            yield subgraph
            subgraph.graph = recorder.pop([v.value for v in subgraph.results], name)
        except BaseException:
            while len(recorder.scopes) >= depth:
                recorder.drop()
            raise


model_kinds.register(
    "onnxwright",
    "GraphBuilder",
    model_kinds.ModelKind(words="a GraphBuilder", model=GraphBuilder.to_ir_model, trusted=True),
)

__all__ = ["BuilderOps", "GraphBuilder", "Subgraph"]
