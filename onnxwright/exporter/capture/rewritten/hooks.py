"""Hooks of modules: where one gives None, PyTorch goes on with what the hook was given.

PyTorch asks that itself, so a hook that gives None on one side of a decision is refused.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from onnxwright.exporter.capture.control.functions import bound
from onnxwright.exporter.capture.replacements.changes import Changes
from onnxwright.exporter.capture.session.errors import CannotRewriteError
from onnxwright.exporter.capture.values.one_of import OneOf
from onnxwright.exporter.places import line_of


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
        found = bound(hook)(*args)
        if isinstance(found, OneOf):
            code = getattr(hook, "__code__", None)
            raise CannotRewriteError(
                "a hook that gives None, or another kind of value, on one side",
                None if code is None else line_of(code.co_filename, code.co_firstlineno),
                "give its argument back: `return args`, or `return result`, on the other side",
            )
        return found

    return run
