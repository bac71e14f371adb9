"""Failures of evaluators as errors that name the operator, its inputs and the Python line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import eager as messages
from onnxwright.eager.node_model import op_text
from onnxwright.eager.values import Value, show_values
from onnxwright.opset.op import Op

_NOISE = re.compile(
    r"^\[ONNXRuntimeError\] : \d+ : \w+ : "
    r"|Non-zero status code returned while running \S+ node\. Name:'[^']*' Status Message: "
    r"|This is an invalid model\. "
    r"|\S*/[\w/.]+\.(?:cc|h):\d+ [^\n]*?\)(?: const)?(?: \[with [^\]]*\])? "
    r"|\b\w+\.(?:cc|h):\d+ (?:Compute )?"
)


def fail_op(
    name: str,
    op: Op,
    inputs: Sequence[Value],
    attributes: Mapping[str, Any],
    error: BaseException,
) -> NoReturn:
    """Raise the failure of one operator.

    Args:
        error: what happened; it becomes the cause.

    Raises:
        EagerError: always.
    """
    shown = ", ".join(f"{k}={_short(v)}" for k, v in attributes.items())
    diagnostic = messages.OpFailed(
        evaluator=name,
        op=op.name,
        inputs=show_values(inputs),
        reason=tidy(str(error)) or type(error).__name__,
        signature=op_text(op),
        notes=(f"the attributes are {shown}",) if shown else (),
        span=user_span(),
    )
    raise diagnostic.error(diagnostic) from error


def _short(value: Any) -> str:
    text = (
        repr(value) if isinstance(value, (int, float, str, list, tuple)) else type(value).__name__
    )
    return text if len(text) <= 60 else text[:57] + "..."


def tidy(text: str) -> str:
    """The runtime's message without its file names and status codes."""
    first = next((line for line in _NOISE.sub("", text).strip().splitlines() if line.strip()), "")
    return _NOISE.sub("", first).strip().rstrip(".")
