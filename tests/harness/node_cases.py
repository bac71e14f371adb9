"""The backend node tests of the installed onnx."""

from __future__ import annotations

from onnxwright.testing.node_cases import node_cases

__all__ = ["node_cases"]
