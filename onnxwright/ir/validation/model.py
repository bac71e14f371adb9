"""Models, graphs, nodes and attributes: text that is text, fields that agree, names made once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Union

import onnx

from onnxwright.ir.validation.damage import Damage, is_text, quoted
from onnxwright.ir.validation.devices import check_configurations, check_devices
from onnxwright.ir.validation.external import Files
from onnxwright.ir.validation.functions import check_functions
from onnxwright.ir.validation.order import check_order
from onnxwright.ir.validation.tensors import SPARSE_LIMIT, check_sparse, check_tensor
from onnxwright.operators.contrib import RUNTIME
from onnxwright.types.dtypes import DType

NESTING = 32
"""The most graphs inside each other: protobuf reads 100 messages, and a graph takes three."""

RANK_LIMIT = 1024
"""The most dimensions of one type: no runtime has tensors of more than some tens."""

NAME_LIMIT = 1 << 20
"""The most characters of one name: messages, and each table of names, hold it again."""

TYPE_NESTING = 8
"""The most types inside each other, such as a sequence of optionals."""

_A = onnx.AttributeProto
_HELD: dict[int, str] = {
    _A.FLOAT: "f", _A.INT: "i", _A.STRING: "s", _A.TENSOR: "t", _A.GRAPH: "g",
    _A.SPARSE_TENSOR: "sparse_tensor", _A.TYPE_PROTO: "tp", _A.FLOATS: "floats", _A.INTS: "ints",
    _A.STRINGS: "strings", _A.TENSORS: "tensors", _A.GRAPHS: "graphs",
    _A.SPARSE_TENSORS: "sparse_tensors", _A.TYPE_PROTOS: "type_protos",
}  # fmt: skip
_VALUES = frozenset(_HELD.values())
# Operators of the standard domain that cannot be without their graphs.
_BODIES: dict[str, tuple[str, ...]] = {
    "If": ("then_branch", "else_branch"), "Loop": ("body",), "Scan": ("body",),
    "SequenceMap": ("body",),
}  # fmt: skip
_TEXT = {str}
_ELEMENTS = {int(d) for d in DType} | {0}  # 0 is an unknown element type

Model = Union[onnx.ModelProto, onnx.FunctionProto, onnx.GraphProto]


class Form(NamedTuple):
    """What a check of a model sees of its form.

    Fields:
        is_sorted: whether each node comes after those whose outputs it reads.
        is_plain: whether it has nothing that `plain_form` changes.
    """

    is_sorted: bool
    is_plain: bool


def check_model(
    proto: Model,
    folder: Path | None = None,
    *,
    needed: bool = False,
    named: bool = True,
    defined: bool = True,
) -> Form:
    """Refuse a model that other code cannot read safely.

    Args:
        proto: a model, a function or a graph.
        folder: the folder of its external data; None where that is not looked at.
        needed: whether files of external data that are not there are a fault.
        named: whether external data without the name of a file is a fault.
        defined: whether names that are read and not defined are a fault.

    Returns:
        What was seen of its form.

    Raises:
        Damage: the first fault that is found.

    Source:
        onnx.proto, the ONNX IR specification.

    Example:
        >>> from onnx import parser
        >>> check_model(parser.parse_graph("g (float[N] x) => (float[N] y) { y = Relu(x) }"))
        Form(is_sorted=True, is_plain=True)
        >>> text = "g (float[N] x) => (float[N] y) { y = Relu(x) y = Neg(x) }"
        >>> check_model(parser.parse_graph(text))
        Traceback (most recent call last):
            ...
        onnxwright.ir.validation.damage.Damage: graph `g`: the value `y` is defined twice
    """
    checker = _Checker(None if folder is None else Files(folder, needed, named), defined)
    checker.check(proto)
    return Form(checker.is_sorted, checker.is_plain)


class _Checker:
    """Goes through one model once."""

    def __init__(self, data: Files | None, defined: bool) -> None:
        self.around: set[str] | None = set() if defined else None
        self.data = data
        self.is_sorted = self.is_plain = True
        self.imports_runtime = True  # whether what is checked now imports RUNTIME
        self.written_out = 0  # bytes of all sparse tensors, written out
        self.types: dict[bytes, bool] = {}  # types that are right -> whether they are plain

    def check(self, proto: Model) -> None:
        """Check everything."""
        if isinstance(proto, onnx.GraphProto):
            # A graph on its own may read what is defined around it.
            self._graph(proto, f"graph {quoted(proto.name)}", None, 0)
        elif isinstance(proto, onnx.FunctionProto):
            self._function(proto)
            check_functions([proto], None)
        else:
            self._model(proto)

    def _sparse(self, sparse: onnx.SparseTensorProto, place: str) -> None:
        """Check a sparse tensor; the limit is for all of them together."""
        self.is_plain = False
        self.written_out += check_sparse(sparse, place, self.data)
        if self.written_out > SPARSE_LIMIT:
            what = f"with it, the sparse tensors are over {SPARSE_LIMIT >> 30} GB when written out"
            raise Damage(
                "limit", place, what, "store them as inputs of the operators that read them"
            )

    def _model(self, proto: onnx.ModelProto) -> None:
        where = "the model"
        self._texts(
            where, proto.producer_name, proto.producer_version, proto.domain, proto.doc_string
        )
        self._header(proto, where)
        for function in proto.functions:
            self._texts("a function", function.domain, function.name, function.overload)
        check_configurations(proto)
        self._graph(proto.graph, f"graph {quoted(proto.graph.name)}", self.around, 0)
        for function in proto.functions:
            self._function(function)
        check_functions(proto.functions, proto.graph)

    def _header(self, proto: onnx.ModelProto | onnx.FunctionProto, where: str) -> None:
        self._properties(proto.metadata_props, where)
        versions: dict[str, int] = {}
        for entry in proto.opset_import:
            self._texts(f"{where}, opset imports", entry.domain)
            domain = entry.domain or "ai.onnx"
            self.is_plain &= entry.domain != "ai.onnx"
            if not 0 <= entry.version < 1 << 31:
                what = f"the opset {quoted(domain)} is imported in version {entry.version}"
                raise Damage("structure", where, what)
            if versions.setdefault(domain, entry.version) != entry.version:
                what = f"two versions of {quoted(domain)} are imported"
                raise Damage("structure", where, what)
        self.imports_runtime = RUNTIME in versions

    def _function(self, proto: onnx.FunctionProto) -> None:
        where = f"function {quoted(proto.name)}"
        if not proto.name:
            raise Damage("structure", where, "it has no name")
        self._texts(where, proto.name, proto.domain, proto.overload, proto.doc_string)
        self._header(proto, where)
        self._texts(where, *proto.input, *proto.output, *proto.attribute)
        for info in proto.value_info:
            self._info(info, where)
        names = [*proto.attribute, *(a.name for a in proto.attribute_proto)]
        self._texts(where, *names)
        self._once("attribute parameter", names, where)
        for attr in proto.attribute_proto:
            self._attribute(attr, where, set(), 0)
        self._body(list(proto.input), proto.node, list(proto.output), where, self.around, 0)

    def _graph(
        self, graph: onnx.GraphProto, where: str, outside: set[str] | None, depth: int
    ) -> None:
        if depth > NESTING:
            what = f"graphs are nested more than {NESTING} deep, which no protobuf reader accepts"
            raise Damage("limit", where, what, "flatten the nested If, Loop and Scan nodes")
        self._texts(where, graph.name, graph.doc_string)
        self._properties(graph.metadata_props, where)
        for infos, word in ((graph.input, "input"), (graph.output, "output")):
            for info in infos:
                self._info(info, f"{where}, {word}")
        for info in graph.value_info:
            self._info(info, f"{where}, value_info")
        held = []
        for tensor in graph.initializer:
            place = f"{where}, initializer {quoted(tensor.name)}"
            check_tensor(tensor, place, self.data)
            held.append(tensor.name)
        for sparse in graph.sparse_initializer:
            place = f"{where}, sparse initializer {quoted(sparse.values.name)}"
            self._sparse(sparse, place)
            held.append(sparse.values.name)
        for note in graph.quantization_annotation:
            self._texts(f"{where}, quantization annotations", note.tensor_name)
            self._properties(note.quant_parameter_tensor_names, where)
        self._once("initializer", held, where)
        results = {name for node in graph.node for name in node.output}
        for name in held:
            if name in results:
                what = f"the value {quoted(name)} is an initializer and the output of a node"
                raise Damage("structure", where, what)
        names = None if outside is None else outside | set(held)
        outputs = [o.name for o in graph.output]
        self._body([i.name for i in graph.input], graph.node, outputs, where, names, depth)

    def _body(
        self,
        inputs: list[str],
        nodes: Sequence[onnx.NodeProto],
        outputs: Sequence[str],
        where: str,
        outside: set[str] | None,
        depth: int,
    ) -> None:
        for number, node in enumerate(nodes):
            try:
                self._node_texts(node)
            except Damage as damage:
                raise damage.inside(f"{where}, node {number}") from None
        self._short("node", [node.name for node in nodes], where)
        names = [*inputs, *(name for node in nodes for name in node.output)]
        self._once("value", names, where)
        inside = None if outside is None else outside | set(names)
        for number, node in enumerate(nodes):
            try:
                self._node(node, inside, depth)
            except Damage as damage:
                place = f"{where}, node {number} ({quoted(node.op_type)})"
                raise damage.inside(place) from None
        for name in (*inputs, *outputs) if inside is not None else ():
            if not name:
                raise Damage("structure", where, "an input or output has no name")
        for name in outputs:
            if name and inside is not None and name not in inside:
                raise Damage("structure", where, f"its output {quoted(name)} is not defined")
        self.is_sorted &= check_order(nodes, where)

    def _node_texts(self, node: onnx.NodeProto) -> None:
        self._texts(
            "", node.op_type, node.domain, node.overload, node.name, node.doc_string,
            *node.input, *node.output,
        )  # fmt: skip
        if not node.op_type:
            raise Damage("structure", "", "it has no operator")
        if node.metadata_props:
            self._properties(node.metadata_props, "")
        check_devices(node)
        for attr in node.attribute:
            self._texts("", attr.name, attr.doc_string, attr.ref_attr_name)

    def _node(self, node: onnx.NodeProto, inside: set[str] | None, depth: int) -> None:
        """Check what a node reads, and its attributes."""
        if inside is not None:
            for name in node.input:
                if name and name not in inside:
                    what = f"it reads {quoted(name)}, which is not defined"
                    raise Damage("structure", "", what)
            if node.op_type in _BODIES:
                _check_bodies(node)
        if node.domain == RUNTIME and not self.imports_runtime:
            self.is_plain = False
        attributes = node.attribute
        if attributes:
            self._once("attribute", [a.name for a in attributes], "")
            for attr in attributes:
                self._attribute(attr, "", inside, depth)

    def _attribute(
        self, attr: onnx.AttributeProto, where: str, outside: set[str] | None, depth: int
    ) -> None:
        place = _inside(where, f"attribute {quoted(attr.name)}")
        if not attr.name:
            raise Damage("structure", place, "it has no name")
        held = [f.name for f, _ in attr.ListFields() if f.name in _VALUES]
        field = _HELD.get(attr.type)
        if attr.ref_attr_name:
            if held:
                raise Damage("structure", place, "it refers to a parameter and has a value, too")
            return
        if len(held) > 1 or (field is not None and held and held != [field]):
            name = _A.AttributeType.Name(attr.type)
            what = f"its type is {name}, and it holds {', '.join(held)}"
            raise Damage("structure", place, what)
        if not held:
            return
        for tensor in _values(attr, held[0], "t", "tensors"):
            check_tensor(tensor, place, self.data)
        for sparse in _values(attr, held[0], "sparse_tensor", "sparse_tensors"):
            self._sparse(sparse, place)
        for kind in _values(attr, held[0], "tp", "type_protos"):
            _check_type(kind, place)
        for graph in _values(attr, held[0], "g", "graphs"):
            inner = _inside(where, f"{quoted(attr.name)} graph {quoted(graph.name)}")
            self._graph(graph, inner, outside, depth + 1)

    def _info(self, info: onnx.ValueInfoProto, where: str) -> None:
        self._texts(where, info.name, info.doc_string)
        if info.metadata_props:
            self._properties(info.metadata_props, where)
        if info.HasField("type"):
            try:
                self.is_plain &= self._type(info.type)
            except Damage as damage:
                raise damage.inside(f"{where} {quoted(info.name)}") from None

    def _type(self, proto: onnx.TypeProto) -> bool:
        """As `_check_type`; the values of a model have few types, and each is looked at once."""
        try:
            key = proto.SerializeToString()
        except Exception:  # noqa: BLE001 - protobuf's own EncodeError: a text is not UTF-8
            return _check_type(proto, "")
        is_plain = self.types.get(key)
        if is_plain is None:
            is_plain = self.types[key] = _check_type(proto, "")
        return is_plain

    def _properties(self, entries: Sequence[onnx.StringStringEntryProto], where: str) -> None:
        for entry in entries:
            self._texts(_inside(where, "metadata"), entry.key, entry.value)

    @staticmethod
    def _texts(where: str, *values: object) -> None:
        """Refuse bytes that are not UTF-8: protobuf gives them as bytes, or not at all."""
        if set(map(type, values)) == _TEXT:
            return
        for value in values:
            if type(value) is not str:
                raise Damage("structure", where, f"a name or text is not UTF-8: {quoted(value)}")

    @staticmethod
    def _short(word: str, names: Sequence[str], where: str) -> None:
        longest = max(map(len, names), default=0)
        if longest > NAME_LIMIT:
            what = f"the name of one {word} has {longest:,} characters, more than {NAME_LIMIT:,}"
            raise Damage("limit", where, what)

    def _once(self, word: str, names: Sequence[str], where: str) -> None:
        self._short(word, names, where)
        if len(set(names)) == len(names):
            return
        for name, count in Counter(names).items():
            if count > 1 and name:
                raise Damage("structure", where, f"the {word} {quoted(name)} is defined twice")


def _inside(where: str, part: str) -> str:
    """The path of a part of what lies at a path."""
    return f"{where}, {part}" if where else part


def _check_bodies(node: onnx.NodeProto) -> None:
    """Refuse an If, Loop, Scan or SequenceMap without its graphs."""
    if node.domain not in ("", "ai.onnx"):
        return
    for name in _BODIES.get(node.op_type, ()):
        attribute = next((a for a in node.attribute if a.name == name), None)
        if attribute is None or not (attribute.HasField("g") or attribute.ref_attr_name):
            raise Damage("structure", "", f"it has no graph {quoted(name)}")


def _values(attr: onnx.AttributeProto, held: str, one: str, many: str) -> Sequence[Any]:
    """The values of one kind that an attribute holds."""
    if held == one:
        return [getattr(attr, one)]
    return list(getattr(attr, many)) if held == many else []


def _check_type(proto: onnx.TypeProto, where: str, depth: int = 0) -> bool:
    """Check one type, those inside it too; whether its sizes are not negative and it has no map."""
    if depth > TYPE_NESTING:
        raise Damage("limit", where, f"its type is nested more than {TYPE_NESTING} deep")
    if not is_text(proto.denotation):
        raise Damage("structure", where, "the denotation of its type is not UTF-8")
    which = proto.WhichOneof("value")
    if which in ("tensor_type", "sparse_tensor_type"):
        tensor = getattr(proto, which)
        if tensor.elem_type not in _ELEMENTS:
            raise Damage("data", where, f"it has the unknown element type {tensor.elem_type}")
        if len(tensor.shape.dim) > RANK_LIMIT:
            what = f"its type has {len(tensor.shape.dim):,} dimensions, more than {RANK_LIMIT}"
            raise Damage("limit", where, what)
        is_plain = True
        for dim in tensor.shape.dim:
            if not is_text(dim.dim_param, dim.denotation):
                raise Damage("structure", where, "the name of a dimension is not UTF-8")
            is_plain = is_plain and dim.dim_value >= 0
        return bool(is_plain)
    if which == "sequence_type":
        return _check_type(proto.sequence_type.elem_type, where, depth + 1)
    if which == "optional_type":
        return _check_type(proto.optional_type.elem_type, where, depth + 1)
    if which == "map_type":
        key = proto.map_type.key_type
        if key not in _ELEMENTS or not key:
            words = f"the unknown key type {key}" if key else "no key type"
            raise Damage("data", where, f"its type is a map, and it has {words}")
        _check_type(proto.map_type.value_type, where, depth + 1)
    elif which == "opaque_type":
        opaque = proto.opaque_type
        if not is_text(opaque.domain, opaque.name):
            raise Damage("structure", where, "the name of its type is not UTF-8")
    return bool(which != "map_type")
