"""Operator sets: `opset1` to the newest, the ml and preview domains, and the user's own.

The names are made when they are asked for; onnx is imported with the first operator, not before.
"""

from __future__ import annotations

import re
from typing import Any

from onnxwright.opset import registry
from onnxwright.opset.op import BoundCall, Op, set_dispatcher
from onnxwright.opset.opsets import DEFAULT_OPSET_VERSION, Opset

# Domain -> a version that every supported onnx has: up to it, onnx need not be imported.
_DOMAINS = {
    "opset": ("", 24),
    "opset_ai_onnx_ml": ("ai.onnx.ml", 5),
    "opset_ai_onnx_preview": ("ai.onnx.preview", 0),
    "opset_ai_onnx_preview_training": ("ai.onnx.preview.training", 1),
}
_NAME = re.compile(r"(opset\w*?)([1-9]\d*)")


def __getattr__(name: str) -> Any:
    if name in ("latest_opset", "all_opsets"):
        value: Any = _latest() if name == "latest_opset" else _all()
    else:
        value = _named(name)
        if value is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_hint(name)}")
    globals()[name] = value
    return value


def _named(name: str) -> Opset | None:
    """The opset called `opset18`, if there is one."""
    match = _NAME.fullmatch(name)
    if match is None or match[1] not in _DOMAINS:
        return None
    domain, certain = _DOMAINS[match[1]]
    version = int(match[2])
    if version > certain:
        if not registry.is_known_domain(domain) or version > registry.newest(domain):
            return None
    return Opset(domain, version)


def _hint(name: str) -> str:
    match = _NAME.fullmatch(name)
    if match is None or match[1] not in _DOMAINS:
        return ""
    newest = registry.newest(_DOMAINS[match[1]][0])
    return f"; the installed onnx knows {match[1]}1 to {match[1]}{newest}"


def _latest() -> Opset:
    return Opset("", registry.newest())


def _all() -> dict[tuple[str, int], Opset]:
    return {
        (domain, version): Opset(domain, version)
        for domain, _ in _DOMAINS.values()
        if registry.is_known_domain(domain)
        for version in range(1, registry.newest(domain) + 1)
    }


def __dir__() -> list[str]:
    return sorted({*globals(), "all_opsets", "latest_opset", *map(repr, _all().values())})


__all__ = [
    "DEFAULT_OPSET_VERSION",
    "BoundCall",
    "Op",
    "Opset",
    "set_dispatcher",
]
