"""Variables that are None or a value, which is known at run time only.

`best = None` before a loop and `best = x` on a side of a decision in it: the value goes on beside a
truth value that says whether it is there.  `best is None` asks that truth value.  Where there is no
value, its tensors hold zeros that nothing reads.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import torch

from onnxwright.exporter.capture.control.errors import CaptureStoppedError
from onnxwright.exporter.capture.source.errors import DisagreementError, words
from onnxwright.exporter.capture.values.logic import combined, negated
from onnxwright.exporter.capture.source.raising import refuse_handled
from onnxwright.exporter.capture.source.regions import SYMBOLS, Region
from onnxwright.exporter.capture.source.session import (
    asking_line,
    current,
    note_choice,
    refused_here,
)
from onnxwright.exporter.capture.source.state import Branch, State, result_of

Decide = Callable[[Any, Branch, Branch, State], bool]
"""`conditional.conditional`."""


class MaybeNone:
    """A value, or None.

    What Python does with it is done with the value: for None it would fail.

    Args:
        present: whether there is a value: a tensor of one truth value, or a bool.
        value: the value; where there is none, one of the same kind, or `UNSET`.
        decide: decides between two branches.
    """

    __slots__ = ("_ow_decide", "_ow_place", "_ow_present", "_ow_value")

    def __init__(self, present: Any, value: Any, decide: Decide) -> None:
        for name, held in (("present", present), ("value", value), ("decide", decide)):
            object.__setattr__(self, f"_ow_{name}", held)
        object.__setattr__(self, "_ow_place", asking_line())
        note_choice()
        session = current()
        if session is not None and isinstance(present, torch.Tensor):
            session.numbers.add(present)

    @classmethod
    def of(cls, present: Any, value: Any, decide: Decide) -> Any:
        """The value or None itself, where it is known which."""
        if isinstance(present, bool):
            return value if present else None
        return cls(present, value, decide)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of torch."""
        return called(func, args, kwargs or {})

    def __getattr__(self, name: str) -> Any:
        return getattr(needed(self, AttributeError), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(needed(self, AttributeError), name, value)

    def __getitem__(self, index: Any) -> Any:
        return needed(self)[needed(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        needed(self)[needed(index)] = value

    def __len__(self) -> int:
        return len(needed(self))

    def __iter__(self) -> Iterator[Any]:
        return iter(needed(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the value."""
        return needed(self)(*args, **kwargs)

    def __bool__(self) -> bool:
        raise CaptureStoppedError("whether a value is None is data-dependent")

    def __repr__(self) -> str:
        return f"None or {words(self._ow_value)}"

    def __eq__(self, other: object) -> Any:
        if other is None:
            return torch.logical_not(present_of(self))
        same = plain(self) == plain(other)
        present = present_of(self)
        if isinstance(same, bool):
            return present if same else False
        if isinstance(same, SYMBOLS):
            same = torch.scalar_tensor(same, dtype=torch.bool)
        is_one = isinstance(same, torch.Tensor) and not same.ndim
        return torch.logical_and(same, torch.as_tensor(present)) if is_one else same

    def __ne__(self, other: object) -> Any:
        same = self == other
        return not same if isinstance(same, bool) else torch.logical_not(same)

    __hash__ = object.__hash__


def _forwarded(function: Callable[..., Any], swapped: bool = False) -> Callable[..., Any]:
    def method(self: Any, *others: Any) -> Any:
        values = [needed(v) for v in (self, *others)]
        return function(*(values[::-1] if swapped else values))

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul",
              "and", "or", "xor", "lshift", "rshift"):  # fmt: skip
    _function = getattr(operator, f"__{_name}__")
    setattr(MaybeNone, f"__{_name}__", _forwarded(_function))
    setattr(MaybeNone, f"__r{_name}__", _forwarded(_function, swapped=True))
for _name in ("lt", "le", "gt", "ge", "neg", "pos", "abs", "invert", "contains"):
    setattr(MaybeNone, f"__{_name}__", _forwarded(getattr(operator, f"__{_name}__")))
for _function in (int, float, round):
    setattr(MaybeNone, f"__{_function.__name__}__", _forwarded(_function))


def plain(value: Any) -> Any:
    """The value of one that may be None; other values as they are."""
    return value._ow_value if isinstance(value, MaybeNone) else value


def needed(value: Any, error: type[Exception] = TypeError) -> Any:
    """The value of one that may be None, for what fails for None.

    Args:
        value: anything.
        error: what Python raises for None.

    Raises:
        CaughtError: the model catches that.
    """
    if isinstance(value, MaybeNone) and present_of(value) is not True:
        refuse_handled(error())
    return plain(value)


def certain(value: Any) -> Any:
    """A value, or None, where it is known which.

    Args:
        value: anything.

    Raises:
        DisagreementError: it may be either.
    """
    if not isinstance(value, MaybeNone):
        return value
    present = present_of(value)
    if not isinstance(present, bool):
        with refused_here():
            raise DisagreementError("the value", "`None`", words(plain(value)))
    return plain(value) if present else None


def by_presence(value: MaybeNone, there: Any, absent: Any) -> Any:
    """One of two results, by whether there is a value."""
    present = present_of(value)
    if isinstance(present, bool):
        return there if present else absent

    def either(then: Branch, orelse: Branch, state: State) -> None:
        value._ow_decide(present, then, orelse, state)

    return result_of(either, lambda: there, lambda: absent)


def present_of(value: Any) -> Any:
    """Whether there is a value: True, False, or a tensor of a truth value."""
    if not isinstance(value, MaybeNone):
        return value is not None
    session = current()
    known = None if session is None else session.truths.answer(value._ow_present)
    return value._ow_present if known is None else known


def settled(value: Any) -> Any:
    """What is supposed now to be a value, or to be None, as that."""
    if not isinstance(value, MaybeNone):
        return value
    present = present_of(value)
    return MaybeNone.of(present, value._ow_value, value._ow_decide)


def called(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The result of a function of torch of which an argument may be None.

    A decision between the calls with and without it; None may have a meaning, as for a mask.
    """
    found = first_of((args, kwargs))
    if found is None:
        return function(*args, **kwargs)

    def with_(value: Any) -> Any:
        given = replaced((args, kwargs), found, value)
        return function(*given[0], **given[1])

    present = present_of(found)
    if present is not True and present is not False and not works(lambda: with_(None)):
        return with_(needed(found))
    if present is True:
        return with_(found._ow_value)
    if present is False:
        return with_(None)

    def either(then: Branch, orelse: Branch, state: State) -> None:
        found._ow_decide(present, then, orelse, state)

    return result_of(either, lambda: with_(found._ow_value), lambda: with_(None))


def works(call: Callable[[], Any]) -> bool:
    """Whether a call with None is not an error."""
    try:
        with Region() as region:
            call()
            region.discard()
    except Exception:  # noqa: BLE001 - torch raises many kinds
        return False
    return True


def first_of(values: Any, kind: type = MaybeNone) -> Any:
    """The first value that may be None, in tuples, lists and dicts; None if there is none."""
    if isinstance(values, kind):
        return values
    if isinstance(values, dict):
        values = list(values.values())
    if type(values) in (tuple, list):
        for value in values:
            found = first_of(value, kind)
            if found is not None:
                return found
    return None


def replaced(values: Any, old: Any, new: Any) -> Any:
    """Tuples, lists and dicts with another value in the place of one."""
    if values is old:
        return new
    if isinstance(values, dict):
        return {key: replaced(value, old, new) for key, value in values.items()}
    if type(values) in (tuple, list):
        return type(values)(replaced(value, old, new) for value in values)
    return values


def is_none(value: Any) -> Any:
    """`value is None`."""
    present = present_of(value)
    return negated(present)


def truth_of(value: Any, truth: Callable[[Any], Any]) -> Any:
    """The truth of a value that may be None, as a tensor."""
    present = present_of(value)
    if present is False:
        return torch.full((), False)
    inner = truth(value._ow_value)
    if present is True:
        return inner
    return combined("and", present, inner)


def is_same(one: Any, two: Any) -> Any:
    """`one is two`, where either may be None."""
    if one is two:
        return True
    present = [present_of(one), present_of(two)]
    if plain(one) is not plain(two):
        # Both may be None.
        return torch.logical_not(torch.logical_or(*map(torch.as_tensor, present)))
    return torch.eq(*map(torch.as_tensor, present))
