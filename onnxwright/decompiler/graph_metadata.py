"""Everything a graph says beside its computation, gathered while its body is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import onnx

from onnxwright.compare.equality import is_plain, properties
from onnxwright.compare.proto_graph import ProtoGraph, ProtoNode, ProtoValue
from onnxwright.decompiler.arrays import type_expression
from onnxwright.decompiler.layout import (
    Expr,
    Group,
    call,
    data,
    listed,
    long_text,
    mapping,
    text,
    words,
)
from onnxwright.decompiler.places import Places

Key = ProtoNode | ProtoValue | ProtoGraph | str


@dataclass
class Facts:
    """The keyword arguments of `Details(...)`, as Python by value, node or graph.

    Attributes:
        uses: names that the written module must import.
        places: what values, nodes and graphs are called.
    """

    uses: set[str]
    places: Places
    name: str | None = None
    doc_string: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    opset_imports: dict[str, int] | None = None
    names: dict[Key, str] = field(default_factory=dict)
    types: dict[Key, Expr] = field(default_factory=dict)
    values: dict[Key, Expr] = field(default_factory=dict)
    node_names: dict[Key, str] = field(default_factory=dict)
    nodes: dict[Key, Expr] = field(default_factory=dict)
    graphs: dict[Key, Expr] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    initializers: list[str] = field(default_factory=list)
    shared: bool = False
    copies: bool = False
    loops: list[dict[str, Any]] = field(default_factory=list)
    extra: bytes = b""

    def value(self, key: Key, info: onnx.ValueInfoProto | None, *, typed: bool = True) -> None:
        """Note the type, doc string and metadata of a value."""
        if info is None:
            return
        if typed and info.HasField("type") and not is_plain(info.type):
            self.type_of(key, info.type)
        more = self.described(info)
        if more is not None:
            self.values[key] = more

    def type_of(self, key: Key, proto: onnx.TypeProto) -> None:
        """Note the type of a value, as an annotation where one says it."""
        annotation = type_expression(proto, self.uses)
        if annotation is None:
            annotation = data(proto.SerializeToString(deterministic=True))
        self.types[key] = annotation

    def described(
        self, proto: Any, more: dict[str, Expr] | None = None, without: str | None = None
    ) -> Expr | None:
        """The doc string and metadata of anything, with other facts, as a dict; None if empty."""
        if not (more or proto.doc_string or proto.metadata_props):
            return None
        entries: dict[str, Expr] = dict(more or {})
        if proto.doc_string:
            entries["doc_string"] = long_text(proto.doc_string)
        pairs = [(k, v) for k, v in properties(proto.metadata_props).items() if k != without]
        if pairs:
            entries["metadata"] = mapping((key, long_text(value)) for key, value in pairs)
        return mapping(entries.items()) if entries else None

    def expression(self) -> Expr:
        """`Details(...)` with what there is to say."""
        self.uses.add("Details")
        keywords: dict[str, Expr] = {}
        if self.name is not None:
            keywords["name"] = text(self.name)
        if self.doc_string is not None:
            keywords["doc_string"] = long_text(self.doc_string)
        if self.metadata:
            keywords["metadata"] = mapping((k, long_text(v)) for k, v in self.metadata.items())
        if self.opset_imports is not None:
            pairs = self.opset_imports.items()
            keywords["opset_imports"] = mapping((domain, str(version)) for domain, version in pairs)
        if self.shared:
            keywords["shared"] = "True"
        if self.copies:
            keywords["copies"] = "True"
        if any(self.loops):
            keywords["loops"] = listed(map(_form, self.loops))
        self._tables(keywords)
        origins = self.places.origins()
        if origins:
            keywords["origins"] = listed(
                Group("(", (text(file), words(entries)), ")") for file, entries in origins
            )
        if self.absent:
            keywords["absent"] = listed(map(text, self.absent))
        if self.initializers:
            keywords["initializers"] = listed(self.initializers)
        if self.extra:
            keywords["extra"] = data(self.extra)
        return call("Details", **keywords)

    def _tables(self, keywords: dict[str, Expr]) -> None:
        key = self.places.key

        def sort(table: dict[Key, Any]) -> list[tuple[Key, Any]]:
            return sorted(table.items(), key=lambda pair: self.places.rank(pair[0]))

        if self.names:
            keywords["names"] = mapping((key(x), text(name)) for x, name in sort(self.names))
        if self.node_names and self.places.numbered():
            keywords["numbered"] = "True"
        elif self.node_names:
            keywords["node_names"] = mapping((key(x), text(n)) for x, n in sort(self.node_names))
        for name in ("types", "values", "nodes", "graphs"):
            table: dict[Key, Expr] = getattr(self, name)
            if table:
                keywords[name] = mapping((key(x), expr) for x, expr in sort(table))


def _form(form: dict[str, Any]) -> Expr:
    """How a loop is made."""
    return mapping(
        (key, listed(map(text, value)) if isinstance(value, list) else text(value))
        for key, value in form.items()
    )
