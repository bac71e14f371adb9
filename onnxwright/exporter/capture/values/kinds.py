"""`isinstance` and `type` of what stands for numbers, lists and one of several values of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from onnxwright.exporter.capture.session import stand_ins
from onnxwright.exporter.capture.session.errors import CannotRewriteError
from onnxwright.exporter.capture.session.session import current, refused_here
from onnxwright.exporter.capture.session.stand_ins import KINDS
from onnxwright.exporter.capture.values.one_of import each
from onnxwright.exporter.capture.values.rows import Rows


def is_of_type(value: Any, kinds: Any) -> Any:
    """`isinstance(value, kinds)`."""
    return each(_is_instance, value, kinds)


def is_tensor(function: Any, *args: Any, **options: Any) -> Any:
    """`torch.is_tensor(value)`: what stands for a number of Python is none."""
    if function is not torch.is_tensor or len(args) != 1 or options:
        return function(*args, **options)
    return is_of_type(args[0], torch.Tensor)


def type_(*args: Any, **options: Any) -> Any:
    """`type(value)`; of three arguments, a new class."""
    return each(_class_of, *args) if len(args) == 1 and not options else type(*args, **options)


def class_of(value: Any) -> Any:
    """`value.__class__`."""
    return each(
        lambda one: (
            _class_of(one)
            if _stands_for_other(one) or isinstance(one, (torch.Tensor, torch.nn.Module))
            else one.__class__
        ),
        value,
    )


def _class_of(value: Any) -> type:
    """The class of Python that a value has where the model runs."""
    if not _stands_for_other(value):
        return stand_ins.class_of(value)
    python_class: type = common(value, lambda kind: kind)
    return python_class


def _is_instance(value: Any, kinds: Any) -> bool:
    if not _stands_for_other(value) or (type(value) in KINDS and isinstance(value, kinds)):
        return isinstance(value, kinds)  # programs for a capture ask for `torch.SymInt`, too
    return bool(common(value, lambda kind: issubclass(kind, kinds)))


def _stands_for_other(value: Any) -> bool:
    """Whether a value is of another class where the model runs."""
    session = current()
    is_number_of_run_time = session is not None and (
        value in session.numbers or session.numbers.has_types(value)
    )
    return is_number_of_run_time or isinstance(value, Rows) or type(value) in KINDS


def common(value: Any, of_class: Callable[[type], Any]) -> Any:
    """What is so for all classes of Python that a value may be of where the model runs.

    Args:
        value: an object.
        of_class: is given each class.

    Raises:
        CannotRewriteError: it depends on the class, which a decision chose.
    """
    session = current()
    if isinstance(value, Rows):
        return of_class(list)
    if session is None:
        return of_class(KINDS.get(type(value), type(value)))
    types = session.numbers.types(value)
    answers = list(map(of_class, types))
    if any(one != answers[0] for one in answers):
        names = " or ".join(sorted(one.__name__ for one in types))
        with refused_here():
            raise CannotRewriteError(
                f"a question that depends on the type of a value, which is {names} by a decision,",
                advice="give it the same type on both sides: `2.0` in the place of `2`, "
                "`torch.tensor(2.0)` beside another tensor",
            )
    return answers[0]
