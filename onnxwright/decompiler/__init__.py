"""Models and functions back to Python: what is written compiles to the same model again."""

from onnxwright.decompiler.api import proto2python, to_script

__all__ = ["proto2python", "to_script"]
