"""Changes of a finished model: extract a part, compose two, fix dimensions, rename, set weights."""

from onnxwright.model_tools.composing import compose
from onnxwright.model_tools.extracting import extract
from onnxwright.model_tools.removing_metadata import remove_metadata
from onnxwright.model_tools.renaming import rename
from onnxwright.model_tools.setting_shapes import set_shapes
from onnxwright.model_tools.weights import (
    initializers_to_inputs,
    inputs_to_initializers,
    set_initializer,
)

__all__ = [
    "compose",
    "extract",
    "initializers_to_inputs",
    "inputs_to_initializers",
    "remove_metadata",
    "rename",
    "set_initializer",
    "set_shapes",
]
