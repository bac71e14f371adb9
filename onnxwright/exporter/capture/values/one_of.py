"""A value that is one of several, by reference: which of them is known when the model runs.

A `OneOf` has a tag, an integer of run time, and the candidates: None, texts, functions, modules,
members of enumerations, other objects, tensors of several ranks, containers of several structures.
Each kind of candidate has one number in a capture, so that two such values are joined without
counting anew.  What Python does with the value is done with each candidate: with one after the
other where they are constants, as a chain of decisions where they hold tensors.  A candidate for
which Python raises an error is left out, with a warning (OW900).
"""

from __future__ import annotations

import enum
import functools
import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import FunctionType
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from onnxwright.exporter.capture.control.functions import bound
from onnxwright.exporter.capture.control.handlers import refuse_handled
from onnxwright.exporter.capture.control.runtime import holder, items_of, noted, owner
from onnxwright.exporter.capture.graphs.regions import Region
from onnxwright.exporter.capture.session.errors import (
    CannotRewriteError,
    CaptureStoppedError,
    words,
)
from onnxwright.exporter.capture.session.model_lines import is_text_used, model_line
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.capture.values.candidates import (
    form_key,
    holds_tensors,
    is_constant,
    is_mutable,
    is_of_a_part,
    is_reference,
    is_same,
    is_truth_value,
    number_of,
)
from onnxwright.exporter.capture.values.logic import is_number, scope
from onnxwright.exporter.capture.values.parts import parts_of
from onnxwright.exporter.capture.values.picking import looked_up, picked_number, where
from onnxwright.exporter.capture.values.rows import Parts
from onnxwright.exporter.capture.values.sides import changes_nothing, side_of
from onnxwright.exporter.capture.values.state import Branch, State, result_of
from onnxwright.exporter.places import line_of

WHICH = " as one of several values"
"""What the tag of a value is called in the path of a leaf."""


