"""If, Loop, Scan and SequenceMap with Python callables as bodies, on values of a graph.

The callables are those of the eager mode: a branch takes nothing, the body of a Loop
`(iteration, condition, *carried)`, that of a Scan `(*state, *slices)`.  They may use every value
around them.  Types flow in; a carried value whose shape changes from one iteration to the next is
given to the body without the dimensions that change.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np
import onnx_ir as ir

from onnxwright.diagnostics.catalogue import eager as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.reading import raise_damage
from onnxwright.ir.validation.damage import Damage
from onnxwright.opset.op import Op
from onnxwright.semantics.backend import is_value
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import as_value
from onnxwright.semantics.scan_layout import check_axis, per_value, scan_layout
from onnxwright.tracing.body_graphs import body_graph, unchanged
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, SequenceType, TensorType
from onnxwright.types.shapes import Shape, unify

_BODIES = ("then_branch", "else_branch", "body")
_ROUNDS = 8


def build(
    b: GraphBackend,
    op: Op,
    inputs: Sequence[GraphValue | None],
    attributes: Mapping[str, object],
    outputs: int,
) -> tuple[GraphValue, ...]:
    """Build a control-flow operator.

    Args:
        attributes: its attributes; a body is a callable or a graph.
        outputs: how many outputs are wanted; 1 also means as many as the body gives.

    Raises:
        EagerTypeError: a body cannot be called so, or gives something else.
    """
    bodies = {name: attributes[name] for name in _BODIES if name in attributes}
    if not any(is_callable(body) for body in bodies.values()):
        call = b.op_call(op, inputs, attributes, outputs)
        return unchanged(b, op, b.build(op, call, inputs, attributes, outputs), inputs, bodies)
    for name, body in bodies.items():
        if not is_callable(body):
            _wrong_call(b, op, name, "Python values", "only graph values: it is a graph",
                        "give all bodies as callables, or all as graphs")  # fmt: skip
    least = op.signature.min_input if op.signature is not None else 0
    if len(inputs) < least:
        what = f"it has {len(inputs)} inputs, and {op.name} takes at least {least}"
        raise_damage(Damage("structure", f"a node `{op.name}`", what))
    site = _Body(b, op)
    if op.name == "If":
        return _if(site, inputs, bodies)
    if op.name == "Loop":
        return _loop(site, inputs, bodies["body"])
    if op.name == "Scan":
        return _scan(site, inputs, attributes)
    return _sequence_map(site, inputs, bodies["body"])


def is_callable(body: object) -> bool:
    """Whether a body is run by Python: protos and graphs are not callable."""
    return callable(body) and not hasattr(body, "SerializeToString")


def _wrong_call(
    b: GraphBackend, op: Op, attribute: str, arguments: str, takes: str, advice: str
) -> NoReturn:
    fail(
        messages.WrongBodyCall(
            op=op.name,
            attribute=attribute,
            arguments=arguments,
            takes=takes,
            advice=advice,
            span=b.here(),
        )
    )


class _Body:
    """Runs callables into graphs."""

    def __init__(self, b: GraphBackend, op: Op) -> None:
        self.b = b
        self.op = op

    def call(self, name: str, body: Any, arguments: Sequence[Any], names: str) -> list[Any]:
        """What a body returns, as a list."""
        self.check(name, body, len(arguments), names)
        result = body(*arguments)
        if isinstance(result, (tuple, list)):
            return list(result)
        return [] if result is None else [result]

    def check(self, attribute: str, body: Any, count: int, names: str) -> None:
        try:
            signature = inspect.signature(body)
        except (TypeError, ValueError):
            return
        try:
            signature.bind(*range(count))
        except TypeError:
            arguments = f"{count} argument{'s' * (count != 1)} ({names})"
            _wrong_call(self.b, self.op, attribute, arguments, str(signature),
                        "give the function one parameter for each")  # fmt: skip

    def wrong_result(self, attribute: str, got: str, expected: str, advice: str) -> NoReturn:
        fail(
            messages.WrongBodyResult(
                op=self.op.name, attribute=attribute, got=got, expected=expected, advice=advice,
                span=self.b.here(),
            )
        )  # fmt: skip

    def value(self, result: Any, like: GraphValue | None = None) -> GraphValue:
        """A result as a value; a number takes the type of what it replaces."""
        if is_value(result):
            return result  # type: ignore[no-any-return]
        dtype = like.dtype if like is not None else None
        return as_value(self.b, result, dtype=dtype)

    def graph(
        self, name: str, kinds: Sequence[tuple[str, OnnxType | None]], run: Callable[..., Any]
    ) -> tuple[ir.Graph, list[GraphValue]]:
        """A graph with these inputs and what `run` makes of them as outputs."""
        return body_graph(self.b, name, kinds, run)

    def node(
        self,
        inputs: Sequence[GraphValue | None],
        attrs: Sequence[ir.Attr],
        types: Sequence[OnnxType | None],
    ) -> tuple[GraphValue, ...]:
        values = self.b.append_node(self.op, inputs, list(attrs), types, None, sugar=self.b.folds)
        return tuple(self.b.wrap(v, k) for v, k in zip(values, types, strict=True))


def _graph_attr(name: str, graph: ir.Graph) -> ir.Attr:
    return ir.Attr(name, ir.AttributeType.GRAPH, graph)


# -- If --------------------------------------------------------------------------------------------


def _if(
    site: _Body, inputs: Sequence[GraphValue | None], bodies: Mapping[str, Any]
) -> tuple[GraphValue, ...]:
    condition = inputs[0]
    assert condition is not None
    condition_array = site.b.constant_value(condition) if site.b.folds else None
    said = "If gives its branches none"
    if condition_array is not None and condition_array.size == 1:
        name = "then_branch" if condition_array.item() else "else_branch"
        return tuple(site.value(r) for r in site.call(name, bodies[name], (), said))
    sides: list[tuple[ir.Graph, list[GraphValue]]] = []
    likes: list[GraphValue] = []
    for name in ("then_branch", "else_branch"):
        body = bodies[name]

        sides.append(site.graph(name, (), partial(_branch, site, name, body, likes)))
        likes = sides[-1][1]
    then, other = sides[0][1], sides[1][1]
    if len(then) != len(other):
        site.wrong_result(
            "else_branch",
            f"{len(other)} values",
            f"{len(then)}, as in `then_branch`",
            "give both branches the same results",
        )
    types = [_either(site, n, x.kind, y.kind) for n, (x, y) in enumerate(zip(then, other))]
    attrs = [_graph_attr(n, g) for n, (g, _) in zip(("then_branch", "else_branch"), sides)]
    return site.node(inputs, attrs, types)


def _branch(site: _Body, name: str, body: Any, likes: Sequence[GraphValue]) -> list[GraphValue]:
    returned = site.call(name, body, (), "If gives its branches none")
    # A number in one branch takes the type of the tensor in the other.
    padded = [*likes, *[None] * len(returned)]
    return [site.value(r, like) for r, like in zip(returned, padded)]


def _either(site: _Body, n: int, a: OnnxType | None, b: OnnxType | None) -> OnnxType | None:
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        if a.dtype is not None and b.dtype is not None and a.dtype is not b.dtype:
            site.wrong_result(
                "else_branch",
                f"{b.dtype.name} as result {n}",
                f"{a.dtype.name}, as in `then_branch`",
                "cast one of them",
            )
        return TensorType(a.dtype or b.dtype, unify(a.shape, b.shape))
    return a if a == b else None


# -- Loop ------------------------------------------------------------------------------------------


def _loop(site: _Body, inputs: Sequence[GraphValue | None], body: Any) -> tuple[GraphValue, ...]:
    b = site.b
    carried = [v for v in inputs[2:] if v is not None]
    controls = [*inputs[:2], *[None] * (2 - len(inputs[:2]))]
    count = len(carried)
    said = "iteration, condition, and each carried value"
    steady = controls[1] is None or _is_true(b, controls[1])

    def run(step: GraphValue, going: GraphValue, *state: GraphValue) -> list[GraphValue]:
        # A condition that nothing changes is true inside of the body.
        seen = b.constant(np.array(True)) if steady else going
        returned = site.call("body", body, (step, seen, *state), said)
        if len(returned) < 1 + count:
            site.wrong_result(
                "body",
                f"{len(returned)} values",
                f"at least {1 + count}: the condition and {count} carried",
                "return (condition, *carried, *values to stack)",
            )
        likes = [going, *carried, *[None] * len(returned)]
        if returned[0] is None:
            returned[0] = b.constant(np.array(True))
        outputs = [site.value(r, like) for r, like in zip(returned, likes)]
        if outputs[0].dtype is DType.BOOL and outputs[0].rank not in (0, None):
            scalar = b.constant(np.zeros(0, np.int64))
            outputs[0] = b.standard("Reshape", [outputs[0], scalar])
        return outputs

    kinds = [v.kind for v in carried]
    scalars: list[tuple[str, OnnxType | None]] = [
        ("iteration", TensorType(DType.INT64, ())),
        ("condition", TensorType(DType.BOOL, ())),
    ]
    steady_guess = steady
    for _ in range(_ROUNDS):
        names = [(f"carried_{n}", k) for n, k in enumerate(kinds)]
        mark = b.recorder.names.mark()
        graph, results = site.graph("body", [*scalars, *names], run)
        steady = steady_guess and _is_true(b, results[0])
        wider = [_carried(site, n, k, r.kind) for n, (k, r) in enumerate(zip(kinds, results[1:]))]
        if wider == kinds and steady == steady_guess:
            break
        kinds, steady_guess = wider, steady
        _forget(b, graph, mark)
    else:
        raise AssertionError("the types of a loop do not settle")
    length = _length(b, controls, steady)
    rows = [_stacked(r.kind, length) for r in results[1 + count :]]
    return site.node([*controls, *carried], [_graph_attr("body", graph)], [*kinds, *rows])


def _is_true(b: GraphBackend, value: GraphValue) -> bool:
    array = b.constant_value(value)
    return array is not None and array.size == 1 and bool(array.item())


def _carried(site: _Body, n: int, a: OnnxType | None, b: OnnxType | None) -> OnnxType | None:
    """The type of a carried value before and after an iteration; what changes is unknown."""
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        if a.dtype is not None and b.dtype is not None and a.dtype is not b.dtype:
            site.wrong_result(
                "body",
                f"{b.dtype.name} as carried value {n}",
                f"{a.dtype.name}, as before the first iteration",
                "cast it, or start with the other type",
            )
        return TensorType(a.dtype, unify(a.shape, b.shape))
    return a


def _forget(b: GraphBackend, graph: ir.Graph, mark: int) -> None:
    """Throw a graph away that was traced with types that turned out too narrow."""
    b.recorder.lose(list(graph), list(graph.inputs))
    b.recorder.names.rewind(mark)


def _length(b: GraphBackend, controls: Sequence[GraphValue | None], steady: bool) -> Shape:
    """The number of iterations, where nothing ends the loop early."""
    trips = controls[0]
    length = None if trips is None or not steady else b.dims_of(trips)
    return (None,) if length is None or len(length) != 1 else length


def _stacked(kind: OnnxType | None, length: Shape) -> OnnxType | None:
    if not isinstance(kind, TensorType):
        return None
    return TensorType(kind.dtype, None if kind.shape is None else (*length, *kind.shape))


# -- Scan ------------------------------------------------------------------------------------------


def _scan(
    site: _Body, inputs: Sequence[GraphValue | None], attributes: Mapping[str, object]
) -> tuple[GraphValue, ...]:
    body: Any = attributes["body"]
    values = [v for v in inputs if v is not None]
    ranks = [None if v.shape is None else len(v.shape) for v in values]
    layout = scan_layout(attributes, ranks, site.b.here())
    state, sequences, axes = values[: layout.states], values[layout.states :], layout.axes
    said = "each state, and one slice of each sequence"

    def run(*arguments: GraphValue) -> list[GraphValue]:
        returned = site.call("body", body, arguments, said)
        if len(returned) < len(state):
            site.wrong_result(
                "body",
                f"{len(returned)} values",
                f"at least {len(state)}: the state",
                "return (*state, *values to stack)",
            )
        likes = [*state, *[None] * len(returned)]
        return [site.value(r, like) for r, like in zip(returned, likes)]

    slices = [(f"slice_{n}", _without(s.kind, a)) for n, (s, a) in enumerate(zip(sequences, axes))]
    kinds = [v.kind for v in state]
    for _ in range(_ROUNDS):
        mark = site.b.recorder.names.mark()
        names = [(f"state_{n}", k) for n, k in enumerate(kinds)]
        graph, results = site.graph("body", [*names, *slices], run)
        wider = [_carried(site, n, k, r.kind) for n, (k, r) in enumerate(zip(kinds, results))]
        if wider == kinds:
            break
        kinds = wider
        _forget(site.b, graph, mark)
    rows = results[len(state) :]
    out_axes = per_value(attributes, "scan_output_axes", len(rows), site.b.here())
    for row, axis in zip(rows, out_axes, strict=True):
        rank = None if row.shape is None else len(row.shape) + 1
        check_axis("scan_output_axes", axis, rank, site.b.here())
    length = _scan_length(sequences, axes)
    types = [_with_axis(r.kind, a, length) for r, a in zip(rows, out_axes)]
    others = {k: v for k, v in attributes.items() if k != "body"}
    attrs = [_graph_attr("body", graph), *site.b.checked_attributes(site.op, others)]
    return site.node(inputs, attrs, [*kinds, *types])


def _without(kind: OnnxType | None, axis: int) -> OnnxType | None:
    if isinstance(kind, TensorType) and kind.shape:
        dims = list(kind.shape)
        del dims[axis]
        return TensorType(kind.dtype, tuple(dims))
    return kind


def _with_axis(kind: OnnxType | None, axis: int, length: Shape) -> OnnxType | None:
    if not isinstance(kind, TensorType) or kind.shape is None:
        return kind
    place = axis + len(kind.shape) + 1 if axis < 0 else axis
    return TensorType(kind.dtype, (*kind.shape[:place], *length, *kind.shape[place:]))


def _scan_length(sequences: Sequence[GraphValue], axes: Sequence[int]) -> Shape:
    for value, axis in zip(sequences, axes):
        if value.shape is not None and value.shape[axis] is not None:
            return (value.shape[axis],)
    return (None,)


# -- SequenceMap -----------------------------------------------------------------------------------


def _sequence_map(
    site: _Body, inputs: Sequence[GraphValue | None], body: Any
) -> tuple[GraphValue, ...]:
    values = [v for v in inputs if v is not None]
    kinds = [v.kind.elem if isinstance(v.kind, SequenceType) else v.kind for v in values]
    names = [(f"element_{n}", k) for n, k in enumerate(kinds)]

    def run(*arguments: GraphValue) -> list[GraphValue]:
        returned = site.call("body", body, arguments, "one element of each sequence")
        return [site.value(r) for r in returned]

    graph, results = site.graph("body", names, run)
    types = [SequenceType(_loose(r.kind)) for r in results]
    return site.node(inputs, [_graph_attr("body", graph)], types)


def _loose(kind: OnnxType | None) -> OnnxType | None:
    """The type that all elements have: each has a shape of its own."""
    return TensorType(kind.dtype) if isinstance(kind, TensorType) else kind
