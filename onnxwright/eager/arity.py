"""How many outputs an eager call has: as asked, as its attributes say, or as it is unpacked.

`y, where = op.MaxPool(...)` wants two outputs and `y = op.MaxPool(...)` one, in compiled code and
here: the instruction after the call says how many names it is unpacked into.
"""

from __future__ import annotations

from typing import Any

from onnxwright.eager.values import raw_value
from onnxwright.operators import facts
from onnxwright.opset.op import BoundCall
from onnxwright.semantics.unpacking import is_open, unpacked_into


def output_count(bound: BoundCall, unpacked: int | None) -> int:
    """The number of outputs of a call.

    Args:
        bound: the call.
        unpacked: how many names the caller unpacks into, if it does.

    Returns:
        The number; 1 where nothing says more.
    """
    if bound.outputs is not None:
        return bound.outputs
    signature = bound.op.signature
    said = _said(bound)
    if said is not None:
        return said
    if signature is None:
        return unpacked or 1
    required = max(1, sum(1 for p in signature.outputs if p.option == "single"))
    if unpacked is not None and required < unpacked <= signature.max_output:
        return unpacked
    return required


def _said(bound: BoundCall) -> int | None:
    """What attributes and inputs say of the number of outputs."""
    name, attributes = bound.op.name, bound.attributes
    if bound.op.domain != "":
        return None
    if name == "Split":
        if "num_outputs" in attributes:
            return int(attributes["num_outputs"])
        if "split" in attributes:
            return len(attributes["split"])
        if len(bound.inputs) > 1 and bound.inputs[1] is not None:
            sizes = raw_value(bound.inputs[1])
            return len(sizes) if hasattr(sizes, "__len__") else None
        return None
    body: Any = attributes.get("then_branch") or attributes.get("body")
    if facts(name).has_bodies and hasattr(body, "output"):
        return len(body.output) - (name == "Loop")
    return None


__all__ = ["is_open", "output_count", "unpacked_into"]
