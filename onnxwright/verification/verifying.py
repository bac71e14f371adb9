"""Two models run on the same inputs, at several sizes, without the runtime's optimizations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from onnxwright.diagnostics.catalogue.model_tools import BadModelArgument
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.shown_text import text_table
from onnxwright.diagnostics.text import clean
from onnxwright.errors import OnnxwrightError
from onnxwright.ir.loading import open_light, open_model
from onnxwright.ir.reading import first_line
from onnxwright.verification.input_uses import Graph
from onnxwright.verification.plain_sessions import PlainSession
from onnxwright.verification.valid_inputs import drawn

SIZES = (2, 5)
_LARGER = (16, 64, 224)  # tried where the model takes none of the others
_TOLERANCE = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-6}


@dataclass(frozen=True)
class OutputDifference:
    """How far one output of two models is apart.

    Fields:
        name: the output.
        largest: the largest absolute difference of all runs; None where it is not numbers.
        relative: the same over the largest number of the output.
        words: what differs, where that is more than rounding; else None.
    """

    name: str
    largest: float | None = 0.0
    relative: float | None = 0.0
    words: str | None = None


@dataclass(frozen=True)
class Verification:
    """What running two models on the same inputs gave.

    Fields:
        runs: the runs in which the first model ran, by what they are called.
        outputs: for each output the largest difference.
        trouble: why the second model could not be compared; else None.
    """

    runs: tuple[str, ...]
    outputs: tuple[OutputDifference, ...]
    trouble: str | None = None

    @property
    def difference(self) -> str | None:
        """The first difference as text; None where there is none beyond rounding."""
        if self.trouble is not None:
            return self.trouble
        return next((f"output `{o.name}` {o.words}" for o in self.outputs if o.words), None)

    def table(self) -> str:
        """The largest differences as a table."""
        head = ("output", "largest difference", "relative")
        rows = [(clean(o.name), _number(o.largest), _number(o.relative)) for o in self.outputs]
        return text_table(head, rows, right=head[1:])


def first_difference(
    a: Any,
    b: Any,
    *,
    exact: bool = False,
    sizes: tuple[int, ...] | None = None,
    seed: int = 0,
    feeds: Sequence[Mapping[str, Any]] | None = None,
) -> str | None:
    """What two models compute differently on random inputs that the first one can take.

    Args:
        a, b: models of any kind; they take the same inputs, which may have other names in `b`.
        exact: compare bits; otherwise results may differ by their rounding.
        sizes: the value of each named dimension, run by run; by default 2, 5, and a size of its
            own for each name, or larger ones where the model takes none of these.
        seed: what the inputs are drawn from.
        feeds: arrays by the names of the inputs, run by run, instead of random ones.

    Returns:
        The first difference as text; None where there is none.

    Raises:
        ModelToolError: an input is not a tensor that can be drawn, or `a` runs at none of the
            sizes (OW882).

    Example:
        >>> import onnx
        >>> text = '<ir_version: 10, opset_import: ["" : 20]> g (float[N] x) => (float[N] y)'
        >>> one = onnx.parser.parse_model(text + "{ y = Neg(x) }")
        >>> first_difference(one, one) is None
        True
        >>> first_difference(one, onnx.parser.parse_model(text + "{ y = Abs(x) }"))
        'output `y` at size 2: 0.1257 instead of -0.1257 at [0]'
    """
    return verify(a, b, exact=exact, sizes=sizes, seed=seed, feeds=feeds).difference


def verify(
    a: Any,
    b: Any,
    *,
    exact: bool = False,
    sizes: tuple[int, ...] | None = None,
    seed: int = 0,
    feeds: Sequence[Mapping[str, Any]] | None = None,
) -> Verification:
    """How far the outputs of two models are apart on random inputs that the first one can take.

    Args:
        a, b, exact, sizes, seed, feeds: as those of `first_difference`.

    Returns:
        The largest difference of each output.

    Raises:
        ModelToolError: an input is not a tensor that can be drawn, or `a` runs at none of the
            sizes (OW882).
    """
    one = _interface(a)
    # One model after the other: a session may hold gigabytes of weights.
    failures: list[str] = []
    runs = _runs_of(a, one, sizes, seed, feeds, failures)
    if not runs:
        reason = f": {failures[0]}" if failures else ""
        fail(BadModelArgument(
            argument="a", reason=f"the first model does not run on these inputs{reason}",
            advice="give inputs that it takes: `feeds=[{name: array}]`, or other `sizes`"
        ))  # fmt: skip
    labels = tuple(label for label, _, _ in runs)
    mine, theirs = _inputs(one), _inputs(_interface(b))
    if len(mine) != len(theirs):
        words = f"the second model has {len(theirs)} inputs instead of {len(mine)}"
        return Verification(labels, (), words)
    names = dict(zip(mine, theirs, strict=True))
    renamed = [{names.get(k, k): v for k, v in feed.items()} for _, feed, _ in runs]
    failures = []
    got = _outputs(b, renamed, failures)
    outputs = {info.name: OutputDifference(info.name) for info in one.graph.output}
    for (label, _, expected), actual in zip(runs, got, strict=True):
        if actual is None:
            words = f"the second model does not run at {label}: {failures[0]}"
            return Verification(labels, (), words)
        for (name, before), x, y in zip(outputs.items(), expected, actual, strict=True):
            outputs[name] = _apart(before, x, y, label, exact)
    return Verification(labels, tuple(outputs.values()))


def _runs_of(
    a: Any, one: onnx.ModelProto, sizes: tuple[int, ...] | None, seed: int,
    feeds: Sequence[Mapping[str, Any]] | None, failures: list[str],
) -> list[tuple[str, Mapping[str, Any], list[Any]]]:  # fmt: skip
    """The runs of the first model that work: what they are called, inputs and outputs."""
    if feeds is not None:
        return _working(a, [(f"run {n}", feed) for n, feed in enumerate(feeds)], failures)
    graph = Graph.of(one)
    some = [(f"size {n}", drawn(graph, n, _rng(seed))) for n in sizes or SIZES]
    if sizes is not None:
        return _working(a, some, failures)
    some.append(("sizes apart", drawn(graph, 3, _rng(seed), apart=True)))
    runs = _working(a, some, failures)
    for n in _LARGER:
        runs = runs or _working(a, [(f"size {n}", drawn(graph, n, _rng(seed)))], failures)
    return runs


def _working(
    a: Any, some: Sequence[tuple[str, Mapping[str, Any]]], failures: list[str]
) -> list[tuple[str, Mapping[str, Any], list[Any]]]:
    """Runs with their outputs, without those in which the model does not run."""
    outputs = _outputs(a, [feed for _, feed in some], failures)
    return [(*run, got) for run, got in zip(some, outputs, strict=True) if got is not None]


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def _apart(before: OutputDifference, x: Any, y: Any, label: str, exact: bool) -> OutputDifference:
    """What is known of an output, with one more run."""
    words = before.words
    if words is None:
        different = _words(x, y, exact)
        words = None if different is None else f"at {label}: {different}"
    largest, relative = _largest(x, y)
    if largest is None or before.largest is None:
        return OutputDifference(before.name, None, None, words)
    assert relative is not None
    assert before.relative is not None
    most = max(before.largest, largest), max(before.relative, relative)
    return OutputDifference(before.name, *most, words)


def _largest(x: Any, y: Any) -> tuple[float | None, float | None]:
    """The largest difference of two arrays of numbers, and that over the largest number."""
    if isinstance(x, (list, dict)) and type(x) is type(y) and len(x) == len(y):
        pairs = [_largest(one, other) for one, other in _items(x, y)]
        measured = [pair for pair in pairs if pair[0] is not None]
        if len(measured) < len(pairs) or not pairs:
            return None, None
        return max(pair[0] or 0.0 for pair in measured), max(pair[1] or 0.0 for pair in measured)
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray) or x.shape != y.shape:
        return None, None
    if x.dtype.kind not in "biufcV" or x.dtype != y.dtype:
        return None, None
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        one, other = x.astype(wide), y.astype(wide)
        gap = np.where((one == other) | (np.isnan(one) & np.isnan(other)), 0.0, abs(one - other))
        largest = float(np.nan_to_num(gap, nan=np.inf, posinf=np.inf).max(initial=0.0))
        scale = float(abs(one[np.isfinite(one)]).max(initial=0.0))
    return largest, largest / scale if scale else largest


def _items(x: Any, y: Any) -> list[tuple[Any, Any]]:
    """The items of two sequences or maps, in pairs; numbers and texts as arrays."""
    keys = x if isinstance(x, dict) else range(len(x))
    pairs = [(x[key], y.get(key) if isinstance(y, dict) else y[key]) for key in keys]
    return [(_as_array(one), _as_array(other)) for one, other in pairs]


def _as_array(value: Any) -> Any:
    """A number or text of a map as an array; its floats are FLOAT, which Python has no type for."""
    if isinstance(value, float):
        return np.asarray(value, np.float32)
    return np.asarray(value) if isinstance(value, (int, str, bytes)) else value


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _interface(model: Any) -> onnx.ModelProto:
    """A model as a proto whose weights are not read."""
    if isinstance(model, onnx.ModelProto):
        return model
    opened = open_light(model)[0] if isinstance(model, ir.Model) else open_model(model)
    assert isinstance(opened.proto, onnx.ModelProto)
    return opened.proto


def _inputs(model: onnx.ModelProto) -> list[str]:
    """The names of the inputs that a run must give."""
    held = {i.name for i in model.graph.initializer}
    return [i.name for i in model.graph.input if i.name not in held]


def _outputs(
    model: Any, feeds: Sequence[Mapping[str, Any]], failures: list[str]
) -> list[list[Any] | None]:
    """The outputs of a model for each feed; None where it does not run: `failures` get why."""
    try:
        session = PlainSession(model)
    except OnnxwrightError:
        raise
    except Exception as error:  # noqa: BLE001 - the runtime raises many kinds
        failures.append(first_line(error))
        return [None] * len(feeds)
    outputs: list[list[Any] | None] = []
    for feed in feeds:
        try:
            outputs.append(session.run(feed))
        except Exception as error:  # noqa: BLE001 - as above
            failures.append(first_line(error))
            outputs.append(None)
    return outputs


def _words(a: Any, b: Any, exact: bool) -> str | None:
    if isinstance(a, (list, dict)) and type(a) is type(b):
        if len(a) != len(b):
            return f"{len(b)} items instead of {len(a)}"
        if isinstance(a, dict) and isinstance(b, dict) and a.keys() != b.keys():
            return "other keys"
        places = a if isinstance(a, dict) else range(len(a))
        for place, pair in zip(places, _items(a, b), strict=True):
            words = _words(*pair, exact)
            if words is not None:
                return f"item {clean(str(place))}: {words}"
        return None
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return None if repr(a) == repr(b) else "another value"
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return f"{b.dtype}{list(b.shape)} instead of {a.dtype}{list(a.shape)}"
    floats = a.dtype.kind == "f"
    if exact or not floats:
        bad = a != b
        if floats:
            bad &= ~(np.isnan(a) & np.isnan(b))
    else:
        tolerance = _TOLERANCE.get(a.dtype.name, 1e-2)
        scale = np.abs(a[np.isfinite(a)]).max(initial=1.0)
        bad = ~np.isclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    if not bad.any():
        return None
    place = tuple(int(n[0]) for n in np.nonzero(bad)) if a.ndim else ()
    return f"{b[place]:.4g} instead of {a[place]:.4g}" + (f" at {list(place)}" if place else "")


__all__ = ["SIZES", "OutputDifference", "Verification", "drawn", "first_difference", "verify"]
