"""`GraphBuilder`: a model built by calls; each value knows what can be known of it."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import onnx
import onnx_ir as ir

from onnxwright.builder import neighbourhood
from onnxwright.builder.closing import ModelFacts
from onnxwright.builder.functions import Functions
from onnxwright.builder.names import Names
from onnxwright.builder.parts import AttributeReference, BuilderOps, Subgraph
from onnxwright.builder.tracing import TracingBackend
from onnxwright.builder.types import read_type
from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import builder as messages
from onnxwright.diagnostics.catalogue.models import OutputWithoutType
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.errors import OnnxwrightError
from onnxwright.ir import adapters
from onnxwright.ir.builder import Recorder
from onnxwright.opset import DEFAULT_OPSET_VERSION
from onnxwright.opset.op import Op
from onnxwright.opset.opsets import Opset
from onnxwright.semantics import calls
from onnxwright.semantics.graph_backend import GraphValue
from onnxwright.types.kinds import AttrKind


class GraphBuilder:
    """A graph under construction.

    Args:
        opset: the version of the default opset, an `Opset`, or versions by domain.
        ir_version: the IR version of the model; by default the lowest that holds everything.
        name: the name of the graph.
        doc_string: a description of the model.
        producer_name: who makes the model.
        metadata: entries for the model's `metadata_props`.
        origins: whether nodes remember the Python line that made them.

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
    ) -> None:
        self._versions = dict(opset) if isinstance(opset, Mapping) else {}
        version = self._versions.get("", DEFAULT_OPSET_VERSION)
        if isinstance(opset, Opset):
            version = opset.version
        elif opset is not None and not isinstance(opset, Mapping):
            version = opset
        self.backend = TracingBackend(Recorder(), Opset("", version))
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
        self._outputs: list[tuple[str, GraphValue]] = []
        self._attributes: list[ir.Attr] = []
        self._made: Any = None
        self.backend.guard = self._check

    @property
    def functions(self) -> dict[tuple[str, str, str], ir.Function]:
        """The functions of the model, by domain, name and overload."""
        return self._functions.known

    def __repr__(self) -> str:
        count = len(self.backend.recorder.scopes[0].nodes)
        return f"<GraphBuilder `{self.name}`: {count} nodes>"

    # -- what there is -----------------------------------------------------------------------------

    def input(
        self,
        name: str,
        type: Any = None,  # noqa: A002 - what it is
        shape: Any = None,
        *,
        doc_string: str | None = None,
    ) -> GraphValue:
        """An input of the graph (inside `subgraph`, of that one).

        Args:
            name: its name, exactly.
            type: an annotation, an element type in any spelling, or a TypeProto.
            shape: its dimensions, where `type` is an element type.
            doc_string: a description.

        Returns:
            The value.

        Raises:
            ScriptNameError: the name is taken (OW544).
            ScriptTypeError: the type is none (OW548).
        """
        self._check(())
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
            ScriptTypeError: it is no tensor (OW403).
            ScriptNameError: the name is taken by another value (OW544).
        """
        self._check(())
        if name is None:
            return self.backend.initializer(array)
        known = self.backend.initializer(array)
        self._names.give(known, name)
        return known

    def attribute(self, name: str, kind: AttrKind | str, default: Any = None) -> Any:
        """An attribute parameter, for a graph that becomes a function.

        Args:
            name: its name.
            kind: its kind, such as `"FLOAT"` or `"INTS"`.
            default: its default; without one every call must give it.

        Returns:
            What stands for its value in attributes of calls.
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
            value: the value, or a number or array.
            name: the output's name; by default the value's own.
            type: its type where it is not known, in any form that `input` takes.
            shape: its shape likewise.

        Raises:
            ScriptNameError: there is an output of this name (OW544).
            ScriptValueError: the value is not of this graph (OW542, OW543).
        """
        made = self._argument(value)
        self._check((made,))
        kind = read_type(name or str(made.value.name), type, shape)
        if kind is not None:
            self.backend.recorder.types[made.value] = kind
            adapters.set_type(made.value, kind)
            made = self.backend.wrap(made.value, kind)
        taken = {n for n, _ in self._outputs}
        chosen = self._names.output(made, name)
        if chosen in taken:
            if name is not None:
                fail(messages.NameTaken(what="an output", name=name))
            chosen = self.backend.recorder.names.unique(chosen)
        self._outputs.append((chosen, made))

    def value(self, name: str) -> GraphValue:
        """The value of a name.

        Args:
            name: the name of an input, an initializer or an output of a node.

        Returns:
            The value.

        Raises:
            ScriptNameError: there is none (OW541).
        """
        found = self._names.find(name)
        if found is None:
            close = difflib.get_close_matches(name, self._names.known(), 1)
            note = neighbourhood.note(neighbourhood.around(self.backend))
            fail(messages.UnknownValueName(
                name=name, suggestion=close[0] if close else None, notes=note
            ))  # fmt: skip
        return found

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

        Returns:
            One value, or a tuple of them.

        Raises:
            ScriptNameError: a name is that of no value (OW541).
            ScriptTypeError: the call does not fit the schema.
        """
        op: Op = self.opset(domain, version).opset[op_type]
        given = [self.value(x) if isinstance(x, str) else x for x in inputs]
        return self._call(op, given, dict(attributes or {}), name, outputs, None)

    def call(self, function: Any, *args: Any, inline: bool = False, **kwargs: Any) -> Any:
        """Call a function: a node that names it, with the function in the model; or its body.

        Args:
            function: a script, a FunctionProto, a function of onnx_ir; a plain Python function is
                called with the arguments, and with `op=` where it has such a parameter.
            args: its inputs.
            inline: build the body here instead of a call node.
            kwargs: its attributes, and inputs by name.

        Returns:
            A value, or a tuple of them.
        """
        with self._explained(args):
            self._check(a for a in args if isinstance(a, GraphValue))
            if getattr(function, "__ow_script__", False) and inline:
                return self.backend.call_script(function, args, kwargs)
            return self._functions.call(self._functions.add(function), args, kwargs, inline)

    def add_function(self, function: Any) -> None:
        """Put a function in the model, for nodes that call it by name.

        Args:
            function: a script, a FunctionProto or a function of onnx_ir.
        """
        self._functions.add(function)

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
        made = Subgraph(self)
        recorder.push()
        depth = len(recorder.scopes)
        try:
            yield made
            made.graph = recorder.pop([v.value for v in made.results], name)
        except BaseException:
            while len(recorder.scopes) >= depth:
                recorder.drop()
            raise

    def _argument(self, value: Any) -> GraphValue:
        return value if isinstance(value, GraphValue) else self.backend.initializer(value)

    def _call(
        self,
        op: Op,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        name: str | None,
        outputs: int | Sequence[str] | None,
        wanted: int | None,
    ) -> Any:
        if isinstance(outputs, int):
            wanted, outputs = outputs, None
        elif outputs is not None:
            outputs = [outputs] if isinstance(outputs, str) else list(outputs)
            wanted = len(outputs)
        backend = self.backend
        before = len(backend.recorder.scope.nodes)
        try:
            if self.origins:
                with backend.at(user_span()):
                    result = calls.call(backend, op, args, kwargs, wanted)
            else:
                result = calls.call(backend, op, args, kwargs, wanted)
        except OnnxwrightError as error:
            raise self._explain(error, (*args, *kwargs.values())) from error.__cause__
        if name is not None or outputs is not None:
            self._name_call(op, result, name, outputs, before)
        return result

    def _name_call(
        self, op: Op, result: Any, name: str | None, outputs: Sequence[str] | None, before: int
    ) -> None:
        values = result if isinstance(result, tuple) else (result,)
        fresh = self.backend.recorder.scope.nodes[before:]
        if outputs is not None:
            if len(outputs) != len(values):
                fail(messages.WrongOutputNames(
                    operation=op.name,
                    got=f"{len(values)} output{'s' * (len(values) != 1)}",
                    wanted=f"{len(outputs)} {'are' if len(outputs) != 1 else 'is'}",
                    signature=str(op.signature),
                ))  # fmt: skip
            for value, wanted in zip(values, outputs, strict=True):
                self._names.give(value, wanted, fresh)
        if name is not None and fresh and values[0].value.producer() is fresh[-1]:
            fresh[-1].name = name

    def _check(self, values: Any) -> None:
        """Values of this graph, and still in reach; the graph not finished."""
        if self._made is not None:
            fail(messages.BuilderFinished())
        for value in values:
            if value is None:
                continue
            if value.backend is not self.backend:
                fail(messages.ValueOfAnotherGraph(name=str(value.value.name)))
            if not any(value.value in scope.made for scope in self.backend.recorder.scopes):
                graph = value.value.graph
                inside = "a body" if graph is None else f"`{graph.name}`"
                fail(messages.ValueOutOfScope(name=str(value.value.name), graph=inside))

    @contextmanager
    def _explained(self, values: Sequence[Any]) -> Iterator[None]:
        try:
            yield
        except OnnxwrightError as error:
            raise self._explain(error, values) from error.__cause__

    def _explain(self, error: OnnxwrightError, values: Sequence[Any]) -> OnnxwrightError:
        """The error with the part of the graph around the call."""
        read = [v for v in values if isinstance(v, GraphValue) and v.backend is self.backend]
        note = neighbourhood.note(neighbourhood.around(self.backend, read))
        made = [dataclasses.replace(d, notes=(*d.notes, *note)) for d in error.diagnostics]
        return type(error)(*made).with_traceback(error.__traceback__)

    def around(self, *values: GraphValue, count: int = 10) -> str:
        """The last nodes of the graph as text, with those that make `values`.

        Args:
            values: values to show the makers of.
            count: how many of the last nodes to show.

        Returns:
            One line for each node.
        """
        return "\n".join(neighbourhood.around(self.backend, values, count))

    # -- the result --------------------------------------------------------------------------------

    def to_ir_model(self) -> ir.Model:
        """The graph as a model of onnx_ir; nothing can be added afterwards.

        Returns:
            The model, the same one each time.

        Raises:
            ScriptError: there is no output (OW545), or one without a type (OW703).
        """
        if not isinstance(self._made, ir.Model):
            self._require_outputs()
            for name, value in self._outputs:
                if not adapters.complete(value.kind):
                    fail(OutputWithoutType(name=name, function=self.name))
            facts = ModelFacts(
                name=self.name,
                ir_version=self.ir_version,
                functions=list(self.functions.values()),
                producer_name=self.producer_name,
                doc_string=self.doc_string,
                metadata=self.metadata,
                imports={d: v for d, v in self._versions.items() if d},
            )
            values = [v for _, v in self._outputs]
            self._made = self.backend.to_ir_model(values, [n for n, _ in self._outputs], facts)
        return self._made

    def to_model_proto(self, *, check: bool = True) -> onnx.ModelProto:
        """The graph as a ModelProto.

        Args:
            check: let `onnx.checker` look at it (what lies in files of its own is not opened).

        Returns:
            The model.

        Raises:
            ScriptError: there is no output (OW545), or one without a type (OW703).
        """
        model: onnx.ModelProto = ir.to_proto(self.to_ir_model())
        external = any(
            t.data_location == onnx.TensorProto.EXTERNAL for t in model.graph.initializer
        )
        if check and not external and model.ByteSize() < onnx.checker.MAXIMUM_PROTOBUF:
            onnx.checker.check_model(model)
        return model

    def to_ir_function(self, domain: str, name: str, overload: str = "") -> ir.Function:
        """The graph as a function: constants become nodes, attribute parameters stay.

        Args:
            domain: its domain.
            name: its name.
            overload: which of several functions of that name it is.

        Returns:
            The function, the same one each time.
        """
        if self._made is None:
            self._require_outputs()
            values = [v for _, v in self._outputs]
            names = [n for n, _ in self._outputs]
            graph = self.backend.to_ir_graph(values, names, self.doc_string)
            self._made = ir.Function(
                domain, name, overload, graph=graph, attributes=self._attributes
            )
        return self._made  # type: ignore[no-any-return]

    def to_function_proto(self, domain: str, name: str, overload: str = "") -> onnx.FunctionProto:
        """As `to_ir_function`, as a FunctionProto.

        Args:
            domain: its domain.
            name: its name.
            overload: which of several functions of that name it is.

        Returns:
            The function.

        Example:
            >>> g = GraphBuilder(opset=18)
            >>> alpha = g.attribute("alpha", "FLOAT", 0.1)
            >>> g.output(g.op.LeakyRelu(g.input("x"), alpha=alpha), "y")
            >>> f = g.to_function_proto("my.domain", "leaky")
            >>> f.node[0].attribute[0].ref_attr_name, f.attribute_proto[0].f > 0
            ('alpha', True)
        """
        made: onnx.FunctionProto = ir.to_proto(self.to_ir_function(domain, name, overload))
        return made

    def _require_outputs(self) -> None:
        if not self._outputs:
            fail(messages.NothingToBuild())


__all__ = ["BuilderOps", "GraphBuilder", "Subgraph"]
