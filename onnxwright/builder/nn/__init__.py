"""Modules that build graphs: the weights of a model with the code that uses them, as in PyTorch.

import onnxwright as ow
from onnxwright import FLOAT, nn
"""

from onnxwright.builder.nn.containers import ModuleList, Sequential
from onnxwright.builder.nn.module import Module
from onnxwright.builder.nn.parameter import Parameter

__all__ = ["Module", "ModuleList", "Parameter", "Sequential"]
