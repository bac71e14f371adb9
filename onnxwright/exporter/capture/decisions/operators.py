"""Operators of rewritten code: `is`, `not`, `and`, `or`, `in`, chains of comparisons, `+=`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_symbols, free_unbacked_symbols

from onnxwright.exporter.capture.assumptions.size_tests import as_test, has_sides, is_open
from onnxwright.exporter.capture.assumptions.size_tests import supposing as test_supposed
from onnxwright.exporter.capture.control.runtime import traced
from onnxwright.exporter.capture.control.store import original
from onnxwright.exporter.capture.decisions.deciding import choose
from onnxwright.exporter.capture.decisions.equality import equal as equal_values
from onnxwright.exporter.capture.decisions.equality import has_parts
from onnxwright.exporter.capture.decisions.truth import (
    as_truth,
    decided,
    is_number,
    is_truth,
    kept_open,
)
from onnxwright.exporter.capture.graphs.regions import SYMBOLS, Region
from onnxwright.exporter.capture.lists.list_calls import contained
from onnxwright.exporter.capture.session.errors import CannotRewriteError
from onnxwright.exporter.capture.session.program_lists import List, kind_of
from onnxwright.exporter.capture.session.session import current, refused_here
from onnxwright.exporter.capture.values.aliases import are_same
from onnxwright.exporter.capture.values.chosen_objects import is_object, refuse_write
from onnxwright.exporter.capture.values.kinds import common
from onnxwright.exporter.capture.values.list_writes import refuse_effects
from onnxwright.exporter.capture.values.logic import combined, defined, supposing
from onnxwright.exporter.capture.values.numbers import is_number as is_any_number
from onnxwright.exporter.capture.values.numbers import is_of_run_time, is_of_run_time_or_size
from onnxwright.exporter.capture.values.one_of import OneOf, each
from onnxwright.exporter.capture.values.one_sided import refuse_names
from onnxwright.exporter.capture.values.rows import Rows
from onnxwright.exporter.capture.values.sides import side_of

# -- `any` and `all`: each item is evaluated, until one is known to settle the result --------------


def any_(values: Iterable[Any]) -> Any:
    """`any(values)`."""
    if isinstance(values, Rows):
        values.check_order("any")
        return (values.whole("any") != 0).any()
    return _joined(values, torch.logical_or, settles=True)


def all_(values: Iterable[Any]) -> Any:
    """`all(values)`."""
    if isinstance(values, Rows):
        values.check_order("all")
        return (values.whole("all") != 0).all()
    return _joined(values, torch.logical_and, settles=False)


def _joined(values: Iterable[Any], join: Callable[[Any, Any], Any], *, settles: bool) -> Any:
    """Truths joined, until one of them is known to settle the result."""
    result: Any = None
    items = iter(values)
    is_container = isinstance(values, (list, tuple, set, frozenset, dict))
    while True:
        if result is None or is_container:
            value = next(items, _END)
        else:
            with side_of(values) as side:
                value = next(items, _END)
                side.keep()
            if any(write.place.owner is not values for write in side.writes):
                # Python does not come to it where an item before settles the result.
                refuse_effects("any" if settles else "all")
        if value is _END:
            return not settles if result is None else result
        value = kept_open(as_test(value))
        is_of_sizes = isinstance(value, torch.SymBool) and is_open(value)
        answer = None if is_of_sizes else decided(value)
        if answer is settles:
            return settles
        if answer is None:
            truth = as_truth(value)
            result = truth if result is None else join(result, truth)


_END = object()


# -- operators -------------------------------------------------------------------------------------


def is_(value: Any, constant: Any) -> Any:
    """`value is constant`: what stands for a truth value of Python is one."""
    session = current()
    if isinstance(value, OneOf) or isinstance(constant, OneOf):
        return value is constant or each(is_, value, constant)
    if not isinstance(constant, bool):
        return value is constant or _may_be_one(value, constant)
    if session is None or isinstance(value, bool):
        return value is constant
    if session.numbers.has_types(value):
        common(value, lambda kind: kind is bool)
    if isinstance(value, torch.SymBool) or (is_truth(value) and value in session.numbers):
        return value if constant else not_(value)
    return value is constant


def _may_be_one(one: Any, two: Any) -> Any:
    """Whether two objects of this capture are one where the model runs."""
    are_tensors = isinstance(one, torch.Tensor) and isinstance(two, torch.Tensor)
    if (are_tensors or isinstance(one, torch.nn.Module)) and original(one) is original(two):
        return True
    if are_tensors:
        with refused_here():
            return are_same(traced(one), traced(two))
    if (is_of_run_time(one) and is_any_number(two)) or (is_of_run_time(two) and is_any_number(one)):
        with refused_here():
            reason = "`is` of a number that is known at run time only"
            raise CannotRewriteError(reason, advice="compare the numbers: `a == b`")
    if is_object(one) and is_object(two):
        for each_one in (one, two):
            refuse_write(each_one)  # chosen by reference, it is known which one it is
    return False


def not_(value: Any) -> Any:
    """`not value`."""
    test = as_test(value)
    if has_sides(test):
        return torch.sym_not(test)
    answer = decided(value)
    return not answer if answer is not None else combined("not", as_truth(value))


def invert(value: Any) -> Any:
    """`~value`; PyTorch's symbolic integers have no such operator."""
    return -value - 1 if isinstance(value, torch.SymInt) else ~value


