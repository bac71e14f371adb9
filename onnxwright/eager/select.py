"""What is in force: the evaluator of the moment, and the script that is running.

Both are context variables: threads and async tasks do not disturb each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from onnxwright.diagnostics.catalogue import eager as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.eager.evaluators import Evaluator
from onnxwright.eager.ort.evaluator import OrtEvaluator
from onnxwright.eager.reference import ReferenceEvaluator
from onnxwright.opset.opsets import DEFAULT_OPSET_VERSION, Opset

_NAMED: dict[str, Evaluator] = {}
_MAKERS = {"ort": OrtEvaluator, "reference": ReferenceEvaluator}
_chosen: ContextVar[Evaluator | None] = ContextVar("onnxwright_evaluator", default=None)
_default: Evaluator = OrtEvaluator()
_NAMED["ort"] = _default


@dataclass(frozen=True, slots=True)
class Frame:
    """A script that is running eagerly.

    Fields:
        opset: where its operators such as `+` come from.
        name: its name.
        version: the version of `opset`.
        backend: what `+` asks, where it is not the usual backend of `opset`.
    """

    opset: Opset
    name: str
    version: int
    backend: Any = None


TOP = Frame(Opset("", DEFAULT_OPSET_VERSION), "", DEFAULT_OPSET_VERSION)
_frame: ContextVar[Frame] = ContextVar("onnxwright_frame", default=TOP)
# NOTE: bound methods, called on every eager operation.
running = _frame.get
chosen_now = _chosen.get


def default_now() -> Evaluator:
    """The default evaluator, for the short paths."""
    return _default


def current() -> Evaluator:
    """The evaluator that runs an operator called now.

    Returns:
        The one of the innermost `with evaluator(...)`, else the default.
    """
    return chosen_now() or _default


def other_evaluator() -> Evaluator | None:
    """The evaluator of the moment, where models run on it node by node.

    Returns:
        None for ONNX Runtime, which runs a model as a whole.
    """
    chosen = current()
    return None if isinstance(chosen, OrtEvaluator) else chosen


def find_evaluator(which: Any) -> Evaluator:
    """An evaluator by name, or the object itself.

    Args:
        which: "ort", "reference", or an object with `run_op`.

    Returns:
        The evaluator; each name always gives the same one.

    Raises:
        EagerTypeError: it is not an evaluator.
    """
    if isinstance(which, str):
        name = _NAMED.get(which)
        if name is None and which in _MAKERS:
            name = _NAMED.setdefault(which, _MAKERS[which]())
        if name is not None:
            return name
        fail(messages.UnknownEvaluator(what=repr(which)))
    if not isinstance(which, type) and callable(getattr(which, "run_op", None)):
        chosen: Evaluator = which
        return chosen
    what = (
        f"the class `{which.__name__}` (make one of it)"
        if isinstance(which, type)
        else (f"an object of type `{type(which).__name__}`")
    )
    fail(messages.UnknownEvaluator(what=what))


@contextmanager
def evaluator(which: Any) -> Iterator[Evaluator]:
    """Run the operators called inside on another evaluator.

    Args:
        which: "ort", "reference", or an object with `run_op`.

    Yields:
        The evaluator.

    Raises:
        EagerTypeError: it is not an evaluator.

    Example:
        >>> import numpy as np
        >>> from onnxwright.opset import opset18 as op
        >>> with evaluator("reference"):
        ...     op.Add(np.ones(2, np.float32), 1.0)
        array([2., 2.], dtype=float32)
    """
    chosen = find_evaluator(which)
    token = _chosen.set(chosen)
    try:
        yield chosen
    finally:
        _chosen.reset(token)


def default_evaluator() -> Evaluator:
    """The evaluator of the process, used where no `with evaluator(...)` says otherwise.

    Returns:
        The evaluator; an `OrtEvaluator` unless it was set.

    Example:
        >>> default_evaluator().name
        'ONNX Runtime'
    """
    return _default


def set_default_evaluator(which: Any) -> Evaluator:
    """Choose the evaluator of the process, for all threads.

    Args:
        which: "ort", "reference", or an object with `run_op`.

    Returns:
        The one that was the default before.

    Raises:
        EagerTypeError: it is not an evaluator.

    Example:
        >>> before = set_default_evaluator("reference")
        >>> set_default_evaluator(before).name
        'onnx.reference'
    """
    global _default
    before, _default = _default, find_evaluator(which)
    return before


@contextmanager
def frame(opset: Opset, name: str, backend: Any = None) -> Iterator[Frame]:
    """A script runs inside: operators give tensors, and `+` comes from `opset`.

    Args:
        opset: the script's default opset.
        backend: what `+` asks, where it is not the usual backend of `opset`.
    """
    new = Frame(opset, name, opset.version, backend)
    token = _frame.set(new)
    try:
        yield new
    finally:
        _frame.reset(token)
