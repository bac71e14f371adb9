"""What bodies know of the runtime that a graph is written for."""

from __future__ import annotations

from onnxwright.atenlib.protocols import Op


def is_for_onnxruntime(op: Op) -> bool:
    """Whether what ONNX Runtime's CPU has no kernel for must be built from other operators.

    It is not where a model is exported with `target="any"`.

    Returns:
        True for eager runs and for graphs that ONNX Runtime runs.
    """
    return getattr(op.backend, "for_onnxruntime", False) is True
