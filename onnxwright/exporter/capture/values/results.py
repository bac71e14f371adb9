"""Results of a module that are one of several values."""

from __future__ import annotations

import dis
from types import CodeType
from typing import Any

import torch

from onnxwright.exporter.capture.number_forms import as_tensor
from onnxwright.exporter.capture.replacements.changes import Changes
from onnxwright.exporter.capture.session.errors import DisagreementError, words
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.capture.values.candidates import form_key, is_mutable
from onnxwright.exporter.capture.values.logic import is_number
from onnxwright.exporter.capture.values.numbers import stands_for_number
from onnxwright.exporter.capture.values.one_of import OneOf, by_parts, possible
from onnxwright.exporter.places import line_of
from onnxwright.exporter.torch_internals import pytree


def asks(code: CodeType) -> bool:
    """Whether a function has questions that Python answers wrongly for one of several objects.

    Comparisons are none of them: they give a truth value of run time.
    """
    if set(code.co_names) & {"isinstance", "hasattr", "getattr", "type", "get", "callable"}:
        return True
    return any(i.opname in ("IS_OP", "CONTAINS_OP") for i in dis.get_instructions(code))


def check_results(changes: Changes, module: Any) -> None:
    """Let results of a module that may be None be values, or errors of the model.

    Args:
        changes: undo it.
        module: the model; a function is left as it is.
    """
    if isinstance(module, torch.nn.Module):
        changes.later(module.register_forward_hook(_check, with_kwargs=True).remove)


def _check(module: Any, args: Any, kwargs: Any, results: Any) -> Any:
    session = current()
    return checked(results) if session is not None else None


def checked(results: Any) -> Any:
    """Results of which none may be None: the model raises an error where one is.

    Args:
        results: what a module gives.

    Raises:
        DisagreementError: a result is one of several values, and not only None or a tensor.
    """

    def one(value: Any) -> Any:
        if not isinstance(value, OneOf):
            is_float = stands_for_number(value) and value.is_floating_point()
            return value.to(torch.get_default_dtype()) if is_float else value
        items = possible(value)
        there = {n: item for n, item in items.items() if item is not None}
        if 1 < len(there) == len(items) and len({form_key(item) for item in there.values()}) == 1:
            if all(map(is_mutable, there.values())):
                return checked(by_parts(value, there))
        if len(there) != 1:
            first, other = (*map(words, there.values()), "`None`", "`None`")[:2]
            error = DisagreementError(value._ow_name, first, other)
            error.span, error.decision = line_of(*value._ow_line), value._ow_line
            raise error
        ((number, item),) = there.items()
        if len(items) == 1:
            return checked(item)
        session = current()
        assert session is not None
        session.absent.setdefault(value._ow_line)
        present = is_number(value._ow_tag, [number], items)
        return pytree.tree_map(lambda leaf: _there(leaf, present), checked(item))

    return pytree.tree_map(one, results, is_leaf=lambda v: isinstance(v, OneOf))


def _there(leaf: Any, present: Any) -> Any:
    """A tensor; reading it is an error where it is not there."""
    if not isinstance(leaf, (torch.Tensor, int, float, torch.SymInt)):
        raise DisagreementError("the result", "`None`", words(leaf))
    value = as_tensor(leaf)
    place = torch.where(present, 0, 1)
    return torch.ops.aten.index.Tensor(value[None], [place])
