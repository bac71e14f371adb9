"""Versions of operators: when a call by one schema means the same by a newer one."""

from __future__ import annotations

from collections.abc import Collection

from onnxwright.operators import facts
from onnxwright.operators.decisions import UNCHANGED
from onnxwright.operators.reviewed import REVIEWED
from onnxwright.opset.registry import AttrParam, OpSignature


def same_meaning(
    old: OpSignature,
    new: OpSignature,
    attributes: Collection[str] | None = None,
    outputs: int | None = None,
) -> bool:
    """Whether a call by the older schema means the same by the newer one.

    True for the same schema, and where the newer one only takes more element types, more optional
    inputs, or more attributes whose defaults keep the older behavior, unless the record of the
    operator names a change between the two (`OperatorFacts.changes`).  A schema of ONNX that is
    newer than the last one reviewed (`reviewed.py`) never means the same.

    Args:
        attributes: the names of the attributes that the call sets; the result then applies to this
            call, without it about every call.

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
        >>> clip = signature("", "Clip", 6), signature("", "Clip", 13)
        >>> same_meaning(*clip), same_meaning(*clip, attributes=[])
        (False, True)
    """
    if old.since_version == new.since_version:
        return True
    if old.since_version > new.since_version or new.deprecated or not is_reviewed(new):
        return False
    changes = facts(old.name, old.domain).changes
    if any(
        old.since_version < version <= new.since_version and change.concerns(attributes, outputs)
        for version, change in changes.items()
    ):
        return False
    return _fits(old, new, attributes, outputs)


def only_types_changed(old: OpSignature, new: OpSignature) -> bool:
    """Whether a newer schema differs from an older one only by allowing more types.

    Example:
        >>> from onnxwright.opset.registry import signature
        >>> only_types_changed(signature("", "Relu", 13), signature("", "Relu", 14))
        True
        >>> only_types_changed(signature("", "Clip", 6), signature("", "Clip", 11))
        False
    """
    if new.deprecated:
        return False
    if len(old.inputs) != len(new.inputs) or len(old.outputs) != len(new.outputs):
        return False
    pairs = [*zip(old.inputs, new.inputs), *zip(old.outputs, new.outputs)]
    if any(a.option != b.option or not a.types <= b.types for a, b in pairs):
        return False
    if not any(a.types != b.types for a, b in pairs):
        return False
    return {n: repr(a) for n, a in old.attributes.items()} == {
        n: repr(a) for n, a in new.attributes.items()
    }


def means_the_same(old: OpSignature, new: OpSignature) -> bool:
    """Whether a call of the older schema is right for the newer one as it is.

    Args:
        new: the newer one, of the next version.

    Example:
        >>> from onnxwright.opset.registry import signature
        >>> means_the_same(signature("", "TopK", 10), signature("", "TopK", 11))
        True
    """
    return (new.domain, new.name, new.since_version) in UNCHANGED or only_types_changed(old, new)


def is_reviewed(signature: OpSignature) -> bool:
    """Whether it has been decided what changed in this schema; always for other domains.

    Example:
        >>> from onnxwright.opset.registry import signature
        >>> is_reviewed(signature("", "Add", 14))
        True
    """
    reviewed = REVIEWED.get(signature.domain)
    return reviewed is None or signature.since_version <= reviewed.get(signature.name, 0)


def _fits(
    old: OpSignature, new: OpSignature, attributes: Collection[str] | None, outputs: int | None
) -> bool:
    """Whether the newer signature takes the call as it is."""
    if len(old.inputs) > len(new.inputs):
        return False
    for a, c in zip(old.inputs, new.inputs, strict=False):
        looser = a.option == c.option or (a.option, c.option) == ("single", "optional")
        if not looser or not a.types <= c.types:
            return False
    if any(p.option != "optional" for p in new.inputs[len(old.inputs) :]):
        return False
    if len(old.outputs) != len(new.outputs) and (outputs is None or outputs > len(new.outputs)):
        return False
    if any(a.required for name, a in new.attributes.items() if name not in old.attributes):
        return False
    return all(
        _same_attribute(a, new.attributes.get(name), attributes)
        for name, a in old.attributes.items()
    )


def _same_attribute(a: AttrParam, c: AttrParam | None, attributes: Collection[str] | None) -> bool:
    if c is None:
        return attributes is not None and a.name not in attributes and not a.required
    if c.required and not a.required:
        return attributes is not None and a.name in attributes
    if attributes is not None and a.name in attributes:
        return a.kind is c.kind
    if attributes is not None and a.default is None and c.default is None:
        return True
    return a.kind is c.kind and repr(a.default) == repr(c.default)
