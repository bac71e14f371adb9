"""The ONNX Runtime session of a program; what is lacking where the runtime refuses it."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx.reference import ReferenceEvaluator

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.errors import EagerError
from onnxwright.exporter import checks
from onnxwright.exporter.program.running import Session
from onnxwright.exporter.report.export_report import TARGETS

_LACKS = re.compile(r"Could not find an implementation for (?P<op>\w+)\(\d+\).*'(?P<node>[^']*)'")


def session_of(model: ir.Model, target: str, **options: Any) -> Session:
    """A session for a model.

    Raises:
        ExportError: the model was exported for any runtime, and this one has no kernel for a node
            (OW831).
        EagerError: the runtime refuses the model for another reason (OW622).
    """
    try:
        return Session(model, **options)
    except EagerError as error:
        lacks = _LACKS.search(str(error))
        if lacks is None or target == TARGETS[0]:
            raise
        fail(
            messages.NoKernel(
                operator=lacks["op"],
                types=_types(model, lacks["node"]),
                node=lacks["node"],
                span=user_span(),
            )
        )


def _types(model: ir.Model, name: str) -> str:
    """The element types that a node is given."""
    for node in model.graph.all_nodes():
        if node.name == name:
            dtypes = [v.dtype.name for v in node.inputs if v is not None and v.dtype is not None]
            return ", ".join(dict.fromkeys(dtypes))
    return "its types"


# -- calls by torch.onnx's own tools, which expect what a `torch.onnx.ONNXProgram` gives -----------

_TOOLS = "torch.onnx."


def called_by_torch_onnx() -> bool:
    """Whether the method that asks is called by a function of torch.onnx.

    `torch.onnx.testing.assert_onnx_program` and `torch.onnx.verification.verify_onnx_program` pair
    the outputs of a program one by one: the rows of a single tensor would be taken for outputs.

    Source:
        torch.onnx.testing and torch.onnx.verification of PyTorch 2.13.
    """
    name = sys._getframe(2).f_globals.get("__name__") or ""
    return str(name).startswith(_TOOLS)


# -- values ----------------------------------------------------------------------------------------
# Values of an exported model beside its outputs, and the model in onnx's own implementation.

Array = np.ndarray[Any, Any]


def reference_outputs(model: ir.Model, feeds: Mapping[str, Array]) -> list[Array]:
    """The outputs of a model in onnx's reference implementation."""
    return list(ReferenceEvaluator(ir.to_proto(model)).run(None, dict(feeds)))


def computed(
    model: ir.Model,
    names: Sequence[str],
    feeds: Mapping[str, Array],
    target: str,
    providers: Sequence[Any] | None = None,
) -> list[Array]:
    """Values of the main graph, inputs and weights included.

    Raises:
        ExportValueError: the main graph has no such value (OW825).
    """
    copy = model.clone()
    values_by_name = {v.name: v for node in copy.graph for v in node.outputs if v.name}
    for name in names:
        if name not in values_by_name and name not in feeds and name not in copy.graph.initializers:
            checks.raise_bad_argument(
                "value_names",
                f"the main graph has no value `{name}`",
                "`program.model.graph` lists its nodes with the names of their outputs",
            )
    asked = [values_by_name[n] for n in dict.fromkeys(names) if n in values_by_name]
    arrays: dict[str, Array] = {n: a for n, a in feeds.items() if n in names}
    for name in names:
        if name in copy.graph.initializers:
            tensor = copy.graph.initializers[name].const_value
            assert tensor is not None
            arrays[name] = tensor.numpy()
    if asked:
        copy.graph.outputs.clear()
        copy.graph.outputs.extend(asked)
        results = session_of(copy, target, providers=providers).run(feeds)
        arrays |= {str(v.name): a for v, a in zip(asked, results, strict=True)}
    return [arrays[name] for name in names]
