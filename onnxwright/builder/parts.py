"""What a `GraphBuilder` hands out beside values: operators, subgraphs, attribute parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import onnx_ir as ir

from onnxwright.opset.op import Op
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.ops import Ops
from onnxwright.semantics.unpacking import is_open, unpacked_into, wanted_outputs
from onnxwright.tracing.backend import TracingBackend


class Builder(Protocol):
    """What the parts need of the builder that hands them out."""

    backend: TracingBackend

    def input(self, name: Any, type: Any = None, shape: Any = None) -> GraphValue:  # noqa: A002
        """An input of the innermost graph."""

    def _argument(self, value: Any) -> GraphValue: ...

    def _call(
        self,
        op: Op,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        name: str | None,
        outputs: int | Sequence[str] | None,
        output_count: int | None,
        types: Any = None,
    ) -> Any: ...


class BuilderOps(Ops):
    """The operators of an opset, each call a part of a builder's graph.

    Beside inputs and attributes a call takes `name=`, the name of its node, `outputs=`, the names
    of its outputs (or their number), and `output_types=`, the type of its output or a list of
    them, where the operator has no schema.  A text as an input is the name of a value.
    """

    def __init__(self, builder: Builder, opset: Opset) -> None:
        super().__init__(builder.backend, opset)
        self.builder = builder

    def _bound(self, op: Op) -> Callable[..., Any]:
        builder, signature = self.builder, op.signature
        open_ended = is_open(signature)
        taken = set() if signature is None else {*signature.attributes}

        def apply(*args: Any, **kwargs: Any) -> Any:
            if not kwargs and not open_ended:
                return builder._call(op, args, kwargs, None, None, None)
            name = kwargs.pop("name", None) if "name" not in taken else None
            outputs = kwargs.pop("outputs", None) if "outputs" not in taken else None
            types = kwargs.pop("output_types", None) if "output_types" not in taken else None
            if isinstance(kwargs.get("_outputs"), (list, tuple)):
                outputs = kwargs.pop("_outputs")
            if kwargs.get("_name") is not None:
                name = kwargs.pop("_name")
            output_count = wanted_outputs(signature, unpacked_into(1)) if open_ended else None
            return builder._call(op, args, kwargs, name, outputs, output_count, types)

        apply.__name__ = apply.__qualname__ = op.name
        return apply


class Subgraph:
    """A graph for an attribute, while it is built and after.

    Attributes:
        graph: the finished graph of onnx_ir, once `with` is left.
    """

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.results: list[GraphValue] = []
        self.graph: ir.Graph | None = None

    def input(self, name: str, type: Any = None, shape: Any = None) -> GraphValue:  # noqa: A002
        """An input of the subgraph; see `GraphBuilder.input`."""
        return self.builder.input(name, type, shape)

    def output(self, *values: Any) -> None:
        """Outputs of the subgraph, in order: values, numbers or arrays."""
        outputs = [self.builder._argument(v) for v in values]
        # Values of their own: `x[0] = 1` later changes what `x` holds, not the output.
        self.results += [self.builder.backend.wrap(v.value, v.kind, v.weak) for v in outputs]