class OneOf:
    """One of several values.

    Args:
        tag: which, a tensor of one integer; a number where that is known.
        items: the candidates by their numbers.
        name: what the user calls it.
    """

    __slots__ = ("_ow_items", "_ow_line", "_ow_name", "_ow_tag")

    def __init__(self, tag: Any, items: Mapping[int, Any], name: str = "the result") -> None:
        object.__setattr__(self, "_ow_tag", tag)
        object.__setattr__(self, "_ow_items", dict(items))
        object.__setattr__(self, "_ow_line", model_line())
        object.__setattr__(self, "_ow_name", name)
        session = current()
        if session is not None:
            session.has_choices = True

    @classmethod
    def of(cls, tag: Any, items: Mapping[int, Any], name: str = "the result") -> Any:
        """One of some candidates; the candidate itself where it is known which."""
        if isinstance(tag, int):
            return items[tag]
        return cls(tag, items, name) if len(items) > 1 else next(iter(items.values()))

    def _ow_parts(self) -> Parts:
        """The tag and the candidates that are not objects by reference, as those of a container."""
        items, name = self._ow_items, self._ow_name
        numbers = sorted(n for n in items if not is_reference(n))
        kept = {n: item for n, item in items.items() if is_reference(n)}
        values = [self._ow_tag, *(items[n] for n in numbers)]
        names = [WHICH, *map(part_name, numbers)]
        return names, values, lambda v: OneOf(v[0], {**kept, **dict(zip(numbers, v[1:]))}, name)

    @classmethod
    def __torch_function__(cls, *_: Any) -> Any:
        """Torch takes it as an argument: `calls.Candidates` calls the function."""
        return NotImplemented

    def __getattr__(self, name: str) -> Any:
        # Python and torch look for names of their own, as `__dict__`: none of a candidate is meant.
        is_special = name.startswith("__") and name not in ("__name__", "__qualname__", "__doc__")
        if is_special or name.startswith("_ow_"):
            raise AttributeError(name)
        if any(holder(item, name) is not item for item in possible(self).values()):
            return among(self, lambda item: getattr(holder(item, name), name))  # a property
        return over(self, lambda item: getattr(item, name), _Method(self, name))

    def __setattr__(self, name: str, value: Any) -> None:
        among(self, lambda item: setattr(owner(item, name), name, value))

    def __delattr__(self, name: str) -> None:
        among(self, lambda item: delattr(owner(item, name), name))

    def __setitem__(self, index: Any, value: Any) -> None:
        among(self, lambda item: operator.setitem(items_of(item), index, value))

    def __delitem__(self, index: Any) -> None:
        among(self, lambda item: operator.delitem(items_of(item), index))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the one that it is."""
        return among(self, lambda item: bound(item)(*args, **kwargs), callable)

    def __enter__(self) -> Any:
        return among(self, lambda item: bound(type(item).__enter__)(item))

    def __exit__(self, *error: object) -> Any:
        return among(self, lambda item: bound(type(item).__exit__)(item, *error))

    def __len__(self) -> int:
        length = over(self, len)
        if not isinstance(length, int):
            raise refused("`len`")
        return length

    def __iter__(self) -> Iterator[Any]:
        lengths = {len(item) for item in possible(self).values() if hasattr(item, "__len__")}
        if len(lengths) != 1:
            raise refused("a loop")
        return iter([over(self, operator.itemgetter(n)) for n in range(lengths.pop())])

    def __contains__(self, value: Any) -> bool:
        is_contained = over(self, lambda item: value in item)
        if not isinstance(is_contained, bool):
            raise refused("`in`")
        return is_contained

    def __bool__(self) -> bool:
        raise CaptureStoppedError("which of several values a variable has is data-dependent")

    def __hash__(self) -> int:
        raise refused("a key")

    def __repr__(self) -> str:
        if current() is not None and is_text_used(*model_line()):
            raise refused("a text")
        return " or ".join(map(words, self._ow_items.values()))

    def __eq__(self, other: object) -> Any:
        if self is other:
            return True
        if isinstance(other, OneOf):
            if all(map(is_constant, (*self._ow_items.values(), *other._ow_items.values()))):
                return _equal_tags(self, other)
        return over(self, lambda item: item == other)

    def __ne__(self, other: object) -> Any:
        same = self == other
        return not same if isinstance(same, bool) else torch.logical_not(same)


def _equal_tags(one: OneOf, other: OneOf) -> Any:
    """Whether two of the same constants are one."""
    if not set(one._ow_items) & set(other._ow_items):
        return False
    is_equal = one._ow_tag == other._ow_tag
    session = current()
    assert session is not None
    session.numbers.add(is_equal, frozenset([False, True]))
    return is_equal


def _operation(name: str, swapped: bool = False) -> Callable[..., Any]:
    function: Any = getattr(operator, f"__{name}__", None) or {"float": float, "round": round}[name]

    def method(*values: Any) -> Any:
        return each(function, *(values[::-1] if swapped else values))

    return method


def _in_place(name: str) -> Callable[..., Any]:
    function: Any = getattr(operator, f"__i{name}__")

    def method(self: OneOf, other: Any) -> Any:
        if not all(isinstance(v, torch.Tensor) or is_mutable(v) for v in possible(self).values()):
            return each(function, self, other)
        among(self, lambda item: function(noted(item), other))
        return self

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul",
              "and", "or", "xor", "lshift", "rshift"):  # fmt: skip
    setattr(OneOf, f"__i{_name}__", _in_place(_name))
    setattr(OneOf, f"__{_name}__", _operation(_name))
    setattr(OneOf, f"__r{_name}__", _operation(_name, swapped=True))
for _name in ("lt", "le", "gt", "ge", "neg", "pos", "abs", "invert", "getitem", "float", "round"):
    setattr(OneOf, f"__{_name}__", _operation(_name))


class _Method:
    """A method of one of several values."""

    def __init__(self, value: OneOf, name: str) -> None:
        self.value, self.name = value, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it of each candidate."""

        def call(item: Any) -> Any:
            return bound(getattr(item, self.name))(*args, **kwargs)

        constant = all(
            isinstance(item, (str, type(None))) for item in self.value._ow_items.values()
        )
        return over(self.value, call) if constant else among(self.value, call)


