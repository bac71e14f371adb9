"""`GraphBuilder`, in the module whose stub has the operators of each opset for type checkers."""

from __future__ import annotations

from onnxwright.builder.graph_builder import GraphBuilder
from onnxwright.builder.parts import BuilderOps

__all__ = ["BuilderOps", "GraphBuilder"]
