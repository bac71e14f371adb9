"""`Results`: what a builder makes of its graph: a model or a function, of onnx_ir or as a proto."""

from __future__ import annotations

import html
from typing import Any

import onnx
import onnx_ir as ir

from onnxwright.builder.functions import CALLED, Functions
from onnxwright.builder.neighbourhood import around
from onnxwright.builder.scopes import Scopes
from onnxwright.diagnostics.catalogue import builder as messages
from onnxwright.diagnostics.catalogue.models import OutputWithoutType
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.text import clean, clean_lines
from onnxwright.ir import adapters
from onnxwright.ir.collector import collector_paused
from onnxwright.ir.reading import raise_damage
from onnxwright.ir.serialize import model_to_proto, to_proto
from onnxwright.ir.validation.damage import Damage
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.backend import TracingBackend
from onnxwright.tracing.closing import ClosedModel, ModelFacts

# So many of the last nodes are shown in a notebook.
_SHOWN = 40


class Results:
    """The results of a `GraphBuilder`.

    Attributes:
        name: the name of the graph.
        ir_version: the IR version, if one was asked for.
        producer_name: who makes the model.
        doc_string: a description.
        metadata: entries for the model's `metadata_props`.
    """

    backend: TracingBackend
    name: str
    ir_version: int | None
    producer_name: str
    doc_string: str | None
    metadata: dict[str, str]
    _versions: dict[str, int]
    _functions: Functions
    _scopes: Scopes
    _opened: ir.Model | None
    _outputs: list[tuple[str, GraphValue]]
    _attributes: list[ir.Attr]
    _finished: Any

    @collector_paused()
    def to_ir_model(self) -> ir.Model:
        """The graph as a model of onnx_ir; nothing can be added afterwards.

        Returns:
            The model, the same one each time.

        Raises:
            ScriptError: there is no output (OW545), or one without a type (OW703).
        """
        model = self._closed_model()
        if isinstance(model, ClosedModel):
            self.backend.own_types(model.closed.nodes)
            model = self._finished = model.ir_model()
        return model

    def _closed_model(self) -> ir.Model | ClosedModel:
        """The model, as it was given out; else its graph, whose values may share their types."""
        if not isinstance(self._finished, (ir.Model, ClosedModel)):
            self._require_outputs()
            if self._attributes:
                fail(messages.AttributeOfModel(name=self._attributes[0].name))
            for name, value in self._outputs:
                if not adapters.complete(value.kind):
                    fail(OutputWithoutType(name=name, function=self.name))
            facts = ModelFacts(
                name=self.name,
                ir_version=self.ir_version,
                functions=list(self._functions.by_key.values()),
                producer_name=self.producer_name,
                doc_string=self.doc_string,
                metadata=self.metadata,
                imports={d: v for d, v in self._versions.items() if d},
                opened=self._opened,
            )
            values, named = [v for _, v in self._outputs], self._scopes.named()
            self._finished = self.backend.closed_model(values, [n for n, _ in self._outputs], facts)
            self._scopes.write(named)
        return self._finished

    @collector_paused()
    def to_model_proto(self, *, check: bool = True) -> onnx.ModelProto:
        """The graph as a ModelProto.

        Args:
            check: let `onnx.checker` look at it (what lies in files of its own is not opened).

        Returns:
            The model.

        Raises:
            ScriptError: there is no output (OW545), or one without a type (OW703).
            ModelError: the checker refuses the model (OW744).
        """
        finished = self._closed_model()
        model = finished.proto() if isinstance(finished, ClosedModel) else model_to_proto(finished)
        external = any(
            t.data_location == onnx.TensorProto.EXTERNAL for t in model.graph.initializer
        )
        if check and not external and model.ByteSize() < onnx.checker.MAXIMUM_PROTOBUF:
            _checked(model)
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
        if self._finished is None:
            self._require_outputs()
            values, named = [v for _, v in self._outputs], self._scopes.named()
            names = [n for n, _ in self._outputs]
            graph = self.backend.to_ir_graph(values, names, self.doc_string)
            self._finished = ir.Function(
                domain, name, overload, graph=graph, attributes=self._attributes
            )
            self._scopes.write(named)
            # What it calls goes with it into the model that it is called in.
            self._finished.meta[CALLED] = list(self._functions.by_key.values())
        return self._finished  # type: ignore[no-any-return]

    def to_function_proto(self, domain: str, name: str, overload: str = "") -> onnx.FunctionProto:
        """As `to_ir_function`, as a FunctionProto.

        Args:
            domain: its domain.
            name: its name.
            overload: which of several functions of that name it is.

        Returns:
            The function.

        Example:
            >>> from onnxwright import GraphBuilder
            >>> g = GraphBuilder(opset=18)
            >>> alpha = g.attribute("alpha", "FLOAT", 0.1)
            >>> g.output(g.op.LeakyRelu(g.input("x"), alpha=alpha), "y")
            >>> f = g.to_function_proto("my.domain", "leaky")
            >>> f.node[0].attribute[0].ref_attr_name, f.attribute_proto[0].f > 0
            ('alpha', True)
        """
        function: onnx.FunctionProto = to_proto(self.to_ir_function(domain, name, overload))
        return function

    def _repr_html_(self) -> str:
        """What a notebook shows of a graph under construction: its inputs, nodes and outputs."""
        recorder = self.backend.recorder
        inputs = [f"{v.name}: {recorder.type_of(v) or '?'}" for v in recorder.scopes[0].inputs]
        outputs = [f"{name}: {value.kind or '?'}" for name, value in self._outputs]
        lines = [
            f"{self.name} ({', '.join(inputs)}) -> ({', '.join(outputs)})",
            *(f"  {line}" for line in around(self.backend, count=_SHOWN)),
        ]
        text = clean_lines("\n".join(lines))
        return f"<pre>{html.escape(text)}</pre>"

    def _require_outputs(self) -> None:
        if not self._outputs:
            fail(messages.NothingToBuild())


def _checked(model: onnx.ModelProto) -> None:
    """Let the checker look at a model; it wants a rank everywhere, which runtimes do not."""
    bare = []
    for info in (*model.graph.input, *model.graph.output):
        tensor = info.type.tensor_type
        if info.type.HasField("tensor_type") and not tensor.HasField("shape"):
            tensor.shape.SetInParent()
            bare.append(tensor)
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        what = clean(str(error).splitlines()[0])
        raise_damage(Damage("structure", "the finished model", what, "the check is onnx.checker's"))
    finally:
        for tensor in bare:
            tensor.ClearField("shape")
