"""What two matched values, nodes or graphs must have in common by themselves."""

from __future__ import annotations

from typing import Any, NoReturn

import onnx

from onnxwright.compare.equality import (
    attribute_kind,
    is_plain,
    properties,
    same_attribute,
    same_sparse,
    same_tensor,
    same_type,
)
from onnxwright.compare.mismatch import (
    ConflictError,
    Mismatch,
    Place,
    path_of,
    place_of,
    show_attribute,
    show_node,
    show_type,
    show_value,
)
from onnxwright.compare.proto_graph import ProtoGraph, ProtoNode, ProtoValue
from onnxwright.compare.strictness import Strictness


class PairChecks:
    """Checks of pairs; each raises `ConflictError` where the two differ.

    Args:
        strict: what is compared.
    """

    def __init__(self, strict: Strictness) -> None:
        self.strict = strict

    def differ(self, what: str, left: str, right: str, where: Place) -> NoReturn:
        """Raise what differs."""
        raise ConflictError(Mismatch(f"{what} differs", left, right, place_of(where)))

    def same_initializer(self, a: ProtoValue, b: ProtoValue) -> bool:
        """Whether two initializers are equal."""
        left, right = a.tensor, b.tensor
        if isinstance(left, onnx.TensorProto) and isinstance(right, onnx.TensorProto):
            if self.strict.doc_strings and left.doc_string != right.doc_string:
                return False
            if not self.strict.initializers:
                return left.data_type == right.data_type and list(left.dims) == list(right.dims)
            return same_tensor(left, right, self.strict.folders)
        if isinstance(left, onnx.SparseTensorProto) and isinstance(right, onnx.SparseTensorProto):
            return same_sparse(left, right)
        return False

    def check_declared(self, a: ProtoValue, b: ProtoValue, where: Place) -> None:
        """Check the types and descriptions that graphs give two values."""
        strict = self.strict
        outside = a.input_index is not None or a.is_output
        inner = a.graph is not None and a.graph.owner is not None
        left = a.info if a.info is not None else onnx.ValueInfoProto()
        right = b.info if b.info is not None else onnx.ValueInfoProto()
        checked = strict.types if outside and not inner else strict.value_infos
        if checked and not same_type(left.type, right.type):
            # An initializer has a type of its own; to repeat it says nothing.
            repeated = a.tensor is not None and _repeats(left, a) and _repeats(right, b)
            if not repeated and not (is_plain(left.type) and is_plain(right.type)):
                what = f"the type of {show_value(a)}"
                self.differ(what, show_type(left.type), show_type(right.type), where)
        if strict.doc_strings and left.doc_string != right.doc_string:
            self.differ(
                f"the doc string of {show_value(a)}", left.doc_string, right.doc_string, where
            )
        if len(left.metadata_props) or len(right.metadata_props):
            self.check_metadata(show_value(a), left, right, where)

    def check_metadata(self, what: str, a: Any, b: Any, where: Place) -> None:
        """Check the `metadata_props` of two protos."""
        if not self.strict.metadata or not (len(a.metadata_props) or len(b.metadata_props)):
            return
        left, right = properties(a.metadata_props), properties(b.metadata_props)
        if left != right:
            self.differ(f"the metadata of {what}", repr(left), repr(right), where)

    def check_node(self, a: ProtoNode, b: ProtoNode) -> None:
        """Check operator, arity, attributes and descriptions of two nodes."""
        where: Place = a
        if a.key != b.key:
            self.differ("an operator", show_node(a), show_node(b), where)
        for side, left, right in (("input", a.inputs, b.inputs), ("output", a.outputs, b.outputs)):
            if len(left) != len(right) or any((x is None) != (y is None)
                                              for x, y in zip(left, right)):  # fmt: skip
                self.differ(f"the {side}s of {a.proto.op_type}", show_node(a), show_node(b), where)
        if self.strict.node_names and a.proto.name != b.proto.name:
            self.differ("the name of a node", a.proto.name, b.proto.name, where)
        if self.strict.doc_strings and a.proto.doc_string != b.proto.doc_string:
            what = f"the doc string of {a.proto.op_type}"
            self.differ(what, a.proto.doc_string, b.proto.doc_string, where)
        self.check_metadata(a.proto.op_type, a.proto, b.proto, where)
        if _devices(a.proto) != _devices(b.proto):
            self.differ(f"the devices of {a.proto.op_type}", "", "", where)
        self._attributes(a, b, where)

    def _attributes(self, a: ProtoNode, b: ProtoNode, where: Place) -> None:
        left = {x.name: x for x in a.proto.attribute}
        right = {x.name: x for x in b.proto.attribute}
        if self.strict.attributes:
            for name in [*left, *(n for n in right if n not in left)]:
                x, y = left.get(name), right.get(name)
                what = f"attribute `{name}` of {a.proto.op_type}"
                if x is None or y is None or not self._same_attribute(x, y):
                    self.differ(what, show_attribute(x), show_attribute(y), where)
        for name, graphs in a.subgraphs.items():
            others = b.subgraphs.get(name, [])
            if len(graphs) != len(others):
                what = f"attribute `{name}` of {a.proto.op_type}"
                self.differ(what, f"{len(graphs)} graphs", f"{len(others)} graphs", where)

    def _same_attribute(self, x: onnx.AttributeProto, y: onnx.AttributeProto) -> bool:
        if self.strict.doc_strings and x.doc_string != y.doc_string:
            return False
        if not self.strict.initializers and attribute_kind(x) == attribute_kind(y) == 4:
            return x.t.data_type == y.t.data_type and list(x.t.dims) == list(y.t.dims)
        return same_attribute(x, y, self.strict.folders)

    def check_graph(self, a: ProtoGraph, b: ProtoGraph) -> None:
        """Check the inputs, outputs and descriptions of two graphs."""
        where, strict, top = path_of(a), self.strict, a.outer is None
        for what, left, right in (
            ("inputs", a.inputs, b.inputs),
            ("outputs", a.outputs, b.outputs),
        ):
            names = [[w.name for w in side] for side in (left, right)]
            if len(left) != len(right) or (top and strict.io_names and names[0] != names[1]):
                self.differ(f"the {what}", ", ".join(names[0]), ", ".join(names[1]), where)
        if strict.doc_strings and a.proto.doc_string != b.proto.doc_string:
            self.differ("the doc string", a.proto.doc_string, b.proto.doc_string, where)
        self.check_metadata("the graph", a.proto, b.proto, where)
        named = strict.graph_names if top else strict.subgraph_names
        if named and a.proto.name != b.proto.name:
            self.differ("the name of the graph", a.proto.name, b.proto.name, where)


def _devices(node: onnx.NodeProto) -> list[bytes]:
    return [d.SerializeToString(deterministic=True) for d in node.device_configurations]


def _repeats(info: onnx.ValueInfoProto, w: ProtoValue) -> bool:
    """Whether what is written of an initializer's type is nothing, or what its tensor says."""
    if is_plain(info.type) or not isinstance(w.tensor, onnx.TensorProto):
        return True
    own = onnx.helper.make_tensor_type_proto(w.tensor.data_type, list(w.tensor.dims))
    return same_type(info.type, own)
