"""A thin adaptor over onnx-ir: types and attributes in and out, building, names, inference, checks.

The IR itself is `onnx_ir`; nothing above this package touches protobuf.  This package is internal:
`from onnxwright import ir` gives `onnx_ir`, and so do names that are asked of this module.
"""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("onnx_ir"), name)
