"""The functions of Python that run in a capture, with their decisions rewritten."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

import torch

from onnxwright.exporter.capture.control.convert import original
from onnxwright.exporter.capture.control.functions import bound
from onnxwright.exporter.capture.control.keeping import convert_calls
from onnxwright.exporter.capture.control.places import Place
from onnxwright.exporter.capture.control.store import Store, current
from onnxwright.exporter.capture.frontend.rewriting import rewritten
from onnxwright.exporter.capture.session.changes import Changes
from onnxwright.exporter.capture.session.errors import CannotRewriteError
from onnxwright.exporter.capture.session.model_lines import is_machinery
from onnxwright.exporter.capture.values.calls import asks
from onnxwright.exporter.capture.values.chosen_objects import refuse_write
from onnxwright.exporter.capture.values.one_of import OneOf
from onnxwright.exporter.capture.values.one_sided import refuse_class_write
from onnxwright.exporter.places import line_of


def _is_causal(mask: Any, is_causal: Any = None, size: Any = None) -> bool:
    """The answer for a mask that is not looked at: attention masks by it all the same."""
    return is_causal is True


EQUAL: dict[tuple[str, str], Any] = {
    (torch.nn.modules.transformer.__file__, "_detect_is_causal_mask"): _is_causal,
}
"""Functions that choose between equal results by values -> what answers without a look."""


@dataclass
class Rewritten:
    """Functions whose decisions are asked at run time, each rewritten when it is called first.

    Fields:
        codes: the identity of a code -> it, and the code that runs; None for code that stays.
        modules: the globals of the functions.
        reasons: why functions are not rewritten, by the identity of their code.
    """

    codes: dict[int, tuple[CodeType, CodeType | None]] = field(default_factory=dict)
    modules: dict[int, tuple[CodeType, dict[str, Any]]] = field(default_factory=dict)
    reasons: dict[int, CannotRewriteError] = field(default_factory=dict)

    def code_for(self, function: FunctionType) -> CodeType | None:
        """The code of a function with its decisions rewritten; None for one that stays as it is."""
        code = function.__code__
        entry = self.codes.get(id(code))
        if entry is not None:
            return entry[1]
        equal = EQUAL.get((code.co_filename, code.co_name))
        if equal is not None:
            self.codes[id(code)] = code, equal.__code__
        elif not _may_decide(code):
            self.codes[id(code)] = code, None
        else:
            try:
                self._rewrite(code, function.__globals__)
            except CannotRewriteError as reason:
                self.codes[id(code)], self.reasons[id(code)] = (code, None), reason
        return self.codes[id(code)][1]

    def reason_for(self, code: CodeType) -> CannotRewriteError | None:
        """Why a function is not rewritten; None where it is, or has not been called."""
        return self.reasons.get(id(original(code)))

    def check_plain(self, *, has_choices: bool) -> None:
        """Refuse a function that asks which of several objects it has, and is not rewritten.

        Args:
            has_choices: whether a variable has one of several constants, functions or modules.

        Raises:
            CannotRewriteError: there is one.
        """
        for key, reason in self.reasons.items() if has_choices else ():
            code = self.codes[key][0]
            if asks(code):
                reason.span = reason.span or line_of(code.co_filename, code.co_firstlineno)
                raise reason

    def names_of(self, places: Collection[tuple[str, int]]) -> list[str]:
        """The functions that have some lines, in the order of their first calls.

        Args:
            places: files and lines.
        """
        return [
            f"{code.co_name} ({code.co_filename}:{code.co_firstlineno})"
            for code, module in self.modules.values()
            if any(file == code.co_filename and _has_line(code, line) for file, line in places)
        ]

    def _rewrite(self, code: CodeType, module: dict[str, Any]) -> None:
        new = _once(code, module)
        self.codes[id(code)], self.modules[id(code)] = (code, new), (code, module)

    def run_rewritten(self, changes: Changes, _: Any) -> None:
        """Let functions that are called run with their decisions rewritten.

        Args:
            changes: undo it; they are made with torch's lock.
        """
        store = current()
        if store is None:
            store = Store(writes_buffers=True)
            convert_calls(changes, store)
        changes.attribute(store, "code_for", self.code_for)
        changes.attribute(store, "on_write", _refuse_write)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let functions that are called inside the block run with their decisions rewritten."""
        changes = Changes()
        try:
            self.run_rewritten(changes, None)
            yield
        finally:
            changes.undo()


def _refuse_write(place: Place) -> None:
    """Refuse a write after which no value of a decision would be the one that Python has."""
    refuse_write(place.owner)
    refuse_class_write(place.owner, place.name)


# Code -> it, and its code with decisions rewritten in their first form.
_REWRITTEN: dict[int, tuple[CodeType, CodeType]] = {}


def _once(code: CodeType, module: dict[str, Any]) -> CodeType:
    """The code of a function with its decisions rewritten, once per process."""
    if id(code) not in _REWRITTEN:
        _REWRITTEN[id(code)] = code, rewritten(code, module)
    return _REWRITTEN[id(code)][1]


def last_line(code: CodeType) -> int:
    """The last line of a function, with those defined in it."""
    inner = [last_line(c) for c in code.co_consts if isinstance(c, CodeType)]
    return max([line for *_, line in code.co_lines() if line is not None] + inner)


def _has_line(code: CodeType, line: int) -> bool:
    return code.co_firstlineno <= line <= last_line(code)


def _may_decide(code: CodeType) -> bool:
    """Whether code is of the model's Python, not of what calls its modules or traces it."""
    return not is_machinery(code.co_filename)


# -- hooks of modules: where one gives None, PyTorch goes on with what the hook was given ----------
# PyTorch asks that itself, so a hook that gives None on one side of a decision is refused.


def decide_hooks(changes: Changes, model: Any) -> None:
    """Let hooks run with their decisions, and give one kind of value.

    Args:
        changes: undo it.
        model: has the hooks.
    """
    for module in model.modules() if isinstance(model, torch.nn.Module) else ():
        for hooks in (module._forward_pre_hooks, module._forward_hooks):
            for key, hook in hooks.items():
                hooks[key] = _with_one_result(hook)
                changes.later(functools.partial(_put_back, hooks, key, hook))


def _put_back(hooks: dict[int, Any], key: int, hook: Any) -> None:
    if key in hooks:
        hooks[key] = hook


def _with_one_result(hook: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(hook)
    def run(*args: Any) -> Any:
        hook_result = bound(hook)(*args)
        if isinstance(hook_result, OneOf):
            code = getattr(hook, "__code__", None)
            raise CannotRewriteError(
                "a hook that gives None, or another kind of value, on one side",
                None if code is None else line_of(code.co_filename, code.co_firstlineno),
                "give its argument back: `return args`, or `return result`, on the other side",
            )
        return hook_result

    return run