def and_(*parts: Callable[[], Any]) -> Any:
    """`a and b and ...`."""
    return _logic(parts, stop=False)


def or_(*parts: Callable[[], Any]) -> Any:
    """`a or b or ...`."""
    return _logic(parts, stop=True)


def _logic(parts: Sequence[Callable[[], Any]], stop: bool) -> Any:
    """The first part whose truth is `stop`, or the last."""
    value: Any = None
    for n, part in enumerate(parts):
        value = part()
        if n == len(parts) - 1:
            return value
        test = as_test(value)
        if has_sides(test):
            return _logic_of_sizes(value, test, parts[n + 1 :], stop)
        answer = decided(value)
        if answer is None:
            return _logic_of_tensors(value, parts[n + 1 :], stop)
        if answer is stop:
            return value
    return value


def _rest(parts: Sequence[Callable[[], Any]], stop: bool) -> Any:
    """The parts after one that is known at run time only."""
    return kept_open(_logic(parts, stop))


def _logic_of_sizes(value: Any, test: Any, rest: Sequence[Callable[[], Any]], stop: bool) -> Any:
    """The same where the first part is decided by sizes."""
    rest_truth = None
    if isinstance(test, torch.SymBool):
        with test_supposed(torch.sym_not(test) if stop else test):
            rest_truth = _plain(lambda: _rest(rest, stop), of_sizes=True)
    if isinstance(rest_truth, (bool, torch.SymBool)) and value is test and is_open(value):
        return operator.or_(value, rest_truth) if stop else operator.and_(value, rest_truth)

    own = stop if test is value else value

    def others() -> Any:
        return _rest(rest, stop) if rest_truth is None else rest_truth

    return choose(test, *((lambda: own, others) if stop else (others, lambda: own)))


def _logic_of_tensors(value: Any, rest: Sequence[Callable[[], Any]], stop: bool) -> Any:
    """The same where the first part is known at run time only."""
    operation = "or" if stop else "and"

    def others() -> Any:
        with supposing(value, not stop):
            return _rest(rest, stop)

    if is_truth(value):
        # Truth values of both: nothing but the answer is used.
        rest_truth = _plain(others)
        if rest_truth is stop:
            return rest_truth  # whatever the first part is
        if rest_truth is (not stop):
            return value
        if rest_truth is not None:
            return combined(operation, as_truth(value), as_truth(rest_truth))
    if stop:
        return defined(choose(value, lambda: value, others), operation, value, None)
    return defined(choose(value, others, lambda: value), operation, value, None)


def _plain(part: Callable[[], Any], *, of_sizes: bool = False) -> Any:
    """A truth value that is computed without reading at a place or deciding; None for others.

    Args:
        part: computes it.
        of_sizes: whether sizes of inputs decide if it is asked for: they may be 0 elsewhere.
    """
    with Region() as region, side_of(part) as side:
        truth = part()
        node = region.mark.next
        safe = is_truth(truth) and not side.end()
        while node.op != "root":
            text = str(node.target)
            if node.op == "call_function":
                words = _PLACES + (_OF_ELEMENTS if _may_be_empty(node, of_sizes) else ())
                safe = safe and not any(word in text for word in words)
            node = node.next
        if safe:
            return truth
        region.discard()
    return None