def part_name(number: int) -> str:
    """What a candidate is called in the path of a leaf."""
    return f" as candidate {number}"


def possible(one: OneOf) -> dict[int, Any]:
    """The candidates that a value may be by the decisions around the line, by their numbers."""
    session, numbers = current(), set(one._ow_items)
    if isinstance(one._ow_tag, int):
        numbers = {one._ow_tag}
    elif session is not None:
        numbers = session.truths.possible(one._ow_tag, numbers)
    return {n: item for n, item in one._ow_items.items() if n in numbers}


def settled(value: Any) -> Any:
    """A value of which is supposed now which it is as that; other values as they are."""
    if not isinstance(value, OneOf):
        return value
    items = possible(value)
    return value if len(items) == len(value._ow_items) else OneOf.of(value._ow_tag, items)


def each(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a function without side effects gives, of one of several values as of each of them."""

    def with_(key: int | str, item: Any) -> Any:
        if isinstance(key, str):
            return each(function, *args, **{**kwargs, key: item})
        return each(function, *args[:key], item, *args[key + 1 :], **kwargs)

    arguments: list[tuple[Any, Any]] = [*enumerate(args), *kwargs.items()]
    for key, value in arguments:
        if isinstance(value, OneOf):
            return over(value, functools.partial(with_, key))
    return function(*args, **kwargs)


def over(one: OneOf, function: Callable[[Any], Any], method: Any = None) -> Any:
    """What a function without side effects gives, joined from what it gives for each candidate.

    Args:
        one: the value.
        function: takes a candidate.
        method: what stands for results that are methods of the candidates.
    """
    items = possible(one)
    if len(items) > 1 and sum(map(holds_tensors, items.values())) > 1 and method is None:
        return among(one, function)
    results: dict[int, Any] = {}
    errors: dict[int, Exception] = {}
    for n, item in items.items():
        try:
            with scope(), nullcontext() if method is not None else unchanged(item):
                results[n] = function(item)
        except (CaptureStoppedError, GuardOnDataDependentSymNode):
            raise
        except Exception as error:  # noqa: BLE001 - whatever Python raises
            refuse_handled(error)
            errors[n] = error
    if errors:
        if not results:
            raise next(iter(errors.values()))
        leave_out(one, errors)
    if method is not None and len(results) > 1 and all(map(_is_method, results.values())):
        return method
    return joined(one, results)


def unchanged(value: Any) -> AbstractContextManager[None]:
    """Refuse what special methods of the user change: they run for each candidate."""
    others = (type, torch.nn.Module, torch.Tensor, enum.Enum, FunctionType)
    is_of_user = not isinstance(value, others) and hasattr(value, "__dict__")
    return changes_nothing(value) if is_of_user else nullcontext()


def leave_out(one: OneOf, errors: Mapping[int, Exception]) -> None:
    """Go on without the candidates for which Python raises an error at this line (OW900)."""
    session = current()
    if session is not None and errors:
        line = model_line()
        session.left_out.setdefault(line, type(next(iter(errors.values()))).__name__)
        session.truths.exclude(one._ow_tag, errors, one._ow_items)


def _is_method(value: Any) -> bool:
    return callable(value) and getattr(value, "__self__", None) is not None


def joined(one: OneOf, results: Mapping[int, Any]) -> Any:
    """One of several results, by the numbers of the candidates that they belong to."""
    values = list(results.values())
    if all(is_same(value, values[0]) for value in values):
        return values[0]
    if all(isinstance(value, bool) or is_truth_value(value) for value in values):
        return where(one._ow_tag, results)
    if all(
        isinstance(value, (int, float)) and not isinstance(value, enum.Enum) for value in values
    ):
        return picked_number(one._ow_tag, results)
    if not any(map(_is_joined, values)):
        return chosen(one._ow_tag, results)
    if all(isinstance(value, tuple) for value in values):
        return by_parts(one, results)
    return given(one, results)


def _is_joined(value: Any) -> bool:
    """Whether a result is not a candidate by itself: a tensor, or what has parts and no name."""
    if isinstance(value, OneOf) or is_mutable(value):
        return False
    return is_of_a_part(value) or parts_of(value) is not None


def by_parts(one: OneOf, results: Mapping[int, Any]) -> Any:
    """One of several containers as a container of values, which is new where they are several."""
    if len({form_key(value) for value in results.values()}) > 1:
        return given(one, results)
    parts = [part for part in map(parts_of, results.values()) if part is not None]
    columns = zip(*(part[1] for part in parts))
    return parts[0][2]([joined(one, dict(zip(results, column))) for column in columns])


def chosen(tag: Any, values: Mapping[int, Any]) -> Any:
    """One of several constants or objects, by the numbers that a tag has for them."""
    session = current()
    assert session is not None
    texts = {v for v in values.values() if type(v) is str}
    session.computed |= {v for v in texts if form_key(v) not in session.forms}
    numbers: dict[int, Any] = {}
    items: dict[int, Any] = {}
    for n, value in values.items():
        if isinstance(value, OneOf):
            numbers[n] = value._ow_tag
            items |= value._ow_items
        else:
            numbers[n] = number_of(value, by_reference=is_mutable(value))
            items[numbers[n]] = value
    return OneOf.of(looked_up(tag, numbers), items)


def among(
    one: OneOf, function: Callable[[Any], Any], takes: Callable[[Any], bool] | None = None
) -> Any:
    """What a function gives, as a chain of decisions between calls of it with each candidate.

    Args:
        one: the value.
        function: takes a candidate.
        takes: whether Python calls the function with a candidate without an error.
    """
    items = possible(one)
    parts = {n: functools.partial(function, item) for n, item in items.items()
             if takes is None or takes(item)}  # fmt: skip
    if takes is not None and parts:
        leave_out(one, {n: TypeError() for n in items if n not in parts})
    elif len(parts) > 1:
        tried = {n: _tried(part) for n, part in parts.items()}
        errors = {n: e for n, e in tried.items() if isinstance(e, Exception)}
        if len(errors) < len(parts):
            leave_out(one, errors)
            parts = {n: part for n, part in parts.items() if n not in errors}
        results = {n: tried[n] for n in parts}
        if all(isinstance(result, (int, float, str)) for result in results.values()):
            return joined(one, results)
    return _between(one, parts or {n: functools.partial(function, i) for n, i in items.items()})


def given(one: OneOf, results: Mapping[int, Any]) -> Any:
    """One of several results, by a chain of decisions."""
    return _between(one, {n: functools.partial(_itself, v) for n, v in results.items()})


def _itself(value: Any) -> Any:
    return value


_COMPUTED: Any = object()


def _tried(call: Callable[[], Any]) -> Any:
    """What a call gives that computes and changes nothing, or the error that Python raises.

    Returns:
        The result, or the error as it is; `_COMPUTED` for other calls.
    """
    try:
        with Region() as region, side_of(call) as side:
            result = call()
            is_plain = not holds_tensors(result) and not region.nodes() and not side.end()
            region.discard()
    except (CaptureStoppedError, GuardOnDataDependentSymNode):
        return _COMPUTED  # the call says it again
    except Exception as error:  # noqa: BLE001 - torch raises many kinds
        refuse_handled(error)
        return error
    return result if is_plain else _COMPUTED


def _between(one: OneOf, parts: Mapping[int, Callable[[], Any]]) -> Any:
    """The result of one of several parts: each half of them is a side of a decision."""
    if len(parts) == 1:
        return next(iter(parts.values()))()
    session = current()
    assert session is not None
    numbers = list(parts)
    half = len(numbers) // 2
    first, last = ({n: parts[n] for n in part} for part in (numbers[:half], numbers[half:]))
    test = is_number(one._ow_tag, numbers[:half], numbers)

    def either(then: Branch, orelse: Branch, state: State) -> None:
        session.decide(test, then, orelse, state)

    return result_of(either, lambda: _between(one, first), lambda: _between(one, last))


def refused(use: str) -> CannotRewriteError:
    """The error for what is done with one of several values and needs to know which."""
    reason = f"{use} of one of several values, which is known at run time only,"
    return CannotRewriteError(reason, line_of(*model_line()))
