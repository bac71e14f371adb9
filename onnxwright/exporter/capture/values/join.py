"""The join: values of two sides of a decision, or of two iterations, as one value.

| the two values | their join |
|---|---|
| the same object, equal constants | itself |
| tensors of one rank, numbers | a leaf: an output of If, a carried value of Loop |
| tuples, lists, dicts, dataclasses with the same keys | their parts, one by one |
| a list that grows on one side | `Rows` |
| None, texts, functions, modules, other objects, tensors of other ranks, other tuples | `OneOf` |
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.control.places import PLAIN, is_container
from onnxwright.exporter.capture.graphs.regions import SYMBOLS, is_traced
from onnxwright.exporter.capture.session.errors import DisagreementError, LoopChangeError, words
from onnxwright.exporter.capture.session.number_forms import dtype_of
from onnxwright.exporter.capture.session.program_lists import kind_of
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.capture.values.building_rows import BuildingRows
from onnxwright.exporter.capture.values.candidates import (
    form_key,
    is_choosable,
    is_mutable,
    is_of_before,
    is_reference,
    is_same,
    number_of,
    renew_reference,
)
from onnxwright.exporter.capture.values.one_of import WHICH, OneOf, part_name
from onnxwright.exporter.capture.values.parts import is_leaf, parts_of
from onnxwright.exporter.capture.values.rows import Parts, Rows
from onnxwright.exporter.capture.values.state import UNSET

Build = Callable[[Sequence[Any]], Any]
Contents = Mapping[tuple[int, Union[str, None]], Any]


@dataclass
class Pair:
    """A leaf that differs: what it is on each side; `UNSET` where one has none."""

    path: str
    left: Any
    right: Any


@dataclass
class Merger:
    """Joins values of two sides, and collects the leaves that differ.

    Fields:
        contents: for each side, what objects held at its end, by identity and attribute; None for
            the items of a container.  They hold something else by now.
        in_loop: whether the values are those around an iteration: a tensor without axes may be
            carried as one with axes.
        outside: whether a tensor is known outside of the two sides.
        pairs: the leaves, in order.
        joined_objects: containers of both sides, and the one that stands for them, once built.
    """

    contents: tuple[Contents, Contents] = ({}, {})
    in_loop: bool = False
    outside: Callable[[torch.Tensor], bool] = is_traced
    pairs: list[Pair] = dataclasses.field(default_factory=list)
    joined_objects: list[tuple[Any, Any, Any]] = dataclasses.field(default_factory=list)

    def merge(self, left: Any, right: Any, path: str, *, items: bool = False) -> Build:
        """Two values as one.

        Args:
            left, right: the values.
            path: what the user calls them.
            items: whether they are the items of one container.

        Returns:
            A function from the results of all leaves to the value.

        Raises:
            DisagreementError: they cannot be one value.
        """
        if is_same(left, right):
            return lambda _: left
        if left is UNSET or right is UNSET:
            return self._one_sided(left, right, path)
        left, right = self._appended(left, right)
        one, two = self._parts(left, 0), self._parts(right, 1)
        if not items and (
            _are_alternatives(left, right, one, two, self.in_loop)
            or _are_references(left, right, one, two, self.outside, self.in_loop)
        ):
            return self._alternatives(left, right, path)
        if is_leaf(left) and is_leaf(right):
            if _is_same_number(left, right):
                return lambda _: left
            return self.leaf(left, right, path)
        same = kind_of(left) is kind_of(right)
        if one is not None and two is not None and same and one[0] == two[0]:
            builds = [self.merge(a, b, f"{path}{k}") for k, a, b in zip(one[0], one[1], two[1])]
            return functools.partial(self._built, left, right, one[2], builds)
        if type(left) is type(right) and one is None and _is_equal(left, right):
            return lambda _: left
        raise DisagreementError(path, words(left), words(right))

    def _built(self, left: Any, right: Any, make: Any, parts: Any, results: Sequence[Any]) -> Any:
        """A container of joined parts."""
        new = make([build(results) for build in parts])
        self.joined_objects.append((left, right, new))
        return new

    def _alternatives(self, left: Any, right: Any, path: str) -> Build:
        """One of several values: a tag, and the candidates of both sides."""
        tag, items = _candidates(left, right, self.outside)
        other_tag, others = _candidates(right, left, self.outside)
        which = self.merge(tag, other_tag, path + WHICH)
        builds = {
            n: self._candidate(n, items.get(n, UNSET), others.get(n, UNSET), path + part_name(n))
            for n in sorted({*items, *others})
        }
        return lambda results: OneOf.of(
            which(results), {n: build(results) for n, build in builds.items()}, path
        )

    def _candidate(self, number: int, left: Any, right: Any, path: str) -> Build:
        """A candidate of one side, or of both; an object that a side made is made anew outside."""
        value = right if left is UNSET else left
        if not is_reference(number):
            return self.merge(left, right, path, items=True)
        if is_of_before(value, self.outside):
            return lambda _: value
        if left is not UNSET and right is not UNSET:  # nothing says which of them it is
            raise DisagreementError(path, words(left), words(right))
        build = self._one_sided(left, right, path)
        return lambda results: renew_reference(number, build(results))

    def leaf(self, left: Any, right: Any, path: str) -> Build:
        """A leaf that differs."""
        n = len(self.pairs)
        self.pairs.append(Pair(path, left, right))
        return lambda results: results[n]

    def _appended(self, left: Any, right: Any) -> tuple[Any, Any]:
        """Lists that a loop appends to, with a place for each item of both; others as they are."""
        one, two = self._items(left, 0), self._items(right, 1)
        if isinstance(one, BuildingRows) and isinstance(two, BuildingRows):
            return one.merged_with(two, UNSET), two.merged_with(one, UNSET)
        for items in (one, two):
            if isinstance(items, BuildingRows):
                raise items.misuse("=")  # the loop has to carry it
        return left, right

    def _items(self, value: Any, side: int) -> Any:
        """A container as it was at the end of a side; another value as it is."""
        return self.contents[side].get((id(value), None), value)

    def _parts(self, value: Any, side: int) -> Parts | None:
        """The parts of a container as they were at the end of a side."""
        held = self.contents[side]
        parts = parts_of(self._items(value, side))
        if parts is None or not dataclasses.is_dataclass(value):
            return parts
        keys, values, make = parts
        return keys, [held.get((id(value), k[1:]), v) for k, v in zip(keys, values)], make

    def _one_sided(self, left: Any, right: Any, path: str) -> Build:
        """A value of one side: where it is read, the other side was not taken."""
        value = right if left is UNSET else left
        if is_leaf(value):
            return self.leaf(left, right, path)
        if isinstance(value, list) and (id(value), None) in self.contents[left is UNSET]:
            return lambda _: value  # a list of before, which has a place of its own
        if is_mutable(value) and is_of_before(value, self.outside):
            return lambda _: value
        parts = self._parts(value, int(left is UNSET))
        if parts is None:
            if is_of_before(value, self.outside):
                return lambda _: value
            raise DisagreementError(path, words(left), words(right))
        keys, values, make = parts
        builds = [
            self._one_sided(v if left is not UNSET else UNSET, v if right is not UNSET else UNSET,
                            f"{path}{k}")
            for k, v in zip(keys, values)
        ]  # fmt: skip
        return functools.partial(self._built, left, right, make, builds)


def _are_alternatives(
    left: Any, right: Any, one: Parts | None, two: Parts | None, in_loop: bool
) -> bool:
    """Whether two values that are not the same are candidates beside each other."""
    if isinstance(left, OneOf) or isinstance(right, OneOf):
        return _is_candidate(left) and _is_candidate(right)
    if is_leaf(left) and is_leaf(right):
        tensors = isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor)
        return tensors and left.ndim != right.ndim and bool(left.ndim or not in_loop)
    if one is not None and two is not None:
        if kind_of(left) is kind_of(right) and (one[0] == two[0] or is_container(left)):
            return False
        return not isinstance(left, Rows) and not isinstance(right, Rows)
    return _is_candidate(left) and _is_candidate(right)


def _are_references(
    left: Any, right: Any, one: Parts | None, two: Parts | None,
    outside: Callable[[torch.Tensor], bool], in_loop: bool,
) -> bool:  # fmt: skip
    """Whether two values are objects of which a variable has one by reference."""
    if isinstance(left, Rows) or isinstance(right, Rows):
        return False
    alike = one is not None and two is not None and type(left) is type(right) and one[0] == two[0]
    if alike or (is_leaf(left) and is_leaf(right)):
        of_before = [is_of_before(value, outside) for value in (left, right)]
        # A loop that makes such containers carries their parts.
        is_known = all(of_before) if in_loop else any(of_before)
        return is_known and is_mutable(left) and is_mutable(right)
    if type(left) is type(right) and not isinstance(left, OneOf):
        if one is None and _is_equal(left, right):
            return False
    every: list[Any] = []
    for value in (left, right):
        every += value._ow_items.values() if isinstance(value, OneOf) else [value]
    return all(_is_candidate(v) or (_is_object(v) and is_of_before(v, outside)) for v in every)


def _is_object(value: Any) -> bool:
    """Whether a value has an identity that programs see, and changes where the log sees it."""
    if isinstance(value, (torch.Tensor, Rows, tuple, OneOf)) or is_leaf(value):
        return False
    is_plain = type(value) in PLAIN or hasattr(type(value), "__next__")
    return not is_plain and not is_choosable(value)


def _is_candidate(value: Any) -> bool:
    if isinstance(value, OneOf):
        return all(map(_is_candidate, value._ow_items.values()))
    whole = value is UNSET or is_leaf(value) or is_choosable(value)
    return whole or parts_of(value) is not None


def _candidates(
    value: Any, other: Any, outside: Callable[[torch.Tensor], bool]
) -> tuple[Any, dict[int, Any]]:
    """The tag and the candidates of a value that is joined with another one.

    A number of Python is the same candidate as the only tensor of the other value.  Containers of
    before the decision are candidates by reference.
    """
    if isinstance(value, OneOf):
        return value._ow_tag, value._ow_items
    if is_leaf(value) and isinstance(other, OneOf) and number_of(value) not in other._ow_items:
        leaves = [n for n, item in other._ow_items.items() if is_leaf(item)]
        if len(leaves) == 1 and form_key(value) == ("number",):
            return leaves[0], {leaves[0]: value}
    may_be = _is_object(value) or is_mutable(value)
    number = number_of(value, by_reference=may_be and is_of_before(value, outside))
    return number, {number: value}


# -- loops -----------------------------------------------------------------------------------------


def widen(
    value: Any, other: Any, outside: Callable[[torch.Tensor], bool], *, items: bool = False
) -> Any:
    """A value in the form in which a loop carries it.

    Args:
        value: the value at one time.
        other: what the same variable is at another time.
        outside: whether a tensor is known before the loop.
        items: whether they are the items of one container.

    Returns:
        The value as one of the candidates of both; the value where it has that form already.
    """
    if value is UNSET or other is UNSET or is_same(value, other):
        return value
    one, two = parts_of(value), parts_of(other)
    if not items and (_are_alternatives(value, other, one, two, True)
                      or _are_references(value, other, one, two, outside, True)):  # fmt: skip
        tag, mine = _candidates(value, other, outside)
        others = _candidates(other, value, outside)[1]
        both: dict[int, Any] = {}
        for n in sorted({*mine, *others}):
            one_of_them = mine[n] if n in mine else others[n]
            if is_reference(n):
                if not is_of_before(one_of_them, outside):
                    raise LoopChangeError("an object", words(value), words(other))
                both[n] = one_of_them
            elif n in mine:
                both[n] = widen(mine[n], others.get(n, UNSET), outside, items=True)
            else:
                both[n] = _template(others[n])
        same = isinstance(value, OneOf) and list(both) == sorted(mine)
        if same and all(both[n] is mine[n] for n in mine):
            return value
        _refuse_growing(both)
        return OneOf(tag, both)
    if one is None or two is None or kind_of(value) is not kind_of(other) or one[0] != two[0]:
        return value
    widened_parts = [widen(a, b, outside) for a, b in zip(one[1], two[1])]
    return value if all(a is b for a, b in zip(widened_parts, one[1])) else one[2](widened_parts)


def grows_again(before: Any, start: Any) -> bool:
    """Whether a variable of a loop, which has tensors of several ranks, gets one of a further rank.

    Each iteration may change the rank again: the forms of the loop would not end.

    Args:
        before: the form in which the loop carried the variable.
        start: the form after another iteration was seen.
    """
    if isinstance(before, OneOf) and isinstance(start, OneOf):
        items_before, now = (
            [item for item in one._ow_items.values() if not is_choosable(item)]
            for one in (before, start)
        )
        return len(now) > len(items_before) > 1
    one, two = parts_of(before), parts_of(start)
    if one is None or two is None or one[0] != two[0]:
        return False
    return any(map(grows_again, one[1], two[1]))


def _refuse_growing(items: Mapping[int, Any]) -> None:
    """Refuse a text that each iteration makes longer: the forms of the loop would not end."""
    texts = [item for item in items.values() if isinstance(item, str)]
    session = current()
    computed = session.computed.intersection(texts) if session is not None else ()
    plain = [len(text) for text in texts if text not in computed]
    for text in computed:
        if len(text) > max(plain, default=0):
            raise LoopChangeError("a text", "a text", "a longer one")


def _template(value: Any) -> Any:
    """A value of the same structure without tensors and numbers."""
    if is_leaf(value) or value is UNSET:
        return UNSET
    if isinstance(value, OneOf):
        items = {n: item if is_reference(n) else _template(item)
                 for n, item in value._ow_items.items()}  # fmt: skip
        return OneOf(next(iter(items)), items)
    parts = parts_of(value)
    return value if parts is None else parts[2]([_template(v) for v in parts[1]])


def form_of(value: Any) -> Any:
    """The form of a value: equal for values that only differ in tensors and numbers.

    The candidates that a variable may have are part of it.  Functions with the same code have the
    same form: each iteration of a loop may make new ones.

    Args:
        value: anything.

    Returns:
        Something that is hashed.

    Example:
        >>> form_of([1, 2]) == form_of([3, 4]), form_of([1, 2]) == form_of([1, None])
        (True, False)
    """
    if isinstance(value, OneOf):
        return frozenset(
            n if is_reference(n) else (_form_of_object(v), form_of(v))
            for n, v in value._ow_items.items()
        )
    parts = None if is_leaf(value) else parts_of(value)
    if parts is not None:
        return kind_of(value), tuple(parts[0]), tuple(map(form_of, parts[1]))
    return "leaf" if is_leaf(value) else type(value)


def _form_of_object(value: Any) -> Any:
    if isinstance(value, functools.partial):
        return _form_of_object(value.func)
    if is_leaf(value) or parts_of(value) is not None:
        return "parts"
    return value if isinstance(value, str) else getattr(value, "__code__", None) or id(value)


# -- leaves ----------------------------------------------------------------------------------------


def _is_same_number(a: Any, b: Any) -> bool:
    """Whether two leaves are the same Python number."""
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor) or type(a) is not type(b):
        return False
    if isinstance(a, SYMBOLS):
        return a.node.expr == b.node.expr and not free_unbacked_symbols(a)
    return bool(a == b)


def _is_equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except Exception:  # noqa: BLE001 - `==` of the user's objects may do anything
        return False


def common_dtype(a: Any, b: Any) -> torch.dtype:
    """The type two leaves agree on; `UNSET` agrees with any, a number with tensors of its kind.

    Nothing of torch is called: a trace would see it.
    """
    if a is UNSET or b is UNSET:
        return dtype_of(b if a is UNSET else a)
    one, other = dtype_of(a), dtype_of(b)
    if isinstance(a, torch.Tensor) != isinstance(b, torch.Tensor):
        tensor, number = (one, other) if isinstance(a, torch.Tensor) else (other, one)
        return tensor if _kind(tensor) >= _kind(number) else number
    return one if one == other else torch.promote_types(one, other)


def _kind(dtype: torch.dtype) -> int:
    if dtype.is_complex or dtype.is_floating_point:
        return 3 if dtype.is_complex else 2
    return int(dtype != torch.bool)
