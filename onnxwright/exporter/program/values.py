"""Values of an exported model beside its outputs, and the model in onnx's own implementation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx.reference import ReferenceEvaluator

from onnxwright.exporter import checks
from onnxwright.exporter.program.sessions import session_of

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
    made = {v.name: v for node in copy.graph for v in node.outputs if v.name}
    for name in names:
        if name not in made and name not in feeds and name not in copy.graph.initializers:
            checks.raise_bad_argument(
                "value_names",
                f"the main graph has no value `{name}`",
                "`program.model.graph` lists its nodes with the names of their outputs",
            )
    asked = [made[n] for n in dict.fromkeys(names) if n in made]
    found: dict[str, Array] = {n: a for n, a in feeds.items() if n in names}
    for name in names:
        if name in copy.graph.initializers:
            tensor = copy.graph.initializers[name].const_value
            assert tensor is not None
            found[name] = tensor.numpy()
    if asked:
        copy.graph.outputs.clear()
        copy.graph.outputs.extend(asked)
        results = session_of(copy, target, providers=providers).run(feeds)
        found |= {str(v.name): a for v, a in zip(asked, results, strict=True)}
    return [found[name] for name in names]
