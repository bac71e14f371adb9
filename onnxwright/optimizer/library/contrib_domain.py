"""The operators of `com.microsoft` as replacements: for `target="onnxruntime"` only, and late.

The rules are late because other rules do not know the operators.
"""

from __future__ import annotations

from typing import Any

from onnxwright.opset.opsets import Opset
from onnxwright.optimizer.rule_types import Op
from onnxwright.semantics.ops import Ops

DOMAIN = "com.microsoft"
LATE: dict[str, Any] = {"level": "rounding", "target": "onnxruntime", "late": True}
# What a default session makes itself in the same time, and is slower without its optimizations.
OF_DEFAULT_SESSION: dict[str, Any] = {**LATE, "assume": ["default_session"]}


def contrib(op: Op) -> Any:
    """The operators of `com.microsoft`, for a replacement."""
    return Ops(op.backend, Opset(DOMAIN, 1))
