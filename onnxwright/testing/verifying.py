"""Two models run on the same random inputs, at two sizes, without the runtime's optimizations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from onnxwright.errors import OnnxwrightError
from onnxwright.ir.adapters import from_type_proto
from onnxwright.ir.loading import open_light, open_model
from onnxwright.testing.plain_sessions import PlainSession
from onnxwright.types import dims
from onnxwright.types.kinds import TensorType

SIZES = (2, 5)
_TOLERANCE = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-6}


def first_difference(
    a: Any,
    b: Any,
    *,
    exact: bool = False,
    sizes: tuple[int, ...] = SIZES,
    seed: int = 0,
    feeds: Sequence[Mapping[str, Any]] | None = None,
) -> str | None:
    """What two models compute differently on random inputs.

    Args:
        a, b: models of any kind; they take the same inputs, which may have other names in `b`.
        exact: compare bits; otherwise results may differ by their rounding.
        sizes: the value of each named dimension, run by run.
        seed: what the inputs are drawn from.
        feeds: arrays by the names of the inputs, run by run, instead of random ones.

    Returns:
        The first difference as text; None where there is none.

    Raises:
        ValueError: an input is not a tensor that can be drawn, or `a` runs at none of the sizes.

    Example:
        >>> import onnx
        >>> text = '<ir_version: 10, opset_import: ["" : 20]> g (float[N] x) => (float[N] y)'
        >>> one = onnx.parser.parse_model(text + "{ y = Neg(x) }")
        >>> first_difference(one, one) is None
        True
        >>> first_difference(one, onnx.parser.parse_model(text + "{ y = Abs(x) }"))
        'output `y` at size 2: 0.1257 instead of -0.1257 at [0]'
    """
    one = _interface(a)
    runs: list[tuple[str, Mapping[str, Any]]]
    if feeds is None:
        runs = [(f"size {n}", drawn(one, n, np.random.default_rng(seed))) for n in sizes]
    else:
        runs = [(f"run {n}", given) for n, given in enumerate(feeds)]
    # One model after the other: a session may hold gigabytes of weights.
    wanted = _outputs(a, [given for _, given in runs])
    kept = [n for n, found in enumerate(wanted) if found is not None]
    if not kept:
        raise ValueError("the first model does not run on these inputs")
    mine, theirs = _inputs(one), _inputs(_interface(b))
    if len(mine) != len(theirs):
        return f"the second model has {len(theirs)} inputs instead of {len(mine)}"
    names = dict(zip(mine, theirs, strict=True))
    given = [{names.get(k, k): v for k, v in runs[n][1].items()} for n in kept]
    got = _outputs(b, given)
    for n, found in zip(kept, got, strict=True):
        label, expected = runs[n][0], wanted[n]
        if found is None:
            return f"the second model does not run at {label}"
        for info, x, y in zip(one.graph.output, expected or (), found, strict=True):
            different = _words(x, y, exact)
            if different is not None:
                return f"output `{info.name}` at {label}: {different}"
    return None


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


def _outputs(model: Any, feeds: Sequence[Mapping[str, Any]]) -> list[list[Any] | None]:
    """The outputs of a model for each feed; None where it does not run."""
    try:
        session = PlainSession(model)
    except OnnxwrightError:
        raise
    except Exception:  # noqa: BLE001 - the runtime raises many kinds
        return [None] * len(feeds)
    found: list[list[Any] | None] = []
    for given in feeds:
        try:
            found.append(session.run(given))
        except Exception:  # noqa: BLE001 - as above
            found.append(None)
    return found


def drawn(model: onnx.ModelProto, size: int, rng: np.random.Generator) -> dict[str, Any]:
    """Random inputs of a model.

    Args:
        model: the model.
        size: the value of each named dimension.
        rng: a numpy random generator.

    Returns:
        An array for each input that has no default.

    Raises:
        ValueError: an input is not a tensor that can be drawn.
    """
    held = {i.name for i in model.graph.initializer}
    feeds: dict[str, Any] = {}
    for info in model.graph.input:
        if info.name in held:
            continue
        kind = from_type_proto(info.type)
        if not isinstance(kind, TensorType) or kind.dtype is None or kind.shape is None:
            raise ValueError(f"the input `{info.name}` is not a tensor of known type")
        feeds[info.name] = _array(kind, size, rng)
    return feeds


def _array(kind: TensorType, size: int, rng: np.random.Generator) -> Any:
    assert kind.shape is not None
    assert kind.dtype is not None
    shape = [_extent(d, size) for d in kind.shape]
    dtype = kind.dtype.numpy
    if dtype.kind == "b":
        return np.ones(shape, dtype)
    if dtype.kind in "iu":
        return rng.integers(0, 2, size=shape).astype(dtype)
    return rng.normal(size=shape).astype(dtype)


def _extent(d: Any, size: int) -> int:
    if isinstance(d, int):
        return d
    values: Mapping[str, int] = {} if d is None else dict.fromkeys(dims.names_in(d), size)
    found = None if d is None else dims.evaluate(d, values)
    return size if found is None else found


def _words(a: Any, b: Any, exact: bool) -> str | None:
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return None if repr(a) == repr(b) else "another sequence"
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


__all__ = ["SIZES", "drawn", "first_difference"]
