"""Everything a graph says beside its computation, gathered while its body is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import onnx

from onnxwright.decompiler.arrays import type_expression
from onnxwright.decompiler.layout import Expr, call, data, listed, mapping, text
from onnxwright.ir.content import is_plain, properties


@dataclass
class Facts:
    """The keyword arguments of `Details(...)`, as Python by Python name.

    Attributes:
        uses: names that the written module must import.
    """

    uses: set[str]
    name: str | None = None
    doc_string: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    opset_imports: dict[str, int] | None = None
    names: dict[str, str] = field(default_factory=dict)
    types: dict[str, Expr] = field(default_factory=dict)
    values: dict[str, Expr] = field(default_factory=dict)
    node_names: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, Expr] = field(default_factory=dict)
    graphs: dict[str, Expr] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    initializers: list[str] = field(default_factory=list)
    extra: bytes = b""

    def value(self, python: str, info: onnx.ValueInfoProto | None, *, typed: bool = True) -> None:
        """Note the type, doc string and metadata of a value."""
        if info is None:
            return
        if typed and info.HasField("type") and not is_plain(info.type):
            self.type_of(python, info.type)
        more = self.described(info)
        if more is not None:
            self.values[python] = more

    def type_of(self, python: str, proto: onnx.TypeProto) -> None:
        """Note the type of a value, as an annotation where one says it."""
        annotation = type_expression(proto, self.uses)
        if annotation is None:
            annotation = data(proto.SerializeToString(deterministic=True))
        self.types[python] = annotation

    def described(self, proto: Any, **more: Expr) -> Expr | None:
        """The doc string and metadata of anything, with other facts, as a dict; None if empty."""
        entries: dict[str, Expr] = dict(more)
        if proto.doc_string:
            entries["doc_string"] = text(proto.doc_string)
        if len(proto.metadata_props):
            pairs = properties(proto.metadata_props).items()
            entries["metadata"] = mapping((key, text(value)) for key, value in pairs)
        return mapping(entries.items()) if entries else None

    def expression(self) -> Expr:
        """`Details(...)` with what there is to say."""
        self.uses.add("Details")
        given: dict[str, Expr] = {}
        if self.name is not None:
            given["name"] = text(self.name)
        if self.doc_string is not None:
            given["doc_string"] = text(self.doc_string)
        for key in ("metadata", "names", "node_names"):
            held: dict[str, str] = getattr(self, key)
            if held:
                given[key] = mapping((name, text(value)) for name, value in held.items())
        if self.opset_imports is not None:
            pairs = self.opset_imports.items()
            given["opset_imports"] = mapping((domain, str(version)) for domain, version in pairs)
        for key in ("types", "values", "nodes", "graphs"):
            table: dict[str, Expr] = getattr(self, key)
            if table:
                given[key] = mapping(table.items())
        if self.absent:
            given["absent"] = listed(map(text, self.absent))
        if self.initializers:
            given["initializers"] = listed(self.initializers)
        if self.extra:
            given["extra"] = data(self.extra)
        return call("Details", **given)


__all__ = ["Facts"]
