"""Nodes against the schemas of their operators: what native libraries take for granted.

ONNX's inference and ONNX Runtime read inputs, outputs, types and attributes that a schema promises
before, or without, asking whether a node has them, and end the process where it has not.  Every
model goes through `check_nodes` before one of them sees it.  Operators of domains that onnx does
not know, and versions newer than it knows, are left alone.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Union

import onnx

from onnxwright.ir.proto_graphs import nodes_of
from onnxwright.ir.validation.damage import Damage, quoted
from onnxwright.ir.validation.functions import Key, called
from onnxwright.operators import facts
from onnxwright.operators.record import AttributeFault
from onnxwright.opset.attributes import ELEMENT_TYPES
from onnxwright.opset.history import newest
from onnxwright.opset.registry import UNLIMITED, OpSignature, is_known_domain, signature
from onnxwright.types.dtypes import DType

_A = onnx.AttributeProto
_UNDEFINED, _INT = int(_A.UNDEFINED), int(_A.INT)
_ELEMENTS = frozenset(map(int, DType))
_PLAIN = (_A.INT, _A.FLOAT, _A.STRING, _A.INTS, _A.FLOATS)
_SINGLE = {_A.TENSOR: "t", _A.GRAPH: "g", _A.SPARSE_TENSOR: "sparse_tensor", _A.TYPE_PROTO: "tp"}
# Outputs that the graph of a node has beside those of the node: the condition of a Loop.
_EXTRA = {"If": 0, "Loop": 1, "Scan": 0, "SequenceMap": 0}

Body = Union[onnx.GraphProto, onnx.FunctionProto]
Versions = Mapping[str, int]


@dataclass(frozen=True)
class _Promises:
    """What a schema promises of every node of an operator.

    Fields:
        inputs, outputs: the least and the greatest number.
        needed_inputs: the positions of inputs that may not be absent.
        rest: the position from which on the inputs of a variadic one may not be absent.
        computed: the positions of outputs that must have a name.
        kinds: the type of each attribute, by its name.
        required: the attributes that must be there.
        fault: gives what is wrong with the values of the attributes, None where nothing is.
    """

    inputs: tuple[int, int]
    outputs: tuple[int, int]
    needed_inputs: tuple[int, ...]
    rest: int | None
    computed: tuple[int, ...]
    kinds: dict[str, int]
    required: tuple[str, ...]
    fault: AttributeFault | None


@functools.cache
def _promises(domain: str, op_type: str, version: int) -> _Promises | None:
    """The promises of a schema; None for an operator that onnx does not know."""
    if not is_known_domain(domain) or version > newest(domain):
        return None
    schema = signature(domain, op_type, version)
    return None if schema is None else _promises_of(schema)


def _promises_of(operator: OpSignature) -> _Promises:
    def single(params: Sequence[Any]) -> tuple[int, ...]:
        return tuple(n for n, p in enumerate(params) if p.option == "single")

    return _Promises(
        (operator.min_input, operator.max_input),
        (operator.min_output, operator.max_output),
        single(operator.inputs),
        operator.variadic_input,
        single(operator.outputs),
        {name: attr.kind.number for name, attr in operator.attributes.items()},
        tuple(name for name, attr in operator.attributes.items() if attr.required),
        facts(operator.name, operator.domain).attribute_fault,
    )


def check_nodes(model: onnx.ModelProto, *, runs: bool = False) -> None:
    """Refuse nodes that do not keep what the schemas of their operators promise.

    Args:
        model: the model, checked by `check_model`.
        runs: whether a native library runs the model: values of attributes are checked, too, and
            functions that nothing calls are left alone.

    Raises:
        Damage: a node has too few or too many inputs, outputs or attributes, one of another kind
            or out of range, or graphs that do not fit it; or a call has more inputs or outputs
            than its function.

    Source:
        ONNX `OpSchema::Verify`; the operators' pages for control flow and ranges of values.
    """
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    bodies: Iterable[Body] = (model.graph, *model.functions)
    if runs:
        bodies = (model.graph, *_reached(model, functions))
    for body in bodies:
        if isinstance(body, onnx.FunctionProto):
            _Checker(body, f"function {quoted(body.name)}", functions, runs).check()
        else:
            _Checker(model, f"graph {quoted(body.name)}", functions, runs).check()


def is_sound(node: onnx.NodeProto, versions: Versions) -> bool:
    """Whether a node keeps the promises of its schema, its graphs' insides aside.

    Args:
        node: the node; not a call of a function.
        versions: the imported version of each domain.

    Returns:
        True for operators that are not known, too.
    """
    try:
        check_node(node, versions, True)
    except Damage:
        return False
    return True


def versions_of(owner: onnx.ModelProto | onnx.FunctionProto) -> dict[str, int]:
    """The imported version of each domain; the standard one is "".

    Args:
        owner: a model or a function.
    """
    return {"" if o.domain == "ai.onnx" else o.domain: o.version for o in owner.opset_import}


def needs_input(node: onnx.NodeProto, n: int, versions: Versions, *, variadic: bool) -> bool:
    """Whether the operator of a node cannot be without one of its inputs.

    Args:
        node: the node; not a call of a function.
        versions: the imported version of each domain.
        variadic: what holds of an input that is one of any number.

    Returns:
        False for operators that are not known, too.
    """
    domain = "" if node.domain == "ai.onnx" else node.domain
    promises = _promises(domain, node.op_type, versions.get(domain, 0))
    if promises is None:
        return False
    return n in promises.needed_inputs or (
        variadic and promises.rest is not None and n >= promises.rest
    )


def _reached(
    model: onnx.ModelProto, functions: Mapping[Key, onnx.FunctionProto]
) -> Iterator[onnx.FunctionProto]:
    """The functions that the main graph calls, directly or not."""
    seen: set[Key] = set()
    todo = [key for key in called(model.graph.node) if key in functions]
    while todo:
        key = todo.pop()
        if key not in seen:
            seen.add(key)
            yield functions[key]
            todo += [inner for inner in called(functions[key].node) if inner in functions]


class _Checker:
    """Checks the nodes of the main graph or of a function, those of subgraphs too."""

    def __init__(
        self,
        owner: onnx.ModelProto | onnx.FunctionProto,
        where: str,
        functions: Mapping[Key, onnx.FunctionProto],
        runs: bool,
    ) -> None:
        self.where, self.functions, self.runs = where, functions, runs
        self.versions = versions_of(owner)
        self.parameters: set[str] = set()
        if isinstance(owner, onnx.FunctionProto):
            self.nodes = owner.node
            self.parameters.update(owner.attribute, (a.name for a in owner.attribute_proto))
        else:
            self.nodes = owner.graph.node

    def check(self) -> None:
        """Check everything."""
        functions, versions, parameters = self.functions, self.versions, self.parameters
        for node in nodes_of(self.nodes):
            function = None
            if functions:
                function = functions.get((node.domain, node.op_type, node.overload))
            try:
                if function is None:
                    check_node(node, versions, self.runs, parameters)
                else:
                    _check_attributes(node, None, parameters)
                    _check_call(node, function)
            except Damage as damage:
                name = quoted(node.name) if node.name else quoted(node.op_type)
                raise damage.inside(f"{self.where}, node {name}") from None


def check_node(
    node: onnx.NodeProto,
    versions: Versions,
    runs: bool,
    parameters: Collection[str] | None = None,
) -> None:
    """Refuse a node that does not keep the promises of its schema.

    Args:
        node: the node; not a call of a function.
        versions: the imported version of each domain.
        runs: whether values of attributes are checked, too.
        parameters: the attributes that the function around it takes; None if that is not checked.

    Raises:
        Damage: it does not, and where in the node; the nodes of its graphs are not looked at.
    """
    domain, op_type = node.domain, node.op_type
    if domain == "ai.onnx":
        domain = ""
    version = versions.get(domain)
    promises = None if version is None else _promises(domain, op_type, version)
    if node.attribute or (promises is not None and promises.required):
        _check_attributes(node, promises, parameters)
    if version is None or promises is None:
        return
    _check_values(node, promises, runs)
    if not domain and op_type in _EXTRA:
        _check_bodies(node, version)
    if not domain and op_type == "Split":
        _check_split(node)
    fault = promises.fault(plain_attributes(node)) if runs and promises.fault is not None else None
    if fault is not None:
        raise Damage("structure", "", fault)


def _check_values(node: onnx.NodeProto, promises: _Promises, runs: bool) -> None:
    """Refuse a wrong number of inputs or outputs, and absent ones that are needed."""
    inputs, outputs = list(node.input), list(node.output)
    low, high = promises.inputs
    if not low <= len(inputs) <= high:
        _wrong_count(node, "input", len(inputs), low, high)
    # A node without used results may have no outputs; only runtimes refuse it.
    low, high = promises.outputs if runs else (0, promises.outputs[1])
    if not low <= len(outputs) <= high:
        _wrong_count(node, "output", len(outputs), low, high)
    if "" in inputs:
        for n, name in enumerate(inputs):
            needed = n in promises.needed_inputs or (
                promises.rest is not None and n >= promises.rest
            )
            if not name and needed:
                what = f"its input {n} is absent, and the operator {quoted(node.op_type)} needs it"
                raise Damage("structure", "", what)
    if "" in outputs:
        for n in promises.computed:
            if n < len(outputs) and not outputs[n]:
                what = f"its output {n} has no name, and {quoted(node.op_type)} must give it one"
                raise Damage("structure", "", what)


def _wrong_count(node: onnx.NodeProto, word: str, count: int, low: int, high: int) -> NoReturn:
    takes = f"{low}" if low == high else f"{low} to {high}"
    if high == UNLIMITED:
        takes = f"at least {low}"
    what = f"it has {count} {word}s, the operator {quoted(node.op_type)} has {takes}"
    raise Damage("structure", "", what)


def _check_call(node: onnx.NodeProto, function: onnx.FunctionProto) -> None:
    for actual, declared, word in (
        (node.input, function.input, "input"),
        (node.output, function.output, "output"),
    ):
        if len(actual) > len(declared):
            what = f"it has {len(actual)} {word}s, the function {quoted(function.name)} has "
            raise Damage("structure", "", f"{what}{len(declared)}")


def _check_attributes(
    node: onnx.NodeProto, promises: _Promises | None, parameters: Collection[str] | None
) -> None:
    """Refuse attributes without a value, of another type than the operator takes, and absent ones.

    Those of operators that are not known need a type and a value, too.
    """
    kinds = promises.kinds if promises is not None else {}
    held = set()
    for attr in node.attribute:
        name, kind, refers = attr.name, attr.type, attr.ref_attr_name
        held.add(name)
        expected = kinds.get(name)
        what = None
        if kind == _UNDEFINED:
            what = "it has no type"
        elif refers:
            if parameters is not None and refers not in parameters:
                what = f"it refers to {quoted(refers)}, which is not an attribute parameter"
        elif kind in _SINGLE:
            what = None if attr.HasField(_SINGLE[kind]) else "it has no value"
            if kind == _A.GRAPH and what is None:
                _check_outputs(attr.g)
        elif kind == _INT and name in ELEMENT_TYPES and expected is not None and not node.domain:
            if attr.i not in _ELEMENTS and not attr.i == ELEMENT_TYPES[name] == 0:
                what = f"{attr.i} is not an element type"
        if what is None and expected is not None and expected != kind:
            type_name, takes = (_A.AttributeType.Name(k) for k in (kind, expected))
            what = f"its type is {type_name}, the operator takes {takes}"
        if what is not None:
            raise Damage("structure", f"attribute {quoted(name)}", what)
    for name in promises.required if promises is not None else ():
        if name not in held:
            raise Damage("structure", "", f"its attribute {quoted(name)} is missing")


def plain_attributes(node: onnx.NodeProto) -> dict[str, Any]:
    """The attributes of a node that are numbers or texts; what a function is given is not known.

    Returns:
        The values by name.
    """
    return {
        a.name: onnx.helper.get_attribute_value(a)
        for a in node.attribute
        if a.type in _PLAIN and not a.ref_attr_name
    }


def _check_bodies(node: onnx.NodeProto, version: int) -> None:
    """Refuse an If, Loop, Scan or SequenceMap whose graphs have too few inputs or outputs."""
    if node.op_type == "Scan" and version < 9:
        return  # the lengths of Scan 8 are not an input of its graph, and states have a batch
    extra = _EXTRA[node.op_type]
    for attr in node.attribute:
        if not attr.HasField("g"):
            continue
        takes, gives = (0 if node.op_type == "If" else len(node.input)), len(node.output) + extra
        where = f"graph {quoted(attr.g.name)}"
        for count, least, word in (
            (len(attr.g.input), max(takes, 2 * extra), "input"),
            (len(attr.g.output), gives, "output"),
        ):
            if count < least:
                raise Damage("structure", where, f"it has {count} {word}s, the node needs {least}")
        if node.op_type == "Loop" and len(attr.g.input) > max(takes, 2):
            carried = max(takes - 2, 0)
            what = f"it has {len(attr.g.input)} inputs, the node gives it 2 and {carried} values"
            raise Damage("structure", where, what)
    if node.op_type == "Scan":
        _check_scan(node)


def _check_outputs(graph: onnx.GraphProto) -> None:
    """Refuse the graph of a node that does not compute its output."""
    computed = {v.name for v in (*graph.input, *graph.initializer)}
    computed |= {t.values.name for t in graph.sparse_initializer}
    computed.update(name for inner in graph.node for name in inner.output)
    for output in graph.output:
        if output.name and output.name not in computed:
            what = f"its output {quoted(output.name)} is not computed in it"
            advice = "an Identity in it gives a value from outside of it"
            raise Damage("structure", f"graph {quoted(graph.name)}", what, advice)


def _check_scan(node: onnx.NodeProto) -> None:
    """Refuse a Scan that scans more inputs than it has, or has axes for others."""
    held = {a.name: a for a in node.attribute}
    count = held["num_scan_inputs"]
    if count.ref_attr_name:
        return
    if not 1 <= count.i <= len(node.input):
        what = f"it is {count.i}, the node has {len(node.input)} inputs"
        raise Damage("structure", "attribute `num_scan_inputs`", what)
    for name in ("scan_input_axes", "scan_input_directions"):
        attr = held.get(name)
        if attr is not None and not attr.ref_attr_name and len(attr.ints) != count.i:
            what = f"it has {len(attr.ints)} numbers for {count.i} inputs that are scanned"
            raise Damage("structure", f"attribute {quoted(name)}", what)


def _check_split(node: onnx.NodeProto) -> None:
    """Refuse a Split that states another number of outputs than it has."""
    for attr in node.attribute:
        stated = attr.name == "num_outputs" and not attr.ref_attr_name
        if stated and attr.i != len(node.output):
            what = f"it is {attr.i}, the node has {len(node.output)} outputs"
            raise Damage("structure", f"attribute {quoted(attr.name)}", what)
