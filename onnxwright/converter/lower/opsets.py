"""The opset of operators such as `+`: named by the author, or by default."""

from __future__ import annotations

import inspect
from typing import Any

from onnxwright.converter.frontend import hir
from onnxwright.converter.frontend.outer_names import OuterNames
from onnxwright.converter.lower.context import Context, Script
from onnxwright.converter.pipeline import Front
from onnxwright.opset import DEFAULT_OPSET_VERSION, Opset


def sugar_opset(script: Script | None, front: Front, context: Context) -> Opset | None:
    """The default-domain opset of a function: named by the author, or the newest it mentions."""
    if context.opset_version is not None:
        return Opset("", context.opset_version)
    if script is not None and script.default_opset is not None:
        if script.default_opset.domain == "":
            return script.default_opset
    outer = OuterNames(front.parsed.unit.function)
    opsets = [
        value
        for value in (_static(node, outer) for node in front.chains)
        if isinstance(value, Opset) and value.domain == ""
    ]
    return max(opsets, key=lambda o: o.version) if opsets else None


def default_opset(context: Context) -> Opset:
    """What a function uses that names no opset."""
    return Opset("", context.default_version or DEFAULT_OPSET_VERSION)


def _static(node: Any, outer: OuterNames) -> Any:
    """The object a dotted name refers to, without running anything but plain attribute reads."""
    if isinstance(node, hir.Name):
        return outer.get(node.id)
    if isinstance(node, hir.Attribute):
        base = _static(node.value, outer)
        if base is None or not inspect.ismodule(base):
            return None
        return getattr(base, node.name, None)
    return None
