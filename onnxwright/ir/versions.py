"""Versions of operators: when a call by one schema means the same by a newer one."""

from __future__ import annotations

from onnxwright.opset.registry import AttrParam, OpSignature

# Operators whose meaning changed between versions although their signature fits the newer one.
_CHANGED = frozenset(
    ("Softmax", "LogSoftmax", "Hardmax", "RoiAlign", "GroupNormalization", "Split", "Resize",
     "BatchNormalization", "Upsample", "AveragePool", "Attention")
)  # fmt: skip


def same_meaning(old: OpSignature, new: OpSignature) -> bool:
    """Whether a call by the older schema means the same by the newer one.

    True for the same schema, and where the newer one only takes more element types, more optional
    inputs, or more attributes whose defaults keep the older behaviour.

    Args:
        old: the schema of the call.
        new: another schema of the same operator.

    Returns:
        False also where it is not known.

    Source:
        The change notes of the schemas in `onnx.defs`.

    Example:
        >>> from onnxwright.opset.registry import signature
        >>> same_meaning(signature("", "Relu", 13), signature("", "Relu", 14))
        True
        >>> same_meaning(signature("", "Softmax", 11), signature("", "Softmax", 13))
        False
    """
    if old.since_version == new.since_version:
        return True
    if old.name in _CHANGED or old.since_version > new.since_version or new.deprecated:
        return False
    inputs = zip(old.inputs, new.inputs, strict=False)
    return (
        len(old.inputs) <= len(new.inputs)
        and len(old.outputs) == len(new.outputs)
        and all(a.option == c.option and a.types <= c.types for a, c in inputs)
        and all(c.option == "optional" for c in new.inputs[len(old.inputs) :])
        and all(_same_attribute(a, new.attributes.get(n)) for n, a in old.attributes.items())
        and not any(a.required for n, a in new.attributes.items() if n not in old.attributes)
    )


def _same_attribute(a: AttrParam, c: AttrParam | None) -> bool:
    return (
        c is not None
        and a.kind is c.kind
        and a.required == c.required
        and repr(a.default) == repr(c.default)
    )


__all__ = ["same_meaning"]
