"""Modules that `forward` imports, imported before a capture.

A module that is imported while PyTorch traces makes its constants of tensors without numbers.
"""

from __future__ import annotations

import contextlib
import dis
import importlib
from types import FunctionType

import torch

from onnxwright.exporter.places import is_of_user


def import_what_forward_imports(model: torch.nn.Module) -> None:
    """Import what the `forward` of the user's modules imports; what is missing is left out."""
    for kind in {type(module): None for module in model.modules()}:
        forward = getattr(kind, "forward", None)
        if isinstance(forward, FunctionType) and is_of_user(forward.__code__.co_filename):
            for name in _imported(forward):
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)


def _imported(function: FunctionType) -> list[str]:
    """The names of the modules that a function imports; not of relative imports."""
    instructions = list(dis.get_instructions(function))
    found = []
    for n, instruction in enumerate(instructions):
        if instruction.opname == "IMPORT_NAME" and instructions[n - 2].argval == 0:
            found.append(str(instruction.argval))
    return found
