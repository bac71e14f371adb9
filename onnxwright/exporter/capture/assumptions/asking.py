"""Whose code asks for the truth of a condition on sizes, by the frames that run.

It is the user's, that of an operator of torch, or what converted code calls for a loop or a list.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch._guards import TracingContext
from torch.fx.experimental import symbolic_shapes
from torch.fx.experimental.sym_node import SymNode

from onnxwright.diagnostics.file_owners import Owner, owner_of, path_in_torch
from onnxwright.exporter.capture.assumptions.settled import is_settled
from onnxwright.exporter.capture.session import stand_ins
from onnxwright.exporter.places import is_of_user

# What calls the comparison of two numbers that Python of the user compares.
_COMPARING = ("__init__.py", "fx/experimental/sym_node.py")
# The files of torch between a decision of Python and torch's answer.
_ANSWERING = (*_COMPARING, "fx/experimental/symbolic_shapes.py")
# The others, those of wrappers and of what converted code calls.
_BETWEEN = {stand_ins.__file__}
# The files that rewritten code calls: all of these packages, and `values/one_of.py`.
_CAPTURE = str(Path(__file__).parent.parent) + os.sep
_PACKAGES = ("rewritten", "session", "frontend", "decisions", "loops", "lists", "graphs")
_REWRITTEN = (
    *(f"{_CAPTURE}{name}{os.sep}" for name in _PACKAGES),
    f"{_CAPTURE}values{os.sep}one_of.py",
)
# The files of it that decide for the user; its functions that ask for these and for rewritten code,
# and the one that asks whether a loop goes on.
_DECIDING = ("/deciding.py", "/operators.py", "/ordering.py", "/short_circuit.py",
             "/size_tests.py")  # fmt: skip
_ASKING = ("decided", "as_test")
_TEST_OF_LOOP = "going"
# What stands for `max` and `min`, and what calls it.
_FOR_PYTHON = (f"{_CAPTURE}lists{os.sep}ordering.py", f"{_CAPTURE}rewritten{os.sep}intrinsics.py")
# How functions of torch are called while they are followed (`torch_calls`), and what stands for
# `min`, `max` and attention.
_FOLLOWED = (
    "__torch_function__", "handle_torch_function", "_calls_below", "on_call", "_tensor_min_max",
    "_followed_attention",
)  # fmt: skip
# What Python asks of the layout of a tensor, and may decide by.
_LAYOUTS = (torch.Tensor.is_contiguous, torch.Tensor.stride)
# What interprets the user's code in a strict capture.
_STRICT = "_dynamo/"
# Files of code that is made from a text: by `exec`; by torch, sympy and the import of Python.
_EXEC = "<string>"
_GENERATED = ("<eval_with_key>", "<lambdifygenerated", "<frozen ", "<torch_package")


def sym_node_changed(name: str, wrapper: Callable[..., Any]) -> Callable[[], None]:
    """Give torch's symbolic numbers another method.

    Args:
        name: of the method.
        wrapper: the function in its place.

    Returns:
        What undoes it.
    """
    before = getattr(SymNode, name)
    undo_passed_over = passed_over(inspect.getfile(wrapper))
    setattr(SymNode, name, wrapper)

    def undo() -> None:
        setattr(SymNode, name, before)
        undo_passed_over()

    return undo


def passed_over(file: str) -> Callable[[], None]:
    """Let torch name the lines of guards by frames outside of a file, which calls what asks.

    Args:
        file: of this package.

    Returns:
        What undoes it.
    """
    # Torch takes the first frame that is of no file of its own.
    _BETWEEN.add(file)
    skipped = symbolic_shapes.uninteresting_files()
    was_skipped = file in skipped
    skipped.add(file)
    return lambda: None if was_skipped else skipped.discard(file)


def _is_between(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    if file in _BETWEEN or frame.f_code.co_name in _FOLLOWED:
        return True
    return path_in_torch(file) in _ANSWERING


def asks_settled(frame: FrameType | None) -> bool:
    """Whether the rest of the `and` or `or` that asks has one result for both answers.

    Args:
        frame: where torch is asked.
    """
    frame = _asking_frame(frame)
    return frame is not None and is_settled(frame)


def is_comparing(frame: FrameType | None) -> bool:
    """Whether Python compares two numbers, and not an operator of torch.

    Args:
        frame: what calls the comparison.
    """
    return frame is not None and path_in_torch(frame.f_code.co_filename) in _COMPARING


def asks_layout(frame: FrameType | None) -> bool:
    """Whether Python of the user asks for the layout of a tensor, and not an operator for its own.

    A mode of torch's functions is active in each capture: its frame knows what is called.

    Args:
        frame: where torch is asked.
    """
    while frame is not None and _is_between(frame):
        if frame.f_code.co_name == "__torch_function__":
            return frame.f_locals.get("func") in _LAYOUTS
        frame = frame.f_back
    return False


def is_of_iteration(frame: FrameType | None) -> bool:
    """Whether a loop or a list of rewritten code asks, which works for no iterations, too.

    What the user decides by a size is asked by `as_test` and `decided` for `if_` and operators.

    Args:
        frame: where torch is asked.
    """
    frame = _asking_frame(frame, rewritten=True)
    if frame is None:
        return False
    if frame.f_code.co_filename.startswith(_REWRITTEN):
        asks = frame.f_back if frame.f_code.co_name in _ASKING else frame
        file = "" if asks is None else asks.f_code.co_filename
        if file.startswith(_REWRITTEN) and not file.endswith(_DECIDING):
            return True
    frame = frame.f_back
    while frame is not None and frame.f_code.co_filename.startswith(_REWRITTEN):
        if frame.f_code.co_name == _TEST_OF_LOOP:
            return True
        frame = frame.f_back
    return False


def asking_line(frame: FrameType | None) -> tuple[str, int] | None:
    """The line that asks, if it is the user's; None for decisions within torch.

    Guards of a program that was captured before are code that torch generated: they have no file.

    Args:
        frame: where torch is asked.
    """
    frame = _asking_frame(frame)
    if frame is None:
        return None
    file, line = frame.f_code.co_filename, frame.f_lineno
    if file.startswith("<"):
        if symbolic_shapes.SYMPY_INTERP.keys() <= frame.f_globals.keys():
            return "", 0  # torch runs guards with the functions of sympy as globals
        return None if _is_generated(frame) else (file, line)
    if is_strict(file):
        # A strict capture interprets the user's code: that code has no frame of its own.
        stack = TracingContext.extract_stack()
        if not stack:
            return None
        file, line = stack[-1].filename, stack[-1].lineno or 1
    # Code of the user that `exec` made has this name, too.
    return (file, line) if file == _EXEC or is_of_user(file) else None


def extreme_line(frame: FrameType | None) -> tuple[str, int] | None:
    """The user's line that asks for the larger or the lesser of two sizes; None within torch.

    Args:
        frame: where torch is asked.
    """
    frame = _asking_frame(frame, rewritten=True)
    while frame is not None and owner_of(frame.f_code.co_filename) is Owner.ONNXWRIGHT:
        file = frame.f_code.co_filename
        if file.startswith(_REWRITTEN[0]) and file not in _FOR_PYTHON:
            return None
        frame = _asking_frame(frame.f_back, rewritten=True)
    return asking_line(frame)


def _asking_frame(frame: FrameType | None, *, rewritten: bool = False) -> FrameType | None:
    """The function that asks: not wrappers, and not torch's numbers.

    Args:
        frame: where torch is asked.
        rewritten: whether what rewritten code calls counts as a function that asks.
    """
    while frame is not None and (
        _is_between(frame) or (not rewritten and frame.f_code.co_filename.startswith(_REWRITTEN))
    ):
        frame = frame.f_back
    return frame


def deciding_line(
    frame: FrameType | None, *, by_operator: bool
) -> tuple[tuple[str, int] | None, tuple[str, int] | None]:
    """The line that decides by a size, also where it calls Python of torch that does.

    Functions of this package that stand for those of torch decide as these; others call operators
    of torch for the user.  What torch asks inside of an operator (`__torch_dispatch__`) is about
    the layout, the type and the shape of a result: the graph has the operator itself, whatever the
    answer.  A layer or a function of torch in Python decides as one of the user's does.

    Args:
        frame: where torch is asked.
        by_operator: whether an operator in C++ asks.

    Returns:
        The line of the user's, None for a question within an operator; and the line of torch that
        asked, None where the user's did.
    """
    direct = asking_line(frame)
    if direct is not None:
        return direct, None
    frame = _asking_frame(frame)
    owners = (Owner.TORCH,) if by_operator else (Owner.TORCH, Owner.ONNXWRIGHT)
    if frame is None or owner_of(frame.f_code.co_filename) not in owners:
        return None, None
    asked = frame.f_code.co_filename, frame.f_lineno
    while frame is not None and frame.f_code.co_name != "__torch_dispatch__":
        file = frame.f_code.co_filename
        if is_strict(file):
            return None, None
        if is_of_user(file):
            return (file, frame.f_lineno), asked
        frame = frame.f_back
    return None, None


def is_strict(file: str) -> bool:
    """Whether a file of torch interprets the user's code, in a strict capture.

    Args:
        file: the `co_filename` of a code object.
    """
    return (path_in_torch(file) or "").startswith(_STRICT)


def _is_generated(frame: FrameType) -> bool:
    """Whether code without a file is of torch, of sympy or of Python, not of a text of the user."""
    if frame.f_code.co_filename.startswith(_GENERATED):
        return True
    caller = frame.f_back
    if caller is not None and is_strict(caller.f_code.co_filename):
        return True  # the guards of a compiled function
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in ("torch", "sympy")
