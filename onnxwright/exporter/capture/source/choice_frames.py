"""Functions of the model that are not rewritten, and have one of several constants or functions.

Python answers `x is None`, `name in table` or `isinstance(layer, Linear)` in them without asking
at run time: they have to be rewritten.
"""

from __future__ import annotations

import dis
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import torch
from torch.utils import _pytree as pytree
from typing_extensions import Self

from onnxwright.diagnostics.file_owners import Owner, owner_of, path_in_torch
from onnxwright.exporter.capture.source.chosen_tensors import check_chosen_tensors
from onnxwright.exporter.capture.source.errors import DisagreementError, words
from onnxwright.exporter.capture.source.expressions import is_rewritten
from onnxwright.exporter.capture.source.functions import Site
from onnxwright.exporter.capture.source.machinery import is_machinery
from onnxwright.exporter.capture.source.one_of import OneOf
from onnxwright.exporter.capture.source.optional_values import MaybeNone, plain, present_of
from onnxwright.exporter.capture.source.regions import tracer
from onnxwright.exporter.capture.source.session import Session, current
from onnxwright.exporter.capture.source.texts import Text

# Objects that are looked at in the variables of a function.
_MOST_HELD = 1000
_WITHOUT_PARTS = (torch.Tensor, str, bytes, bool, int, float, complex, type(None), torch.SymInt)
_CHOICES = (MaybeNone, OneOf, Text)
# It hands its arguments on to `forward`.
_PASSED = "nn/modules/module.py"


class ChoiceFrames:
    """While it lasts, functions are found that have one of several constants or functions.

    Nothing is watched before the session makes the first of these.

    Args:
        session: the session.

    Fields:
        found: the functions that are not rewritten and have one in a variable, or get it from a
            function that they call.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.found: dict[CodeType, Site] = {}
        self._known: dict[CodeType, bool] = {}
        self._watching = False
        self._before: Any = None

    def __enter__(self) -> Self:
        self.session.on_choice = self._start
        return self

    def __exit__(self, *_: object) -> None:
        self.session.on_choice = None
        if self._watching:
            sys.setprofile(self._before)

    def _start(self) -> None:
        self.session.on_choice = None
        self._watching = True
        self._before = sys.getprofile()
        sys.setprofile(self._watch)

    def _watch(self, frame: FrameType, event: str, result: Any) -> None:
        if event != "return":
            return
        if self._asks(frame.f_code) and _has_choice(frame.f_locals.values()):
            self.found[frame.f_code] = Site.of(frame)
        if isinstance(result, _CHOICES):
            caller = frame.f_back
            if caller is not None and self._asks(caller.f_code):
                self.found[caller.f_code] = Site.of(caller)

    def _asks(self, code: CodeType) -> bool:
        """Whether a function is to be looked at: one of the model's that is not found yet."""
        if code not in self._known:
            self._known[code] = _may_ask(code)
        return self._known[code] and code not in self.found


def _may_ask(code: CodeType) -> bool:
    """Whether a function is one of the model's that is not rewritten."""
    if is_rewritten(code):
        return False
    file = code.co_filename
    if owner_of(file) is Owner.PYTHON or is_machinery(file):
        return False
    return path_in_torch(file) != _PASSED


def _has_choice(values: Iterable[Any]) -> bool:
    """Whether a value is one of several, as None or a tensor, texts, functions, or holds one.

    Objects are gone through breadth first, so that what a variable holds itself is found early.
    """
    queue, seen = deque(values), set[int]()
    while queue and len(seen) < _MOST_HELD:
        value = queue.popleft()
        if type(value) in _CHOICES:
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


def asks(code: CodeType) -> bool:
    """Whether a function has questions that Python answers wrongly for one of several objects.

    Comparisons are none of them: they give a truth value of run time.
    """
    if set(code.co_names) & {"isinstance", "hasattr", "getattr", "type", "get", "callable"}:
        return True
    return any(i.opname in ("IS_OP", "CONTAINS_OP") for i in dis.get_instructions(code))


@contextmanager
def results_checked(module: Any) -> Iterator[None]:
    """While it lasts, results of a module that may be None are values, or errors of the model."""
    if not isinstance(module, torch.nn.Module):
        yield
        return
    handle = module.register_forward_hook(_check, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


def _check(module: Any, args: Any, kwargs: Any, results: Any) -> Any:
    session, now = current(), tracer()
    if session is not None and now is not None:
        # The model gives the new values of its buffers and inputs, too.
        values = (*pytree.tree_leaves((results, args, kwargs)), *module.buffers())
        given = [now.tensor_tracker.get(v) for v in values if isinstance(v, torch.Tensor)]
        nodes = {n: proxy.proxy.node for n, proxy in enumerate(given) if proxy is not None}
        check_chosen_tensors(now.graph.nodes, nodes)
    return checked(results) if session is not None and session.has_choices else None


def checked(results: Any) -> Any:
    """Results of which none may be None: the model raises an error where one is.

    Args:
        results: what a module gives.

    Raises:
        DisagreementError: a result is one of several texts or functions.
    """

    def one(value: Any) -> Any:
        if isinstance(value, Text):
            raise DisagreementError("the result", "a text", "another text")
        if isinstance(value, OneOf):
            one, other = (words(item) for item in value._ow_items[:2])
            raise DisagreementError("the result", one, other)
        if not isinstance(value, MaybeNone):
            return value
        session = current()
        if session is not None:
            session.absent.setdefault(value._ow_place)
        return pytree.tree_map(lambda leaf: _there(leaf, present_of(value)), checked(plain(value)))

    return pytree.tree_map(one, results, is_leaf=lambda v: isinstance(v, _CHOICES))


def _there(leaf: Any, present: Any) -> Any:
    """A tensor; reading it is an error where it is not there."""
    if present is False or not isinstance(leaf, (torch.Tensor, int, float, torch.SymInt)):
        raise DisagreementError("the result", "`None`", words(leaf))
    if present is True:
        return leaf
    value = leaf if isinstance(leaf, torch.Tensor) else torch.scalar_tensor(leaf)
    place = torch.where(present, 0, 1)
    return torch.ops.aten.index.Tensor(value[None], [place])
