"""Changes of torch's global state for the time of a capture: under one lock, undone at its end."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from onnxwright.exporter.capture.assumptions.specialization import forward_ad_unwound
from onnxwright.exporter.capture.patches.fakes import distribution_checks_disabled, fakes
from onnxwright.exporter.capture.patches.remainders import remainders_divided
from onnxwright.exporter.capture.patches.size_nodes import sizes_in_pairs
from onnxwright.exporter.capture.patches.stack_traces import user_frames
from onnxwright.exporter.capture.patches.static_caches import tokens_counted_by_tensors
from onnxwright.exporter.capture.patches.views import views_as_asked
from onnxwright.exporter.torch_lock import TORCH_LOCK


@contextmanager
def torch_patched() -> Iterator[None]:
    """Trace with our patches of torch; other threads that capture wait.

    Example:
        >>> import torch
        >>> with torch_patched():
        ...     torch.onnx.is_in_onnx_export()
        True
        >>> torch.onnx.is_in_onnx_export()
        False
    """
    with TORCH_LOCK, ExitStack() as stack:
        for change in (
            in_onnx_export,
            forward_ad_unwound,
            fakes,
            sizes_in_pairs,
            remainders_divided,
            views_as_asked,
            distribution_checks_disabled,
            user_frames,
            tokens_counted_by_tensors,
            warnings.catch_warnings,
        ):
            stack.enter_context(change())
        # Recurrent modules remember their own weights in attributes.
        warnings.filterwarnings("ignore", r".*\._flat_weights\[", UserWarning)
        yield


@contextmanager
def in_onnx_export() -> Iterator[None]:
    """While it lasts, `torch.onnx.is_in_onnx_export()` is True, as in `torch.onnx.export`."""
    flags, name = _export_flag()
    before = getattr(flags, name)
    setattr(flags, name, True)
    try:
        yield
    finally:
        setattr(flags, name, before)


def _export_flag() -> tuple[Any, str]:
    """The object and attribute that `torch.onnx.is_in_onnx_export` reads in this release."""
    try:
        from torch.onnx._internal.exporter import _flags

        if hasattr(_flags, "_is_onnx_exporting"):
            return _flags, "_is_onnx_exporting"
    except ImportError:
        pass
    try:
        from torch.onnx._internal.torchscript_exporter._globals import GLOBALS
    except ImportError:
        from torch.onnx._globals import GLOBALS
    return GLOBALS, "in_onnx_export"


@contextmanager
def in_onnx_export_for_dynamo() -> Iterator[None]:
    """The same for code that TorchDynamo traces: it answers the question from a table."""
    from torch._dynamo.variables import torch as tables

    answers: dict[Any, Any] = getattr(tables, "tracing_state_functions", dict)()
    question = torch.onnx.is_in_onnx_export
    before = answers.get(question)
    if before is None:
        yield
        return
    answers[question] = True
    try:
        yield
    finally:
        answers[question] = before
