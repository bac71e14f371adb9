"""What authors write with: `@script`, types, opsets, and functions that know how to become ONNX."""

from onnxwright.dsl.function import OnnxFunction, ScriptFunction
from onnxwright.dsl.script import graph, script

__all__ = ["OnnxFunction", "ScriptFunction", "graph", "script"]
