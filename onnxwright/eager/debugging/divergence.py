"""`first_divergence(a, b, inputs)`: where two models or functions first compute something else.

Values are paired by name, else by the Python line that made them, in the order of `a`.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from onnxwright.diagnostics.origins import Sources
from onnxwright.diagnostics.span import source_line
from onnxwright.diagnostics.text import clean
from onnxwright.eager.debugging.bound_inputs import read_model
from onnxwright.eager.debugging.debugger import NodeRecord, run_opened
from onnxwright.eager.debugging.tracing import trace
from onnxwright.eager.debugging.value_stats import facts_of
from onnxwright.eager.tensor import Tensor
from onnxwright.eager.values import Array, show_value
from onnxwright.ir.loading import is_source
from onnxwright.types.roles import Script


@dataclass(frozen=True)
class Made:
    """A value of one of the two, and what it is known by.

    Fields:
        name: the name of the variable or of the value in the model.
        place: `file:line` of the Python line that made it; empty where that is not known.
        value: the value.
        result: which result it is; None for a value on the way there.
        op: the operator that made it, in a model.
        source: the line itself, where it is read.
    """

    name: str
    place: str
    value: Any
    result: int | None = None
    op: str = ""
    source: str = ""

    @property
    def in_model(self) -> bool:
        """Whether it is a value of a model, not of a Python function."""
        return bool(self.op)


@dataclass(frozen=True)
class Divergence:
    """The first pair of values that differ.

    Fields:
        name: the name in `a`.
        other_name: the name in `b`.
        place: the Python line, where one is known.
        a, b: the values.
        reason: what differs: the type, the shape, or by how much and where.
        compared: how many pairs were equal before.
        source: the line itself, where it is read.
    """

    name: str
    other_name: str
    place: str
    a: Any
    b: Any
    reason: str
    compared: int
    source: str = ""

    def __str__(self) -> str:
        names = f"`{clean(self.name)}`"
        if self.other_name != self.name:
            names += f" and `{clean(self.other_name)}`"
        lines = [f"{names} differ: {clean(self.reason)}"]
        if self.place:
            lines.append(f"  made at {clean(self.place)}  {clean(self.source)}".rstrip())
        lines.append(f"  a: {_summary(self.a)}")
        lines.append(f"  b: {_summary(self.b)}")
        lines.append(f"  {self.compared} pairs before them agree")
        return "\n".join(lines)


def _summary(value: Any) -> str:
    facts = facts_of(value)
    array = value.value if isinstance(value, Tensor) else value
    if not isinstance(array, np.ndarray) or facts.low is None:
        return facts.type
    text = np.array2string(array, threshold=8, edgeitems=3, precision=6).replace("\n", " ")
    return f"{facts.type} min {facts.low:.6g} max {facts.high:.6g} mean {facts.mean:.6g}: {text}"


def first_divergence(
    a: Any,
    b: Any,
    inputs: Mapping[str, Any] | Sequence[Any] = (),
    *,
    rtol: float = 1e-4,
    atol: float = 1e-6,
    sources: Sources = None,
) -> Divergence | None:
    """Run two models or functions on the same inputs and find where their values first part.

    Args:
        a: a model of any kind (see `ow.load`), a script, or a Python function.
        b: the other one.
        inputs: the inputs by name, or in order.
        rtol: how much values may differ, relative to those of `b`.
        atol: how much values may differ besides.
        sources: Python files, or folders of them, whose lines are shown where a model names them.

    Returns:
        The first pair that differs, by the order of `a`; None where nothing does.

    Raises:
        ModelTypeError: one of the two is none of these (OW752).
        EagerError: one of the two cannot be run.

    Example:
        >>> from onnxwright.opset import opset18 as op
        >>> def one(x):
        ...     y = op.Mul(x, x)
        ...     return op.Sqrt(y)
        >>> def two(x):
        ...     y = op.Mul(x, 3.0)
        ...     return op.Sqrt(y)
        >>> difference = first_divergence(one, two, [np.array([2.0], np.float32)])
        >>> difference.name, difference.a, difference.b
        ('y', array([4.], dtype=float32), array([6.], dtype=float32))
    """
    ours, theirs = _run(a, inputs, sources), _run(b, inputs, sources)
    for compared, (left, right) in enumerate(_pairs(ours, theirs)):
        reason = difference(left.value, right.value, rtol=rtol, atol=atol)
        if reason:
            placed = left if left.place else right
            return Divergence(
                left.name, right.name, placed.place, left.value, right.value, reason, compared,
                placed.source,
            )  # fmt: skip
    return None


def _run(target: Any, inputs: Mapping[str, Any] | Sequence[Any], sources: Sources) -> list[Made]:
    """Everything that a model or function makes, in order."""
    if callable(target) and (isinstance(target, Script) or not is_source(target)):
        return _run_function(target, inputs)
    proto, load = read_model(target)
    runs: list[Made] = []
    places: dict[str, tuple[str, str, str]] = {}
    results = [o.name for o in proto.graph.output]

    def note(record: NodeRecord, value: Any) -> None:
        if record.op == "Constant":  # their names and number say nothing
            return
        place = ""
        if record.origin is not None:
            place = f"{record.origin.file}:{record.origin.line}"
        if record.path or record.output not in results:
            runs.append(Made(record.output, place, value, None, record.op, record.source))
        else:
            places[record.output] = place, record.op, record.source

    run = run_opened(proto, load, inputs, on_value=note, sources=sources)
    # An input, an initializer or a constant may be a result as well: no node reports those.
    for position, name in enumerate(results):
        if name in run.outputs:
            place, op, source = places.get(name, ("", "Identity", ""))
            runs.append(Made(name, place, run.outputs[name], position, op, source))
    return runs


def _run_function(
    target: Callable[..., Any], inputs: Mapping[str, Any] | Sequence[Any]
) -> list[Made]:
    if isinstance(inputs, Mapping):
        seen = trace(target, keep=True, **inputs)
    else:
        seen = trace(target, *inputs, keep=True)
    runs = []
    for line in seen:
        value = line.value.value if isinstance(line.value, Tensor) else line.value
        returned = re.fullmatch(r"return(?:\[(\d+)\])?", line.name) if line.depth == 0 else None
        result = int(returned[1] or 0) if returned is not None else None
        text = (source_line(line.file, line.line) or "").strip()
        runs.append(Made(line.name, f"{line.file}:{line.line}", value, result, "", text))
    return runs


def _pairs(ours: Sequence[Made], theirs: Sequence[Made]) -> list[tuple[Made, Made]]:
    """Values that match, in the order of `ours`, then the results.

    Values that are not results are paired by name; else by the name without the number that a model
    adds to it, on the same line; else, in two models, by line and operator.  Names in a model may
    be generated: there a value of another type is something else.
    """
    strict = any(m.in_model for m in (*ours, *theirs))
    tables: list[dict[Any, deque[Made]]] = [defaultdict(deque) for _ in _KEYS]
    for theirs_now in theirs:
        if theirs_now.result is None:
            kind = _kind(theirs_now.value) if strict else ""
            for table, key in zip(tables, _KEYS, strict=True):
                table[key(theirs_now), kind].append(theirs_now)
    used: set[int] = set()
    pairs = []
    for theirs_now in ours:
        if theirs_now.result is not None:
            continue
        kind = _kind(theirs_now.value) if strict else ""
        for table, key in zip(tables, _KEYS, strict=True):
            key_now = key(theirs_now)
            partner = None if key_now is None else _next(table.get((key_now, kind)), used)
            if partner is not None:
                used.add(id(partner))
                pairs.append((theirs_now, partner))
                break
    return pairs + _result_pairs(ours, theirs)


def _result_pairs(ours: Sequence[Made], theirs: Sequence[Made]) -> list[tuple[Made, Made]]:
    """Results by position; by name where one of two models has only some of the other's."""
    left, right = ([m for m in side if m.result is not None] for side in (ours, theirs))
    names = sorted(({m.name for m in side} for side in (left, right)), key=len)
    models = all(m.in_model for m in (*left, *right))
    if models and len(left) != len(right) and names[0] <= names[1]:
        named = {record.name: record for record in right}
        return [(record, named[record.name]) for record in left if record.name in named]
    placed = {record.result: record for record in right}
    return [(record, placed[record.result]) for record in left if record.result in placed]


