"""How many outputs an eager call has: as asked, as its attributes say, or as it is unpacked.

`y, where = op.MaxPool(...)` wants two outputs and `y = op.MaxPool(...)` one, in compiled code and
here: the instruction after the call says how many names it is unpacked into.
"""

from __future__ import annotations

from typing import Any

from onnxwright.diagnostics.catalogue import eager as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.eager.values import raw_value
from onnxwright.operators import facts
from onnxwright.opset.op import BoundCall, Op
from onnxwright.semantics.unpacking import is_open, unpacked_into, unpacked_later


def output_count(bound: BoundCall, unpacked: int | None) -> int:
    """The number of outputs of a call.

    Args:
        unpacked: how many names the caller unpacks into, if it does.

    Returns:
        The number; 1 by default.
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


def check_later(op: Op, result: Any, count: int | None) -> None:
    """Refuse a single output that is about to be unpacked into more names than it has rows.

    Args:
        result: what the call gives.
        count: how many names the result is unpacked into after the statement of the call.

    Raises:
        EagerError: the unpacking would fail, and the operator has that many outputs (OW626).
    """
    if count is None or count < 2 or isinstance(result, (tuple, list)):
        return
    most = op.signature.max_output if op.signature is not None else count
    shape = getattr(result, "shape", None)
    if shape is None or count > most or (len(shape) > 0 and shape[0] == count):
        return
    fail(messages.UnpackedLater(operation=op.name, names=count))


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


__all__ = ["check_later", "is_open", "output_count", "unpacked_into", "unpacked_later"]
