"""`MetadataMerger`: what the metadata of nodes becomes when others take their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import TypeAlias

import onnx_ir as ir

from onnxwright.ir.stored import props_of

TextMerger: TypeAlias = Callable[[str, str], str]
"""Gives one text for two: that of an earlier node and that of a later one."""


class MetadataMerger:
    """Merges the `metadata_props` of nodes, entry by entry.

    An entry that only one node has, or that is empty in all others, stays as it is.

    Args:
        mergers: for a key, the function that gives one text for two.
        default: the function for all other keys; by default the first text stays.

    Example:
        >>> merger = MetadataMerger({"layer": lambda first, second: f"{first}, {second}"})
        >>> entries = {"layer": "a", "kind": "x"}
        >>> merger.update_dict(entries, {"layer": "b", "kind": "y", "new": "1"})
        >>> entries
        {'layer': 'a, b', 'kind': 'x', 'new': '1'}
    """

    def __init__(
        self, mergers: Mapping[str, TextMerger] | None = None, default: TextMerger | None = None
    ) -> None:
        self.mergers = dict(mergers or {})
        self.default = default

    def update_dict(self, updated: MutableMapping[str, str], updates: Mapping[str, str]) -> None:
        """Merge entries into others.

        Args:
            updated: the entries of earlier nodes; changed.
            updates: those of a later node.
        """
        for key, text in updates.items():
            before = updated.get(key, "")
            if not text or before == text:
                continue
            merger = self.mergers.get(key, self.default)
            if not before:
                updated[key] = text
            elif merger is not None:
                updated[key] = merger(before, text)

    def copy_merged_metadata(
        self, from_nodes: Iterable[ir.Node], to: ir.Node | Iterable[ir.Node]
    ) -> None:
        """Give nodes the merged metadata of others, beside what they have.

        Args:
            from_nodes: the nodes it is merged from, in order.
            to: the node, or the nodes, that get it.
        """
        merged: dict[str, str] = {}
        for node in from_nodes:
            self.update_dict(merged, props_of(node))
        for node in ([to] if isinstance(to, ir.Node) else to) if merged else ():
            self.update_dict(node.metadata_props, merged)
