"""Why a captured program differs from its module: switches of PyTorch that a module asks about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import torch

from onnxwright.exporter.capture.replacements.changes import applied
from onnxwright.exporter.capture.replacements.torch_state import in_onnx_export


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
