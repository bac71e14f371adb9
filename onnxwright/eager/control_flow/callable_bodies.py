"""If, Loop, Scan and SequenceMap whose bodies are Python callables: Python's own `if` and `for`.

A body that is a GraphProto goes to the evaluator like any other attribute.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import eager as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.eager.arrays import as_array
from onnxwright.eager.tensor import Tensor, wrap
from onnxwright.eager.values import MapValue, SequenceValue, show_value
from onnxwright.opset.op import Op
from onnxwright.semantics.scan_layout import check_axis, per_value, scan_layout
from onnxwright.tracing.control_flow import is_callable

_BODIES = ("then_branch", "else_branch", "body")


def run(
    op: Op,
    inputs: Sequence[Any],
    attributes: Mapping[str, Any],
    outputs: int,
) -> tuple[Any, ...] | None:
    """Run a control-flow operator whose bodies are callables.

    Args:
        attributes: its attributes; a body is a callable, or a GraphProto.
        outputs: how many outputs are wanted; 1 also means "as many as the body gives".

    Returns:
        The outputs; None where the bodies are graphs.

    Raises:
        EagerTypeError: a body cannot be called so, or gives something else.
        EagerValueError: an input is impossible.
    """
    bodies = [attributes[name] for name in _BODIES if name in attributes]
    if not any(is_callable(body) for body in bodies):
        return None
    if op.name == "If":
        return _if(op, inputs, attributes)
    if op.name == "Loop":
        return _loop(op, inputs, attributes, outputs)
    if op.name == "Scan":
        return _scan(op, inputs, attributes)
    return _sequence_map(op, inputs, attributes)


def _call(op: Op, attribute: str, body: Any, arguments: Sequence[Any], names: str) -> list[Any]:
    """The results of a body as values."""
    _check_call(op, attribute, body, len(arguments), names)
    returned = body(*arguments)
    if isinstance(returned, (tuple, list)) and not isinstance(returned, SequenceValue):
        results = list(returned)
    else:
        results = [] if returned is None else [returned]
    return [_as_result(op, attribute, r) for r in results]


def _check_call(op: Op, attribute: str, body: Any, count: int, names: str) -> None:
    if not is_callable(body):
        fail(
            messages.WrongBodyCall(
                op=op.name,
                attribute=attribute,
                arguments="Python values",
                takes="only graph values: it is a GraphProto",
                advice="give all bodies as callables, or all as graphs",
            )
        )
    try:
        signature = inspect.signature(body)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*range(count))
    except TypeError:
        fail(
            messages.WrongBodyCall(
                op=op.name,
                attribute=attribute,
                arguments=f"{count} argument{'s' * (count != 1)} ({names})",
                takes=str(signature),
                advice="give the function one parameter for each",
            )
        )


def _as_result(op: Op, attribute: str, value: Any) -> Any:
    if isinstance(value, (Tensor, SequenceValue, MapValue)) or value is None:
        return value
    try:
        return wrap(as_array(value))
    except TypeError:
        _wrong_result(
            op,
            attribute,
            f"an object of type `{type(value).__name__}`",
            "tensors",
            "return tensors, numbers or arrays",
        )


def _wrong_result(op: Op, attribute: str, got: str, expected: str, advice: str) -> NoReturn:
    fail(
        messages.WrongBodyResult(
            op=op.name, attribute=attribute, got=got, expected=expected, advice=advice
        )
    )


def _bad(op: Op, reason: str, advice: str) -> NoReturn:
    fail(messages.BadLoopInput(op=op.name, reason=reason, advice=advice))


def _if(op: Op, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> tuple[Any, ...]:
    condition = inputs[0]
    if condition.size != 1:
        _bad(
            op,
            f"the condition is {show_value(condition)}",
            "the condition is one BOOL; reduce it first",
        )
    name = "then_branch" if bool(condition) else "else_branch"
    return tuple(_call(op, name, attributes[name], (), "If gives its branches none"))


def _loop(
    op: Op, inputs: Sequence[Any], attributes: Mapping[str, Any], outputs: int
) -> tuple[Any, ...]:
    """Loop(trip count, condition, *carried): body(iteration, condition, *carried)."""
    body = attributes["body"]
    trips = inputs[0] if inputs else None
    going = inputs[1] if len(inputs) > 1 else None
    carried = list(inputs[2:])
    count = len(carried)
    limit = None if trips is None else operator.index(trips)
    condition = wrap(np.array(True)) if going is None else going
    names = "iteration, condition, and each carried value"
    scanned: list[list[Any]] | None = None
    step = 0
    while bool(condition) and (limit is None or step < limit):
        iteration = wrap(np.array(step, np.int64))
        results = _call(op, "body", body, (iteration, condition, *carried), names)
        if len(results) < 1 + count:
            _wrong_result(
                op,
                "body",
                f"{len(results)} values",
                f"at least {1 + count}: the condition and {count} carried",
                "return (condition, *carried, *values to stack)",
            )
        condition, carried = results[0], results[1 : 1 + count]
        if condition is None:
            condition = wrap(np.array(True))
        scanned = _with_rows(op, scanned, results[1 + count :])
        step += 1
    if scanned is None and outputs > count:
        return (*carried, *_never_stacked(op, body, (condition, *carried), outputs - count))
    return (*carried, *(_stack(op, column) for column in scanned or ()))


def _never_stacked(op: Op, body: Any, carried: Sequence[Any], columns: int) -> tuple[Any, ...]:
    """What a loop without iterations stacks: no rows, of the type one iteration would give."""
    try:
        results = body(wrap(np.array(0, np.int64)), *carried)
        rows = [_as_result(op, "body", r) for r in results[len(carried) :]]
    except Exception:  # noqa: BLE001 - the iteration was not meant to happen
        rows = []
    rows += [wrap(np.zeros((), np.float32))] * (columns - len(rows))
    return tuple(wrap(np.zeros((0, *r.value.shape), r.value.dtype)) for r in rows)


def _with_rows(op: Op, columns: list[list[Any]] | None, rows: list[Any]) -> list[list[Any]]:
    """The values to stack, with those of one more iteration; None before the first."""
    if columns is None:
        columns = [[] for _ in rows]
    if len(rows) != len(columns):
        _wrong_result(
            op,
            "body",
            f"{len(rows)} values to stack",
            f"{len(columns)}, as in the first iteration",
            "return the same number of values each time",
        )
    for column, row in zip(columns, rows, strict=True):
        column.append(row)
    return columns


def _stack(op: Op, rows: Sequence[Any], axis: int = 0) -> Tensor:
    """The values of all iterations as one tensor."""
    arrays = [row.value for row in rows]
    if any(a.shape != arrays[0].shape or a.dtype != arrays[0].dtype for a in arrays):
        kinds = ", ".join(dict.fromkeys(show_value(a) for a in arrays))
        _wrong_result(
            op,
            "body",
            f"values of different types to stack: {kinds}",
            "one type and shape in all iterations",
            "give the value one type and shape, or collect it in a sequence",
        )
    return wrap(np.stack(arrays, axis=axis))


def _scan(op: Op, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> tuple[Any, ...]:
    """Scan(*state, *sequences): body(*state, *slices)."""
    if op.since_version < 9:
        _bad(op, "Scan-8 has a batch axis", "use opset 9 or newer with a Python body")
    body = attributes["body"]
    ranks = [len(x.shape) if isinstance(x, Tensor) else None for x in inputs]
    layout = scan_layout(attributes, ranks, user_span())
    state, sequences = list(inputs[: layout.states]), list(inputs[layout.states :])
    length = _scan_length(op, sequences, layout.axes)
    names = "each state, and one slice of each sequence"
    columns: list[list[Any]] | None = None
    for step in range(length):
        slices = [
            wrap(np.take(s.value, length - 1 - step if back else step, axis=axis))
            for s, axis, back in zip(sequences, layout.axes, layout.backward, strict=True)
        ]
        results = _call(op, "body", body, (*state, *map(_arrayed, slices)), names)
        if len(results) < len(state):
            _wrong_result(
                op,
                "body",
                f"{len(results)} values",
                f"at least {len(state)}: the state",
                "return (*state, *values to stack)",
            )
        columns = _with_rows(op, columns, results[len(state) :])
        state = results[: len(state)]
    if columns is None:
        return tuple(state)
    out_axes = per_value(attributes, "scan_output_axes", len(columns), user_span())
    out_backward = per_value(attributes, "scan_output_directions", len(columns), user_span())
    for column, axis in zip(columns, out_axes, strict=True):
        check_axis("scan_output_axes", axis, column[0].value.ndim + 1, user_span())
    stacked = [
        _stack(op, column[::-1] if back else column, axis)
        for column, axis, back in zip(columns, out_axes, out_backward, strict=True)
    ]
    return (*state, *stacked)


def _arrayed(x: Tensor) -> Tensor:
    """A slice of a one-dimensional tensor is a numpy number: make it an array again."""
    return wrap(np.asarray(x.value)) if type(x.value) is not np.ndarray else x


def _scan_length(op: Op, sequences: Sequence[Any], axes: Sequence[int]) -> int:
    lengths = {s.shape[axis] for s, axis in zip(sequences, axes, strict=True)}
    if len(lengths) != 1:
        _bad(
            op,
            f"the sequences have the lengths {sorted(lengths)}",
            "all sequences need the same length along their axis",
        )
    return int(lengths.pop())


def _sequence_map(op: Op, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> tuple[Any, ...]:
    """SequenceMap(sequence, *others): body on the elements; other tensors are given whole."""
    body: Callable[..., Any] = attributes["body"]
    first = inputs[0]
    columns: list[SequenceValue] | None = None
    for n, element in enumerate(first):
        others = [x[n] if isinstance(x, SequenceValue) else x for x in inputs[1:]]
        results = _call(op, "body", body, (element, *others), "one element of each sequence")
        if columns is None:
            columns = [SequenceValue() for _ in results]
        for column, result in zip(columns, results, strict=True):
            column.append(result)
    return tuple(columns or [SequenceValue(elem=first.elem)])