# Operators that fail for some values: they run only if Python reaches them.
_PLACES = (
    "index", "select", "slice", "gather", "take", "narrow", "higher_order", "cond", "while_loop",
    "local_scalar", "embedding", "put",
)  # fmt: skip
# Operators that need an element.
_OF_ELEMENTS = ("max", "min")


def _may_be_empty(node: Any, of_sizes: bool) -> bool:
    """Whether an operator reads a tensor whose sizes are known at run time only."""
    values = [n.meta.get("val") for n in node.all_input_nodes]
    symbols = free_symbols if of_sizes else free_unbacked_symbols
    return any(isinstance(v, torch.Tensor) and symbols(v) for v in values)


def chain(names: Sequence[str], *parts: Callable[[], Any]) -> Any:
    """`a < b < c`: the second comparison only where the first is true."""
    return _chain(names, parts[0](), parts[1:])


def _chain(names: Sequence[str], left: Any, parts: Sequence[Callable[[], Any]]) -> Any:
    right = parts[0]()
    comparison = _COMPARISONS[names[0]](left, right)
    if len(parts) == 1:
        return comparison
    return and_(lambda: comparison, lambda: _chain(names[1:], right, parts[1:]))


_CONTAINERS: tuple[type, ...] = (tuple, list, List, dict, type({}.keys()), set, frozenset)


def equal(name: str, one: Any, other: Any) -> Any:
    """`one == other` and `one != other`, of lists and shapes with sizes as well."""
    kinds = kind_of(one), kind_of(other)
    is_list = any(all(issubclass(k, kind) for k in kinds) for kind in (list, tuple))
    has_symbols = _is_of_symbols(one) or _is_of_symbols(other)
    if not is_list or not has_symbols or isinstance(one, Rows) or isinstance(other, Rows):
        return equal_values(name, one, other)
    if len(one) != len(other):
        return name != "Eq"
    if not all(map(is_number, (*one, *other))) or any(map(is_of_run_time, (*one, *other))):
        return equal_values(name, one, other)
    is_equal = and_(*(functools.partial(operator.eq, *pair) for pair in zip(one, other)))
    return is_equal if name == "Eq" else not_(is_equal)


def _is_of_symbols(value: Any) -> bool:
    """Whether a value is a symbolic number, or a list or shape with one."""
    return isinstance(value, SYMBOLS) or (
        isinstance(value, (list, tuple)) and any(isinstance(n, SYMBOLS) for n in value)
    )


def contains(value: Any, container: Any) -> Any:
    """`value in container`."""
    if isinstance(value, OneOf) or isinstance(container, OneOf):
        return each(contains, value, container)
    if isinstance(container, (dict, set, frozenset)):  # which may have parameters as keys
        value = original(value)
    elif isinstance(value, torch.nn.Module) and isinstance(container, (list, tuple)):
        return original(value) in map(original, container)
    is_contained = contained(value, container)
    if is_contained is not None:
        return is_contained
    symbols = _is_of_symbols(value) or (is_number(value) and _is_of_symbols(container))
    if symbols and isinstance(container, (tuple, list)) and container:
        # Of sizes, each comparison knows that those before it do not hold.
        return or_(*(functools.partial(equal, "Eq", value, item) for item in container))
    is_open_tuple = isinstance(value, tuple) and any(map(is_of_run_time_or_size, value))
    if is_open_tuple and type(container) in _CONTAINERS:
        items = [one for one in container if isinstance(one, tuple) and len(one) == len(value)]
        return any_([all_([a == b for a, b in zip(value, one)]) for one in items])
    if isinstance(value, (torch.Tensor, *SYMBOLS)):
        if isinstance(container, (tuple, list, range)):
            return any_(value == item for item in container)
        if type(container) in _CONTAINERS and is_number(value):
            return any_(value == item for item in container if isinstance(item, (int, float)))
    if isinstance(container, (tuple, list)) and has_parts([value, *container]):
        return any_(value is item or equal("Eq", item, value) for item in container)
    refuse_names(container, value)
    return value in container


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": functools.partial(equal, "Eq"), "NotEq": functools.partial(equal, "NotEq"),
    "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge,
    "Is": is_, "IsNot": lambda a, b: not_(is_(a, b)),
    "In": contains, "NotIn": lambda a, b: not_(contains(a, b)),
}  # fmt: skip
