"""Functions of the model that are not rewritten, and have variables that may be None.

Python answers `x is None` in them without a question at run time: they have to be rewritten.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import torch
from torch.utils import _pytree as pytree

from onnxwright.exporter.capture.source.errors import DisagreementError, words
from onnxwright.exporter.capture.source.expressions import RUNTIME
from onnxwright.exporter.capture.source.functions import MACHINERY, Site
from onnxwright.exporter.capture.source.optional_values import MaybeNone, plain, present_of
from onnxwright.exporter.capture.source.session import current
from onnxwright.exporter.capture.source.texts import Text
from onnxwright.exporter.places import STDLIB, TORCH

# Objects that are looked at in the variables of a function.
_MOST_HELD = 1000
_WITHOUT_PARTS = (torch.Tensor, str, bytes, bool, int, float, complex, type(None), torch.SymInt)
# It hands its arguments on to `forward`.
_PASSED = (f"{TORCH}/nn/modules/module.py",)


@contextmanager
def frames_with_optionals() -> Iterator[dict[CodeType, Site]]:
    """While it lasts, the functions that have a variable that may be None are collected."""
    found: dict[CodeType, Site] = {}
    known: dict[CodeType, bool] = {}

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event != "return":
            return
        code = frame.f_code
        if code not in known:
            known[code] = _may_ask(code)
        if known[code] and code not in found and _has_optional(frame.f_locals.values()):
            found[code] = Site.of(frame)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield found
    finally:
        sys.setprofile(before)


def _may_ask(code: CodeType) -> bool:
    """Whether a function is one of the model's that is not rewritten."""
    if RUNTIME in code.co_freevars or RUNTIME in code.co_cellvars or RUNTIME in code.co_varnames:
        return False
    file = code.co_filename
    own = "site-packages" in file or not file.startswith(STDLIB)
    return own and not file.startswith((*MACHINERY, *_PASSED))


def _has_optional(values: Iterable[Any]) -> bool:
    """Whether a value may be None, or one of several texts, or holds one that may.

    Objects are gone through breadth first, so that what a variable holds itself is found early.
    """
    queue, seen = deque(values), set[int]()
    while queue and len(seen) < _MOST_HELD:
        value = queue.popleft()
        if type(value) in (MaybeNone, Text):
            return True
        if isinstance(value, _WITHOUT_PARTS) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            queue.extend(value.values())
        elif isinstance(value, (tuple, list)):
            queue.extend(value)
        elif not isinstance(value, (type, FunctionType, ModuleType)):
            queue.extend(getattr(value, "__dict__", {}).values())
            names = getattr(type(value), "__slots__", ())
            held = (names,) if isinstance(names, str) else names
            queue.extend(getattr(value, name, None) for name in held)
    return False


@contextmanager
def results_checked(module: Any, wanted: bool) -> Iterator[None]:
    """While it lasts, results of a module that may be None are values, or errors of the model."""
    if not wanted or not isinstance(module, torch.nn.Module):
        yield
        return
    handle = module.register_forward_hook(lambda _, __, results: checked(results))
    try:
        yield
    finally:
        handle.remove()


def checked(results: Any) -> Any:
    """Results of which none may be None: the model raises an error where one is.

    Args:
        results: what a module gives.

    Raises:
        DisagreementError: a result is one of several texts.
    """

    def one(value: Any) -> Any:
        if isinstance(value, Text):
            raise DisagreementError("the result", "a text", "another text")
        if not isinstance(value, MaybeNone):
            return value
        session = current()
        if session is not None:
            session.absent.setdefault(value._ow_place)
        return pytree.tree_map(lambda leaf: _there(leaf, present_of(value)), checked(plain(value)))

    return pytree.tree_map(one, results, is_leaf=lambda v: isinstance(v, (MaybeNone, Text)))


def _there(leaf: Any, present: Any) -> Any:
    """A tensor; reading it is an error where it is not there."""
    if present is False or not isinstance(leaf, (torch.Tensor, int, float, torch.SymInt)):
        raise DisagreementError("the result", "`None`", words(leaf))
    if present is True:
        return leaf
    value = leaf if isinstance(leaf, torch.Tensor) else torch.scalar_tensor(leaf)
    place = torch.where(present, 0, 1)
    return torch.ops.aten.index.Tensor(value[None], [place])
