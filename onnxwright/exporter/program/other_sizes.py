"""Inputs of other dynamic sizes than the given ones, for which a program was captured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch

from onnxwright.exporter.capture.assumptions.guard_text import named_sums
from onnxwright.exporter.capture.replacements.torch_state import in_onnx_export
from onnxwright.exporter.capture.session.changes import applied
from onnxwright.exporter.program.resizing import with_shapes
from onnxwright.exporter.torch_internals import pytree

# From the size of the given inputs to others, in the order in which they are tried.
_OTHERS: tuple[Callable[[int], int], ...] = (
    lambda n: n + 1,
    lambda n: 2 * n,
    lambda n: n + 2,
    lambda n: n - 1,
    lambda n: n // 2,
    lambda n: 3 * n,
)


def other_sizes(
    program: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    others: Sequence[Callable[[int], int]] = _OTHERS,
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The inputs with other dynamic sizes, for which the program was captured.

    Args:
        others: from the size of the given inputs to another one.

    Yields:
        Inputs of the module, for one size in one way after another; none where no size is dynamic.
    """
    flat = program.flat_inputs(tuple(args), dict(kwargs))
    fakes = [entry.node.meta.get("val") for entry, _ in program.user_inputs()]
    tensors = [
        (n, x, fake)
        for n, (x, fake) in enumerate(zip(flat, fakes, strict=True))
        if isinstance(x, torch.Tensor) and isinstance(fake, torch.Tensor)
    ]
    now = {
        size.node.expr: int(n)
        for _, x, fake in tensors
        for n, size in zip(x.shape, fake.shape, strict=True)
        if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol and n > 0
    }
    seen: list[dict[Any, int]] = [now]
    for other in others if now else ():
        chosen = {s: _within(other(n), program.sizes.ranges.get(str(s))) for s, n in now.items()}
        chosen = _with_sums(chosen, program.sizes.names)
        if chosen in seen or min(chosen.values()) < 1:
            continue
        seen.append(chosen)
        for inputs in _resized(program, flat, tensors, chosen):
            values = program.flat_inputs(*inputs)
            checked_values = [v if isinstance(v, (torch.Tensor, int)) else None for v in values]
            if not program.sizes.check(checked_values):
                yield inputs


def _with_sums(sizes: dict[Any, int], names: Mapping[str, str]) -> dict[Any, int]:
    """The sizes, where one that is called `past + length` is the sum of these two."""
    called = {s: names.get(str(s), str(s)) for s in sizes}
    sizes_by_name = {name: sizes[s] for s, name in called.items()}
    sums = named_sums(sizes_by_name)
    return sizes | {s: sums[name] for s, name in called.items() if name in sums}


def _within(size: int, bounds: tuple[int, int | None] | None) -> int:
    """The size of a range that is nearest."""
    low, high = bounds or (0, None)
    size = max(size, low)
    return size if high is None else min(size, high)


def _resized(
    program: Any, flat: list[Any], tensors: list[tuple[int, Any, Any]], sizes: dict[Any, int]
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The inputs with given sizes of torch's symbols."""
    shapes = {}
    for n, x, fake in tensors:
        new_shape = [
            size.node.expr.subs(sizes) if isinstance(size, torch.SymInt) else size
            for size in fake.shape
        ]
        shapes[n] = [
            int(new) if old != 0 and getattr(new, "is_number", True) else int(old)
            for old, new in zip(x.shape, new_shape, strict=True)
        ]
    spec = program.exported_program.call_spec.in_spec
    for values in with_shapes(flat, shapes):
        new_args, new_kwargs = pytree.tree_unflatten(values, spec)
        yield new_args, new_kwargs


# -- causes ----------------------------------------------------------------------------------------
# Why a captured program differs from its module: switches of PyTorch that a module asks about.


@contextmanager
def _no_fast_path() -> Iterator[None]:
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


@contextmanager
def _exporting() -> Iterator[None]:
    before = torch.compiler._is_exporting_flag
    torch.compiler._is_exporting_flag = True
    try:
        yield
    finally:
        torch.compiler._is_exporting_flag = before


@contextmanager
def _in_onnx_export() -> Iterator[None]:
    with applied([in_onnx_export]):
        yield


# The state in which a module is run again, and what it means if its results are the model's then.
_SWITCHED = "the module computes something else where `{}` is true, and the model is equal to that"
CAUSES: tuple[tuple[Callable[[], AbstractContextManager[None]], str], ...] = (
    (
        _no_fast_path,
        (
            "the module runs in PyTorch's fast path for attention, which has nested tensors and "
            "gives other values for padded rows; both are equal after "
            "`torch.backends.mha.set_fastpath_enabled(False)`"
        ),
    ),
    (_in_onnx_export, _SWITCHED.format("torch.onnx.is_in_onnx_export()")),
    (_exporting, _SWITCHED.format("torch.compiler.is_exporting()")),
)


def cause_of(agrees: Callable[[], bool]) -> str:
    """Which switch of PyTorch makes a module and its model differ.

    Args:
        agrees: runs the module again; whether its results are the model's.

    Returns:
        A clause for a message; empty if no known switch is the cause.
    """
    for switched, text in CAUSES:
        with switched():
            if agrees():
                return text
    return ""
