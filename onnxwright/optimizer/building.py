"""What replacements need beside `op`: calls by a newer opset, kernels, who reads a weight."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from onnxwright.operators import facts as operator_facts
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.ops import Ops
from onnxwright.types.dtypes import DType

# Of this opset on, axes, sizes and bounds are inputs of nearly every operator.
_MODERN = 18


def modern(op: Any) -> Any:
    """The operators as opset 18 or newer has them; calls are converted to the model's opset.

    Args:
        op: the operators of the model's opset.

    Returns:
        Operators whose axes and bounds are inputs.
    """
    return op if op.version >= _MODERN else Ops(op.backend, Opset("", _MODERN))


def runs(op: Any, name: str, dtype: DType | None) -> bool:
    """Whether ONNX Runtime has a kernel of an operator for an element type.

    Args:
        op: the operators of the model's opset.
        name: the operator.
        dtype: the type; None is one that is not known.

    Returns:
        False where there is none, or the type is not known.
    """
    return dtype is not None and operator_facts(name).has_kernel(dtype, version=op.version)


def is_read_once(match: Any, *names: str) -> bool:
    """Whether nothing outside of a match reads the weights that it binds.

    Two of them in two forms would take more bytes than one.

    Args:
        match: the match.
        names: parameters of the pattern; those that are not bound do not count.

    Returns:
        True where each has one reader and is not an output.
    """
    for name in names:
        value = match.values.get(name)
        if isinstance(value, ir.Value) and (len(value.uses()) > 1 or value.is_graph_output()):
            return False
    return True


def makers(op: Any, values: Any, name: str) -> list[Any]:
    """For each value the node of a standard operator that makes it, or None."""
    return [op.backend.made_by(v, name) for v in values]
