"""`unsupported`: how a body refuses a use that ONNX cannot express."""

from __future__ import annotations

from typing import NoReturn

from onnxwright.diagnostics.catalogue import aten as messages
from onnxwright.diagnostics.diagnostic import fail


def unsupported(reason: str, *, name: str = "this operator", hint: str = "") -> NoReturn:
    """Refuse a use that ONNX cannot express; for bodies.

    Args:
        reason: what cannot be done, as a clause ("mode `x` has no ONNX operator").
        name: the operator, filled in by the caller where a body does not say.
        hint: what to do instead.

    Raises:
        AtenUnsupportedError: always.
    """
    fail(
        messages.AtenUnsupported(
            name=name,
            reason=reason,
            hint=hint or "give a lowering of your own with `custom_translation_table`",
        )
    )
