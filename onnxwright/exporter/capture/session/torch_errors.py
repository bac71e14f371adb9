"""What an error of a capture is about: the one module that reads the texts of PyTorch's errors."""

from __future__ import annotations

import re
import traceback
from types import FrameType

from torch.fx.experimental.symbolic_shapes import (
    GuardOnDataDependentSymNode,
    PendingUnbackedSymbolNotFound,
)

from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.exporter.capture.session.model_lines import is_frame_of_machinery

_NOT_FOUND = (KeyError, AttributeError)
# A symbol for a number that is not known, in a text.
_SYMBOL = re.compile(r"(zuf|u)[0-9]+")
_OF_VALUES = (
    "data-dependent", "GuardOnDataDependentSymNode", "passed to SymFloat.__format__",
    "unhashable type: non-nested SymInt", "unhashable type: SymFloat",
)  # fmt: skip
_OF_QUANTIZED = ("quantize", "Quantize", "quint8", "qint8", "qint32", "int_repr", "q_scale")


def reads_value(error: BaseException | None) -> BaseException | None:
    """The innermost error of a chain that says that Python read an unknown value, or None."""
    innermost = None
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if _is_about_values(error):
            innermost = error
        error = error.__cause__ or error.__context__
    return innermost


def _is_about_values(error: BaseException) -> bool:
    if isinstance(error, (GuardOnDataDependentSymNode, PendingUnbackedSymbolNotFound)):
        return True
    text = str(error)
    if isinstance(error, _NOT_FOUND) and _SYMBOL.search(text):
        return True  # a key or a name made of a number that is not known
    return any(sign in text for sign in _OF_VALUES)


def is_about_fixed_size(error: BaseException | None) -> bool:
    """Whether a capture failed as Python made a number of a size that is to be dynamic."""
    return error is not None and "specialized it to be a constant" in str(error)


def is_about_quantized(error: BaseException | None) -> bool:
    """Whether a quantized tensor is what PyTorch cannot capture."""
    return any(sign in str(error) for sign in _OF_QUANTIZED)


# What stands for values of run time in a capture, as Python's own errors name it.
_STAND_INS = re.compile(r"\b(FakeTensor|TensorBase|OneOf|_Method|SymInt|SymFloat|SymBool)\b")


def is_about_stand_in(error: BaseException | None) -> bool:
    """Whether Python says that it cannot do something with what stands for a value of run time."""
    kinds = (TypeError, AttributeError)
    return isinstance(error, kinds) and bool(_STAND_INS.search(str(error)))


# How Python asks an object for the number that it is.
_ASKING = (
    "__bool__", "__float__", "__hash__", "__index__", "__int__", "as_integer_ratio",
    "bit_length", "is_integer",
)  # fmt: skip


def asks_number(error: BaseException | None) -> bool:
    """Whether Python itself asks for a number that is not known, in a line of the model.

    Args:
        error: from `reads_value`.
    """
    if not isinstance(error, (GuardOnDataDependentSymNode, TypeError)):
        return False
    below: list[FrameType] = []
    for frame, _ in traceback.walk_tb(error.__traceback__):
        below = [*below, frame] if is_frame_of_machinery(frame) else []
    asked = [f for f in below if owner_of(f.f_code.co_filename) is not Owner.ONNXWRIGHT]
    return bool(asked) and asked[0].f_code.co_name in _ASKING


def lines_passed(error: BaseException | None) -> list[tuple[FrameType, int]]:
    """The frames of the model's Python that an error passed, with their lines."""
    if error is None:
        return []
    frames = list(traceback.walk_tb(error.__traceback__))[::-1]
    return [(f, line) for f, line in frames if not is_frame_of_machinery(f)]
