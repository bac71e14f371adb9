"""What Python knows of a condition, and a condition as a tensor."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, free_unbacked_symbols

from onnxwright.exporter.capture.assumptions.decisions import if_empty, recorded_now
from onnxwright.exporter.capture.graphs.regions import SYMBOLS, tracer
from onnxwright.exporter.capture.lists.ranges import Counted
from onnxwright.exporter.capture.session.number_forms import as_tensor
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.capture.values.logic import compared
from onnxwright.exporter.capture.values.one_of import OneOf, possible, unchanged
from onnxwright.exporter.capture.values.picking import where
from onnxwright.exporter.capture.values.rows import Rows
from onnxwright.exporter.torch_internals import modes_disabled, values_of_sizes


def decided(test: Any) -> bool | None:
    """The answer of Python to a test; None if it is known at run time only."""
    if isinstance(test, bool):
        return test
    if isinstance(test, OneOf):
        answers = set(_answers(test).values())
        return answers.pop() if len(answers) == 1 else None
    if isinstance(test, (Rows, Counted)):
        return None if _is_size(test.length) else decided(test.length > 0)
    if isinstance(test, torch.Tensor):
        t, session = tracer(), current()
        if session is None or t is None:
            return bool(test)
        proxy = t.tensor_tracker.get(test)
        if proxy is None:
            return bool(test)
        if test in session.numbers:
            answer = session.truths.answer(test)
            truths = set(map(bool, session.numbers.choices(test)))
            if answer is not None or len(truths) == 1:
                return truths.pop() if answer is None else answer
        if proxy.constant is not None:
            with modes_disabled(), torch._C.DisableTorchFunction():
                return bool(proxy.constant)
        return None
    if isinstance(test, SYMBOLS) and current() is not None and free_unbacked_symbols(test):
        try:
            return bool(test)
        except GuardOnDataDependentSymNode:
            return None
    return bool(test)


def _answers(one: OneOf) -> dict[int, bool | None]:
    """The answers for the candidates, by their numbers."""
    answers: dict[int, bool | None] = {}
    for n, item in possible(one).items():
        with unchanged(item):
            answers[n] = decided(item)
    return answers


def _is_size(length: Any) -> bool:
    """Whether a length follows from sizes of inputs: PyTorch takes these for 1 or more."""
    if current() is None or not isinstance(length, torch.SymInt) or free_unbacked_symbols(length):
        return False
    return bool(length.node.expr.free_symbols)


def is_number(value: Any) -> bool:
    """Whether a value is an integer or truth value of Python, or stands for a number of Python."""
    session = current()
    stands = session is not None and isinstance(value, torch.Tensor) and value in session.numbers
    return stands or isinstance(value, (int, torch.SymInt, torch.SymBool))


def is_truth(value: Any) -> bool:
    """Whether a value is one truth value: of Python, a symbolic one, or a tensor without axes."""
    return isinstance(value, (bool, torch.SymBool)) or (
        isinstance(value, torch.Tensor) and value.dtype == torch.bool and not value.ndim
    )


def as_truth(value: Any) -> Any:
    """A condition as a tensor of one truth value.

    Args:
        value: a tensor of one element, a number, or a symbolic one.

    Returns:
        A tensor without axes.
    """
    if isinstance(value, OneOf):
        answers = _answers(value)
        truths = {n: as_truth(value._ow_items[n]) if answer is None else answer
                  for n, answer in answers.items()}  # fmt: skip
        return as_tensor(where(value._ow_tag, truths))
    if isinstance(value, torch.Tensor):
        if value.ndim:
            value = value.reshape(())
        return value if value.dtype == torch.bool else value != 0
    if isinstance(value, (Rows, Counted)):
        if _is_size(value.length):
            return as_tensor(value.length) > 0
        return as_truth(value.length > 0)
    if isinstance(value, torch.SymBool) and if_empty(value.node) is not None:
        return _as_truth_of_size(value)
    if isinstance(value, torch.SymBool):
        truth, condition = as_tensor(value), value.node.expr
        return compared(truth, condition) if condition.free_symbols else truth
    if isinstance(value, SYMBOLS):
        return as_tensor(value) != 0
    return as_tensor(bool(value))


def kept_open(value: Any) -> Any:
    """A value; a condition that torch takes for a constant, as no size is 0 for it, as a tensor."""
    is_condition = isinstance(value, torch.SymBool) and current() is not None
    return as_truth(value) if is_condition and if_empty(value.node) is not None else value


def _as_truth_of_size(value: Any) -> torch.Tensor:
    """A condition that torch takes for a constant, as no size is 0 for it, by that size."""
    decision, recorded, session = if_empty(value.node), recorded_now(), current()
    assert decision is not None
    (symbol,) = decision.expression.free_symbols
    env = value.node.shape_env
    size = env.create_symintnode(symbol, hint=int(values_of_sizes(env)[symbol]))
    truth = as_tensor(size) >= 1
    if not value.node.expr:
        truth = truth.logical_not()
    if recorded is not None:
        recorded.remove(decision)
    if session is not None:
        session.numbers.add(truth, frozenset([False, True]))
    return truth
