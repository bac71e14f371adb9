"""`x[index] = value` for random indices: eager mode and traced models are what numpy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import onnxwright as ow
from onnxwright.eager.ort.compiled_models import CompiledModel
from onnxwright.errors import OnnxwrightError

NUMBER, SLICE, ARRAY, MASK = "number", "slice", "array", "mask"


@st.composite
def writes(draw: st.DrawFn) -> tuple[Any, ...]:
    """An array, an index, a value that fits mostly, and which parts are known when building."""
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=3)))
    x = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    index: list[Any] = []
    spread = draw(st.integers(1, 3))
    axes = draw(st.integers(0, len(shape)))
    whole_mask = draw(st.integers(0, 9)) == 0
    if whole_mask:
        index.append(np.asarray(draw(st.lists(st.booleans(), min_size=x.size, max_size=x.size)),
                                bool).reshape(shape))  # fmt: skip
    for axis in range(0 if whole_mask else axes):
        size = shape[axis]
        kind = draw(st.sampled_from((NUMBER, SLICE, SLICE, ARRAY, MASK)))
        if size == 0 or kind == SLICE:
            ends = st.none() | st.integers(-size - 2, size + 2)
            index.append(slice(draw(ends), draw(ends), draw(st.sampled_from((None, 1, 2, -1, -2)))))
        elif kind == NUMBER:
            index.append(draw(st.integers(-size, size - 1)))
        elif kind == ARRAY:
            # Two places that are the same are written in no order, so each is there once.
            places = draw(st.permutations(range(size)))[:spread]
            places = (places * spread)[:spread] if len(places) == 1 else places
            indices = np.array(places if len(places) == spread else places[:1], np.int64)
            index.append(indices - size if draw(st.booleans()) else indices)
        else:
            count = 1 if size < spread else spread
            mask = np.zeros(size, bool)
            mask[list(draw(st.permutations(range(size)))[:count])] = True
            index.append(mask)
    if draw(st.integers(0, 3)) == 0 and not whole_mask:
        index.insert(draw(st.integers(0, len(index))), Ellipsis)
    if draw(st.integers(0, 4)) == 0 and not whole_mask:
        index.insert(draw(st.integers(0, len(index))), None)
    single = len(index) == 1 and draw(st.booleans())
    chosen: Any = index[0] if single else tuple(index)
    constant_parts = tuple(draw(st.booleans()) for _ in index)
    return (
        x,
        chosen,
        draw(st.booleans()),
        constant_parts,
        draw(st.integers(0, 5)),
        draw(st.randoms()),
    )


def has_doubles(x: Any, index: Any) -> bool:
    """Whether an index selects one place twice, so that the order decides."""
    picked = np.arange(x.size).reshape(x.shape)[index]
    return bool(np.unique(picked).size != picked.size)


def value_for(part: tuple[int, ...], kind: int, random: Any) -> Any:
    """A number, an array of the shape of the part, or one that is broadcast to it."""
    if kind == 0:
        return -7.0
    shape = list(part)
    if kind in (1, 2):
        shape = [1 if random.random() < 0.5 else d for d in shape]
        shape = shape[random.randint(0, len(shape)) :]
    if kind == 3:
        shape = [1, *shape]
    if kind == 4 and shape:
        shape[random.randrange(len(shape))] += 1
    return -1 - np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def traced(x: Any, index: Any, value: Any, fixed: bool, constant_parts: tuple[bool, ...]) -> Any:
    """The model that a builder makes, run."""
    g = ow.GraphBuilder()
    feeds: dict[str, Any] = {"x": x}
    sizes = x.shape if fixed else tuple(f"d{n}" for n in range(x.ndim))
    held = g.input("x", ow.FLOAT[sizes])

    def as_input(part: Any) -> Any:
        if part is None or part is Ellipsis:
            return part
        if isinstance(part, slice):
            ends = (part.start, part.stop)
            return slice(*(e if e is None else as_input(e) for e in ends), part.step)
        array = np.asarray(part)
        name = f"i{len(feeds)}"
        feeds[name] = array
        kind = ow.BOOL if array.dtype == bool else ow.INT64
        return g.input(name, kind[tuple(array.shape if fixed else [f"{name}_{n}" for n in
                       range(array.ndim)])])  # fmt: skip

    parts = index if isinstance(index, tuple) else (index,)
    new = tuple(p if k else as_input(p) for p, k in zip(parts, constant_parts, strict=True))
    written: Any = value
    if isinstance(value, np.ndarray):
        feeds["value"] = value
        written = g.input("value", ow.FLOAT[value.shape if fixed else tuple(f"v{n}" for n in
                        range(value.ndim))])  # fmt: skip
    held[new if isinstance(index, tuple) else new[0]] = written
    g.output(held, "y")
    return CompiledModel(g.to_model_proto())(*feeds.values())


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(writes())
@pytest.mark.filterwarnings("ignore::onnxwright.errors.OnnxwrightWarning")
def test_random_writes_are_numpy(case: tuple[Any, ...]) -> None:
    """The same elements, or an error where numpy has one."""
    x, index, fixed, constant_parts, kind, random = case
    try:
        part = x[index].shape
    except IndexError:
        return  # arrays that do not go together: covered by the errors of reading
    if has_doubles(x, index):
        return
    value = value_for(part, kind, random)
    if part == () and np.ndim(value) and np.size(value) == 1:
        return  # numpy refuses arrays of one element for one element since 2.4
    expected: Any = x.copy()
    try:
        expected[index] = value
    except (ValueError, IndexError):
        expected = None
    except TypeError:
        return  # numpy takes no leading sizes of 1 for one mask, as it does for every other index
    held = ow.Tensor(x.copy())
    if expected is None:
        with pytest.raises((OnnxwrightError, ValueError, RuntimeError)):
            held[index] = value
        if x.size:  # sizes of nothing are not compared when a model runs
            with pytest.raises((OnnxwrightError, ValueError, RuntimeError)):
                traced(x, index, value, fixed, constant_parts)
        return
    held[index] = value
    np.testing.assert_array_equal(held.numpy(), expected)
    np.testing.assert_array_equal(traced(x, index, value, fixed, constant_parts), expected)
