"""What onnx_ir's objects store beside their fields, read without making stores that stay empty.

Asking for `meta` or `metadata_props` makes an empty store: three objects for each node and value
that a pass looks at, which the garbage collector then goes through.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

_NOTHING: Mapping[str, Any] = MappingProxyType({})


def props_of(item: Any) -> Mapping[str, str]:
    """The `metadata_props` of a node, value, graph or tensor, to read.

    Example:
        >>> import onnx_ir as ir
        >>> (
        ...     dict(props_of(ir.Value(name="x", metadata_props={"a": "1"}))),
        ...     dict(props_of(ir.Value())),
        ... )
        ({'a': '1'}, {})
    """
    try:
        store: Mapping[str, str] | None = item._metadata_props
    except AttributeError:  # where onnx_ir has no field of this name, the property is asked
        store = item.metadata_props
    return store or _NOTHING


def notes_of(item: Any) -> Mapping[str, Any]:
    """The `meta` of an object, to read: what is not written into files."""
    try:
        store: Mapping[str, Any] | None = item._metadata
    except AttributeError:
        store = item.meta
    return store or _NOTHING


def holds_nothing(item: Any) -> bool:
    """Whether a node or value surely has no `meta`, `metadata_props` and `doc_string`.

    Example:
        >>> import onnx_ir as ir
        >>> holds_nothing(ir.Value(name="x")), holds_nothing(ir.Value(doc_string="The input."))
        (True, False)
    """
    # Where onnx_ir has no fields of these names, nothing is sure.
    stores = getattr(item, "_metadata", item) or getattr(item, "_metadata_props", item)
    return not (stores or item.doc_string)
