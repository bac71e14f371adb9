"""Values of two sides of a decision, as one value: fixed parts, and leaves that differ.

Tuples, lists, dicts and dataclasses are merged part by part.  Python numbers that differ become
tensors.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

import torch
from torch import _prims_common as _prims
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.source.building_rows import BuildingRows
from onnxwright.exporter.capture.source.errors import DisagreementError, words
from onnxwright.exporter.capture.source.list_forms import OtherName
from onnxwright.exporter.capture.source.one_of import (
    Decide,
    OneOf,
    among_all,
    is_choosable,
    is_same_object,
    objects_in,
)
from onnxwright.exporter.capture.source.optional_values import MaybeNone, plain, present_of
from onnxwright.exporter.capture.source.regions import SYMBOLS
from onnxwright.exporter.capture.source.rows import Parts, Rows
from onnxwright.exporter.capture.source.state import UNSET
from onnxwright.exporter.capture.source.texts import Text, number_of, possible_texts

NUMBERS = (bool, int, float, *SYMBOLS)

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
    """Merges values, and collects the leaves that differ.

    Fields:
        decide: decides between two branches; calls of one of two functions do.
        contents: for each side, what objects held at its end, by identity and attribute; None for
            the items of a container.  They hold something else by now.
        pairs: the leaves, in order.
        made: containers of both sides, and the one that stands for them; once they are built.
    """

    decide: Decide
    contents: tuple[Contents, Contents] = ({}, {})
    pairs: list[Pair] = dataclasses.field(default_factory=list)
    made: list[tuple[Any, Any, Any]] = dataclasses.field(default_factory=list)

    def merge(self, left: Any, right: Any, path: str) -> Build:
        """Two values as one.

        Args:
            left, right: the values.
            path: what the user calls them.

        Returns:
            A function from the results of all leaves to the value.

        Raises:
            DisagreementError: they have not the same structure.
        """
        if is_same_object(left, right):
            return lambda _: left
        if isinstance(left, BuildingRows) and isinstance(right, BuildingRows):
            left, right = left.merged_with(right, UNSET), right.merged_with(left, UNSET)
        if left is UNSET or right is UNSET:
            return self._one_sided(left, right, path)
        build = self._constants(left, right, path)
        if build is not None:
            return build
        if is_leaf(left) and is_leaf(right):
            if _is_same_number(left, right):
                return lambda _: left
            return self.leaf(left, right, path)
        one, two = self._parts(left, 0), self._parts(right, 1)
        if is_choosable(left) and is_choosable(right) and (one is None or one[0] != _keys(two)):
            choice = self.leaf(0, 1, path + WHICH_OBJECT)
            # The numbers of a side are known in it only: they are results of it.
            first = self._one_sided(left, UNSET, path) if isinstance(left, OneOf) else _kept(left)
            last = self._one_sided(UNSET, right, path) if isinstance(right, OneOf) else _kept(right)
            return lambda results: OneOf(
                choice(results), (first(results), last(results)), self.decide
            )
        if one is not None and two is not None and type(left) is type(right):
            (keys, values, make), (other_keys, others, _) = one, two
            if keys != other_keys:
                raise DisagreementError(path, words(left), words(right))
            made = [self.merge(a, b, f"{path}{k}") for k, a, b in zip(keys, values, others)]

            def both(results: Sequence[Any]) -> Any:
                new = make([build(results) for build in made])
                if isinstance(new, Rows) and left.identity is right.identity:
                    new.identity = left.identity
                self.made.append((left, right, new))
                return new

            return both
        if type(left) is type(right) and not is_leaf(left) and _is_equal(left, right):
            return lambda _: left
        raise DisagreementError(path, words(left), words(right))

    def _constants(self, left: Any, right: Any, path: str) -> Build | None:
        """None beside a value, or two texts: which of them is known at run time."""
        if any(v is None or isinstance(v, MaybeNone) for v in (left, right)):
            present = self.merge(present_of(left), present_of(right), path + IS_THERE)
            one, two = (UNSET if plain(v) is None else plain(v) for v in (left, right))
            value = self.merge(one, two, path + IF_THERE)
            return lambda results: MaybeNone.of(present(results), value(results), self.decide)
        if not _is_text(left) or not _is_text(right):
            return None
        if not isinstance(left, Text) and not isinstance(right, Text) and left == right:
            return None
        texts = [possible_texts(text) for text in (left, right)]
        if texts[0] is None or texts[1] is None:
            return None
        possible = texts[0] | texts[1]
        number = self.merge(number_of(left), number_of(right), path + WHICH_TEXT)
        return lambda results: Text.chosen(number(results), possible, self.decide)

    def leaf(self, left: Any, right: Any, path: str) -> Build:
        """A leaf that differs."""
        n = len(self.pairs)
        self.pairs.append(Pair(path, left, right))
        return lambda results: results[n]

    def _parts(self, value: Any, side: int) -> Parts | None:
        """The parts of a container as they were at the end of a side."""
        held = self.contents[side]
        parts = parts_of(held.get((id(value), None), value))
        if parts is None or not dataclasses.is_dataclass(value):
            return parts
        keys, values, make = parts
        return keys, [held.get((id(value), k[1:]), v) for k, v in zip(keys, values)], make

    def _one_sided(self, left: Any, right: Any, path: str) -> Build:
        """A value of one side: where it is read, the other side was not taken."""
        value = right if left is UNSET else left
        if is_leaf(value):
            return self.leaf(left, right, path)
        parts = self._parts(value, int(left is UNSET))
        if parts is None:
            return lambda _: value
        keys, values, make = parts
        made = [
            self._one_sided(v if left is not UNSET else UNSET, v if right is not UNSET else UNSET,
                            f"{path}{k}")
            for k, v in zip(keys, values)
        ]  # fmt: skip

        def one(results: Sequence[Any]) -> Any:
            new = make([build(results) for build in made])
            self.made.append((left, right, new))
            return new

        return one


# What the parts of a value are called that may be None, or one of several texts.
IS_THERE, IF_THERE, WHICH_TEXT = " is not None", " where it is not None", " as one of several texts"
WHICH_OBJECT = " as one of several objects"


def is_leaf(value: Any) -> bool:
    """Whether a value can be a tensor of the graph."""
    others = (OtherName, enum.Enum)
    return isinstance(value, (torch.Tensor, *NUMBERS)) and not isinstance(value, others)


def parts_of(value: Any) -> Parts | None:
    """The parts of a container: their names, values, and what makes the container of others.

    Args:
        value: anything.

    Returns:
        Them; None if it is not a container.

    Example:
        >>> names, values, make = parts_of({"a": 1})
        >>> names, values, make([2])
        (["['a']"], [1], {'a': 2})
    """
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", None)
        names = [f".{n}" for n in fields] if fields else [f"[{n}]" for n in range(len(value))]
        make = (lambda v: type(value)(*v)) if fields else type(value)
        return names, list(value), make
    if isinstance(value, Rows):
        return value.parts()
    if isinstance(value, (OneOf, MaybeNone, Text)):
        return _parts_of_choice(value)
    if type(value) is list:
        return [f"[{n}]" for n in range(len(value))], list(value), list
    if isinstance(value, deque):
        names, most = [f"[{n}]" for n in range(len(value))], value.maxlen
        return names, list(value), lambda v: deque(v, most)
    if isinstance(value, dict):
        keys = list(value)

        def mapping(v: list[Any]) -> Any:
            made = dict(zip(keys, v))
            if isinstance(value, defaultdict):
                return defaultdict(value.default_factory, made)
            return made if type(value) is dict else type(value)(made)

        return [f"[{k!r}]" for k in keys], list(value.values()), mapping
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [f.name for f in dataclasses.fields(value) if hasattr(value, f.name)]

        def data(v: list[Any]) -> Any:
            made = object.__new__(type(value))
            for name, item in zip(names, v):
                object.__setattr__(made, name, item)
            return made

        return [f".{n}" for n in names], [getattr(value, n) for n in names], data
    return None


def _parts_of_choice(value: OneOf | MaybeNone | Text) -> Parts:
    """The parts of what is known at run time only: numbers, and a value that may be None."""
    if isinstance(value, OneOf):
        places, form = value._ow_places(), value._ow_form()
        names = [f" of {form}, {n}" for n in range(len(places))]
        return names, places, lambda v: value._ow_at(iter(v))
    if isinstance(value, MaybeNone):
        decide = value._ow_decide

        def maybe(v: list[Any]) -> Any:
            return MaybeNone.of(v[0], v[1], decide)

        return [IS_THERE, IF_THERE], [value._ow_present, value._ow_value], maybe
    possible, by, changed = possible_texts(value), value.decide, value
    if possible is not None:
        return [WHICH_TEXT], [value.number], lambda v: Text.chosen(v[0], possible, by)

    if value.number is None:
        return [" of a text"], [], lambda _: changed

    def of_number(v: list[Any]) -> Any:
        return Text.of(v[0], changed.before, changed.after, changed.items)

    return [f" of {value.form()}"], [value.number], of_number


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, enum.Enum)


def _kept(value: Any) -> Build:
    return lambda _: value


def _keys(parts: tuple[list[str], Any, Any] | None) -> list[str] | None:
    return None if parts is None else parts[0]


def aligned(value: Any, other: Any, decide: Decide) -> Any:
    """A value as one that may be None, one of several texts or objects, where another one is.

    Args:
        value: the value.
        other: what the same variable is at another time.
        decide: decides between two branches.

    Returns:
        The value, in the form that both have in common.
    """
    if value is other or value is UNSET or other is UNSET:
        return value
    if is_choosable(value) and is_choosable(other):
        return among_all(value, other, decide)
    if _is_text(value) and _is_text(other):
        texts = [possible_texts(text) for text in (value, other)]
        if texts[0] is None or texts[1] is None or texts[1] <= texts[0]:
            return value
        number = number_of(value)
        number_of(other)
        return Text.chosen(number, texts[0] | texts[1], decide)
    if any(v is None or isinstance(v, MaybeNone) for v in (value, other)):
        inner, like = plain(value), plain(other)
        if inner is None and like is None:
            return value
        if inner is None or inner is UNSET:
            inner = inner if like is None or like is UNSET else _template(like)
        else:
            inner = aligned(inner, UNSET if like is None else like, decide)
        if isinstance(value, MaybeNone) and inner is plain(value):
            return value
        present = value._ow_present if isinstance(value, MaybeNone) else value is not None
        return MaybeNone(present, inner, decide)
    one, two = parts_of(value), parts_of(other)
    if one is None or two is None or type(value) is not type(other) or one[0] != two[0]:
        return value
    made = [aligned(a, b, decide) for a, b in zip(one[1], two[1])]
    return value if all(a is b for a, b in zip(made, one[1])) else one[2](made)


def form_of(value: Any) -> Any:
    """The form of a value: equal for values that only differ in tensors and numbers.

    The objects and texts that a variable may have are part of it.  Functions are told apart by
    their code: each iteration of a loop may make new ones.

    Args:
        value: anything.

    Returns:
        Something that is hashed.

    Example:
        >>> form_of([1, 2]) == form_of([3, 4]), form_of([1, 2]) == form_of([1, None])
        (True, False)
    """
    if isinstance(value, OneOf):
        return frozenset(map(_form_of_object, objects_in(value)))
    if isinstance(value, Text):
        return frozenset(possible_texts(value) or ())
    parts = None if is_leaf(value) else parts_of(value)
    if parts is not None:
        return type(value), tuple(parts[0]), tuple(map(form_of, parts[1]))
    return "leaf" if is_leaf(value) else type(value)


def _form_of_object(value: Any) -> Any:
    if isinstance(value, functools.partial):
        return _form_of_object(value.func)
    return getattr(value, "__code__", None) or id(value)


def has_choice(value: Any) -> bool:
    """Whether a value is one of several objects, or has a part that is."""
    if isinstance(value, OneOf):
        return True
    parts = None if is_leaf(value) else parts_of(value)
    return parts is not None and any(map(has_choice, parts[1]))


def _template(value: Any) -> Any:
    """A value of the same structure without tensors and numbers."""
    if is_leaf(value) or value is UNSET:
        return UNSET
    if isinstance(value, MaybeNone):
        return MaybeNone(False, _template(value._ow_value), value._ow_decide)
    parts = parts_of(value)
    return value if parts is None else parts[2]([_template(v) for v in parts[1]])


def leaves_of(value: Any) -> list[Any]:
    """The tensors and symbolic numbers in a value."""
    if isinstance(value, OtherName):
        return []
    if isinstance(value, (torch.Tensor, *SYMBOLS)):
        return [value]
    parts = parts_of(value)
    return [] if parts is None else [leaf for part in parts[1] for leaf in leaves_of(part)]


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


def dtype_of(value: Any) -> torch.dtype:
    """The type of a leaf as a tensor."""
    if isinstance(value, torch.Tensor):
        return value.dtype
    if isinstance(value, (bool, torch.SymBool)):
        return torch.bool
    return torch.int64 if isinstance(value, (int, torch.SymInt)) else torch.get_default_dtype()


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
    return one if one == other else _prims.get_higher_dtype(one, other)


def _kind(dtype: torch.dtype) -> int:
    if dtype.is_complex or dtype.is_floating_point:
        return 3 if dtype.is_complex else 2
    return int(dtype != torch.bool)
