"""Looking at models: typed text, figures, pictures and pages of graphs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxwright.viz.showing import Shown as Shown
    from onnxwright.viz.showing import show as show
    from onnxwright.viz.summary import Summary as Summary
    from onnxwright.viz.summary import summarize as summarize

# Public name -> the module that has it; `text` alone loads nothing of ONNX.
_HOMES = {
    "Shown": "onnxwright.viz.showing",
    "show": "onnxwright.viz.showing",
    "Summary": "onnxwright.viz.summary",
    "summarize": "onnxwright.viz.summary",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
