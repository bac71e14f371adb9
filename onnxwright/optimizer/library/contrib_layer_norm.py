"""LayerNormalization below opset 17, which ONNX Runtime has in every opset.

It is of the standard domain, though ONNX itself has it from opset 17 on: so for
`target="onnxruntime"` only.  ONNX Runtime's own tools write it, too.
"""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from onnxwright.ir import adapters
from onnxwright.optimizer.library import normalization
from onnxwright.optimizer.library.contrib_domain import LATE
from onnxwright.optimizer.rules import Rule
from onnxwright.types.dtypes import DType

# The rule is named by its module: a name of it here would be tried before those of files between.
_PATTERNS = normalization.layer_normalization.patterns


def _layer_normalization() -> None:
    """LayerNormalization written with means, a square and a root, below opset 17."""


layer_normalization_of_runtime = Rule(
    _layer_normalization, name="layer_normalization_of_runtime", until=16,
    pattern=_PATTERNS[0], cases=normalization.drawn_rows, **LATE,
)  # fmt: skip
layer_normalization_of_runtime.patterns = list(_PATTERNS)


@layer_normalization_of_runtime.to
def _(op: Any, x: Any, half: Any, axes: Any, epsilon: Any, scale: Any, bias: Any) -> Any:
    if half is not None or x.dtype is not DType.FLOAT:
        return None
    arguments = normalization.layer_arguments(op, x, axes, epsilon, scale, bias)
    if arguments is None:
        return None
    inputs, attributes = arguments
    b = op.backend
    attrs = [
        ir.Attr("axis", ir.AttributeType.INT, attributes["axis"]),
        ir.Attr("epsilon", ir.AttributeType.FLOAT, attributes["epsilon"]),
    ]
    (output,) = b.recorder.node(
        "", "LayerNormalization", [v.value for v in inputs], attrs, 1, origin=b.origin()
    )
    b.recorder.set_type(output, x.kind)
    adapters.set_type(output, x.kind)
    return b.wrap(output, x.kind)
