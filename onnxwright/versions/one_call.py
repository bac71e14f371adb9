"""One call of an operator in another opset version, for graphs under construction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.ir import adapters
from onnxwright.types.kinds import OnnxType

Array = np.ndarray[Any, Any]


def converted_call(
    name: str,
    inputs: Sequence[tuple[OnnxType | None, Array | None] | None],
    attributes: Sequence[ir.Attr],
    outputs: int,
    source: int,
    target: int,
) -> ir.Graph | str:
    """A graph that does in one opset version what a call does in another.

    Args:
        inputs: for each input its type and the array it is known to hold; None for an absent one.

    Returns:
        A graph with an input for each input that is there, in order; the reason as text where the
        call has no equivalent.
    """
    from onnxwright.versions import rules
    from onnxwright.versions.engine import Conversion

    assert rules.__all__  # importing them registers them
    values: list[ir.Value | None] = []
    initializers = []
    for n, operand in enumerate(inputs):
        if operand is None:
            values.append(None)
            continue
        kind, array = operand
        value = ir.Value(name=f"i{n}")
        adapters.set_type(value, kind)
        if array is not None:
            value.const_value = adapters.tensor(array, f"i{n}")
            initializers.append(value)
        values.append(value)
    node = ir.Node("", name, values, attributes, num_outputs=outputs)
    for n, value in enumerate(node.outputs):
        value.name = f"o{n}"
    graph = ir.Graph(
        [v for v in values if v is not None and v.const_value is None],
        node.outputs,
        nodes=[node],
        initializers=initializers,
        opset_imports={"": source},
        name="call",
    )
    conversion = Conversion(ir.Model(graph, ir_version=10), "", target, converted_call)
    conversion.run()
    return conversion.problems[0].reason if conversion.problems else graph