def _base_and_place(record: Made) -> Any:
    return (re.sub(r"_\d+$", "", record.name), _short(record.place)) if record.place else None


def _place_and_op(record: Made) -> Any:
    return (_short(record.place), record.op) if record.place and record.op else None


_KEYS: tuple[Callable[[Made], Any], ...] = (lambda m: m.name, _base_and_place, _place_and_op)


def _next(candidates: deque[Made] | None, used: set[int]) -> Made | None:
    """The first that is not used yet; those before it are taken out."""
    while candidates:
        first = candidates.popleft()
        if id(first) not in used:
            return first
    return None


def _kind(value: Any) -> str:
    return show_value(value) if isinstance(value, np.ndarray) else type(value).__name__


def _short(place: str) -> str:
    """A place by the name of its file: models keep no folders."""
    return re.split(r"[/\\\\]", place)[-1]


def difference(a: Any, b: Any, *, rtol: float, atol: float) -> str:
    """What differs between two values.

    Args:
        rtol: how much they may differ, relative to `b`.
        atol: how much they may differ besides.

    Returns:
        The difference as text; empty if the two agree.

    Example:
        >>> difference(np.array([1.0, 2.0]), np.array([1.0, 4.0]), rtol=0, atol=0)
        '1 of 2 elements differ, most at [1]: 2.0 against 4.0'
    """
    if isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            return f"sequences of {len(a)} and {len(b)}"
        differences = (difference(x, y, rtol=rtol, atol=atol) for x, y in zip(a, b, strict=True))
        return next((f"[{n}]: {text}" for n, text in enumerate(differences) if text), "")
    a, b = (v.value if isinstance(v, Tensor) else v for v in (a, b))
    if isinstance(a, np.ndarray) != isinstance(b, np.ndarray):
        if a is None or b is None:
            return f"{show_value(a)} against {show_value(b)}"
        a, b = np.asarray(a), np.asarray(b)
        return _elements(a, b, rtol, atol) if a.shape == b.shape else f"{a.shape} and {b.shape}"
    if not isinstance(a, np.ndarray):
        same = a == b or (isinstance(a, float) and isinstance(b, float) and isnan(a) and isnan(b))
        return "" if same else f"{a!r} against {b!r}"
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{show_value(a)} against {show_value(b)}"
    return _elements(a, b, rtol, atol)


def _elements(a: Array, b: Array, rtol: float, atol: float) -> str:
    if a.dtype == object:
        wrong = np.asarray(a != b)
        distance = wrong.astype(float)
    else:
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        x, y = a.astype(wide), b.astype(wide)
        with np.errstate(all="ignore"):
            wrong = ~np.isclose(x, y, rtol=rtol, atol=atol, equal_nan=True)
            distance = np.where(wrong, np.nan_to_num(np.abs(x - y), nan=np.inf), 0.0)
    if not np.any(wrong):
        return ""
    at = np.unravel_index(int(np.argmax(distance)), a.shape) if a.ndim else ()
    where = f" at [{', '.join(str(int(i)) for i in at)}]" if at else ""
    count = f"{int(np.sum(wrong))} of {a.size} elements differ, most"
    return f"{count}{where}: {a[at]} against {b[at]}"
