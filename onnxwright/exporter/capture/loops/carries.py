"""What loops carry from one iteration to the next: each tensor, and where it is in a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols, statically_known_true

from onnxwright.exporter.capture.decisions.conditional import Outputs
from onnxwright.exporter.capture.graphs.emitting import emit, new_size
from onnxwright.exporter.capture.graphs.memory import node_of
from onnxwright.exporter.capture.graphs.regions import (
    SYMBOLS,
    Part,
    Region,
    empty,
    operand_values,
    tracer,
)
from onnxwright.exporter.capture.session.errors import LoopChangeError, words
from onnxwright.exporter.capture.session.number_forms import dtype_of
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.capture.values.aliases import kept_equal
from onnxwright.exporter.capture.values.join import Pair, common_dtype
from onnxwright.exporter.capture.values.parts import is_leaf, parts_of
from onnxwright.exporter.capture.values.state import UNSET


@dataclass(frozen=True)
class OwnSize:
    """A size that iterations change.

    Fields:
        least: what it is at least, in all iterations.
    """

    least: int


@dataclass
class Carry:
    """One tensor that a loop carries.

    Fields:
        path: what the user calls it.
        start: its value before the loop; `UNSET` if it has none.
        dtype: its type.
        shape: its sizes; an `OwnSize` where iterations change them.
        is_number: whether it stands for a number of Python.
        types: the classes of Python that it is of, before the loop and after iterations.
    """

    path: str
    start: Any
    dtype: torch.dtype
    shape: tuple[Any, ...]
    is_number: bool
    types: frozenset[type] = frozenset()

    def sizes(self) -> list[Any]:
        """The sizes of a number before the loop: 1, as in broadcasting, where they change."""
        return [1 if isinstance(n, OwnSize) else n for n in self.shape]

    def unknown_sizes(self) -> list[Any]:
        """The sizes in any iteration: numbers that are known at run time where they change."""
        return [new_size(n.least) if isinstance(n, OwnSize) else n for n in self.shape]


def is_guessed(value: Any) -> bool:
    """Whether what a loop carries a value as is known before an iteration is seen.

    Args:
        value: before the loop.
    """
    if type(value) is tuple:
        return bool(value) and all(map(is_guessed, value))
    return is_leaf(value)


def begun_with(path: str, start: Any) -> Carry:
    """A tensor or a number that a loop carries in the form that it has before.

    Args:
        path: what the user calls it.
        start: its value before the loop.
    """
    shape, dtype = tuple(start.shape) if isinstance(start, torch.Tensor) else (), dtype_of(start)
    if dtype.is_floating_point and not isinstance(start, torch.Tensor):
        dtype = torch.get_default_dtype()  # most often iterations add tensors to it
    return Carry(path, start, dtype, shape, _is_number(start), _types(start))


def mark_carried(carries: Iterable[Carry], results: Iterable[Any]) -> None:
    """Remember which tensors stand for numbers of Python, and the classes that they may be of."""
    session = current()
    for carry, result in zip(carries, results):
        if session is not None:
            session.numbers.note_types(result, carry.types)
            if carry.is_number:
                session.numbers.add(result)


def _types(*values: Any) -> frozenset[type]:
    """The classes of Python that one of some values may be of."""
    session = current()
    if session is None:
        return frozenset()
    return frozenset().union(*(session.numbers.types(v) for v in values if v is not UNSET))


def stands_for_number(start: Any, pair: Pair) -> bool:
    """Whether what is carried is a number of Python; without a start, what iterations give is."""
    if start is UNSET:
        return _is_number(pair.right)
    return _is_number(start) and (not isinstance(start, torch.Tensor) or _is_number(pair.right))


def _is_number(value: Any) -> bool:
    """Whether a value is a number of Python, or a tensor that stands for one."""
    session = current()
    is_number_of_run_time = session is not None and value in session.numbers
    return is_number_of_run_time or not isinstance(value, torch.Tensor)


def _axes(value: Any) -> int:
    return value.ndim if isinstance(value, torch.Tensor) else 0


def carried(
    pairs: Iterable[Pair], carries: Sequence[Carry], start: Mapping[str, Any], symbols: set[Any]
) -> tuple[list[Carry], bool, bool]:
    """What a loop carries of a variable, after an iteration was seen.

    Args:
        pairs: the leaves that the iteration changes.
        carries: what the loop carried of it before.
        start: the leaves before the loop, by their paths.
        symbols: the sizes known at run time that exist outside of an iteration.

    Returns:
        What it carries; whether there is more; whether something has another type or shape.
    """
    by_path = {carry.path: carry for carry in carries}
    all_carries, is_other = list(carries), False
    for pair in pairs:
        dtype = common_dtype(pair.left, pair.right)
        both = (pair.left, pair.right)
        if dtype.is_floating_point and all(_is_number(v) and not _axes(v) for v in both):
            dtype = torch.float64  # as floats of Python are
        carry = by_path.get(pair.path)
        last = None if carry is None else carry.shape
        shape = carried_shape(pair.path, pair.left, pair.right, last, symbols)
        if carry is None:
            first = start.get(pair.path, UNSET)
            all_carries.append(Carry(pair.path, first, dtype, shape, stands_for_number(first, pair),
                               _types(first, *both)))  # fmt: skip
            continue
        carry.types |= _types(*both)
        if carry.dtype != dtype or not is_same_shape(carry.shape, shape):
            carry.dtype, carry.shape, is_other = dtype, shape, True
    return all_carries, len(all_carries) > len(carries), is_other


def start_of(carry: Carry) -> Any:
    """What a carried tensor is before the loop."""
    start = carry.start
    if isinstance(start, torch.Tensor):
        value = start if start.dtype == carry.dtype else start.to(carry.dtype)
        if value.ndim != len(carry.shape):
            value = value.expand(carry.sizes())
        return value.clone(memory_format=torch.contiguous_format)
    number = 0 if start is UNSET else start
    if isinstance(number, SYMBOLS):
        return torch.scalar_tensor(number, dtype=carry.dtype).expand(carry.sizes()).clone()
    return torch.full(carry.sizes(), number, dtype=carry.dtype)


def input_of(region: Region, carry: Carry) -> Any:
    """A tensor that stands for a carried one in an iteration."""
    tensor = region.new_input(carry.unknown_sizes(), carry.dtype)
    mark_carried([carry], [tensor])
    return tensor


def leaf_paths(value: Any, path: str) -> list[tuple[str, Any]]:
    """The leaves of a value with what the user calls them."""
    if is_leaf(value):
        return [(path, value)]
    parts = parts_of(value)
    if parts is None:
        return []
    return [leaf for k, v in zip(parts[0], parts[1]) for leaf in leaf_paths(v, f"{path}{k}")]


def leaves_at(carries: Iterable[Carry], value: Any, name: str) -> list[Any]:
    """What each of some carried tensors is in a value; `UNSET` without one."""
    paths = dict(leaf_paths(value, name))
    return [paths.get(carry.path, UNSET) for carry in carries]


def still_carried(carries: Iterable[Carry], before: Any, after: Any, name: str) -> list[Carry]:
    """The carried tensors of a variable that an iteration does not leave as they are."""
    ends = dict(leaf_paths(after, name))
    same = {path for path, leaf in leaf_paths(before, name) if ends.get(path) is leaf}
    return [carry for carry in carries if carry.path not in same]


def constants_of(value: Any, path: str) -> dict[str, Any]:
    """The leaves of what an iteration gives that each iteration gives, as numbers of Python."""
    return {k: v for k, v in leaf_paths(value, path) if type(v) in (bool, int, float)}


def with_leaves(value: Any, path: str, leaves: dict[str, Any]) -> Any:
    """A value with other leaves in the place of some."""
    if path in leaves:
        return leaves[path]
    parts = parts_of(value)
    if parts is None:
        return value
    new_parts = [with_leaves(v, f"{path}{k}", leaves) for k, v in zip(parts[0], parts[1])]
    # A container without any of them is the one that other variables have.
    if all(a is b for a, b in zip(new_parts, parts[1])):
        return value
    return parts[2](new_parts)


# -- sizes that iterations change: `x = torch.cat([x, row])` -------------------------------------


def carried_shape(
    path: str, before: Any, after: Any, last: Sequence[Any] | None, symbols: set[Any]
) -> tuple[Any, ...]:
    """The sizes of a carried tensor.

    Args:
        path: what the user calls it.
        before, after: its values around an iteration; at least one is a tensor or both are numbers.
        last: the sizes that were found before; None if it was not carried.
        symbols: the sizes known at run time that exist outside of the iteration.

    Returns:
        A size for each axis; an `OwnSize` where it changes.

    Raises:
        LoopChangeError: the number of axes changes.
    """
    if not isinstance(after, torch.Tensor):
        return tuple(last or (before.shape if isinstance(before, torch.Tensor) else ()))
    if isinstance(before, torch.Tensor) and before.ndim:
        if before.ndim != after.ndim:
            raise LoopChangeError(path, words(before), words(after))
        sizes = last if last is not None and len(last) == after.ndim else before.shape
        triples = zip(before.shape, after.shape, sizes)
        return tuple(_carried_size(a, b, size) for a, b, size in triples)
    return tuple(n if free_unbacked_symbols(n) <= symbols else OwnSize(0) for n in after.shape)


def _carried_size(before: Any, after: Any, size: Any) -> Any:
    """One size of a carried tensor; `size` is what it was taken for."""
    if isinstance(size, OwnSize):
        return size if statically_known_true(after >= size.least) else OwnSize(0)
    if _expression(before) == _expression(after) or statically_known_true(before == after):
        return size
    # A tensor that grows has at least the elements that it begins with.
    least = before if isinstance(before, int) else 1
    return OwnSize(least if statically_known_true(after >= before) else 0)


def _expression(size: Any) -> Any:
    return size.node.expr if isinstance(size, torch.SymInt) else size


def is_same_shape(one: Sequence[Any], two: Sequence[Any]) -> bool:
    """Whether two carried shapes have as many axes, and the same sizes change."""
    return len(one) == len(two) and all(
        a == b for a, b in zip(one, two) if isinstance(a, OwnSize) or isinstance(b, OwnSize)
    )


# -- `while_loop` of torch, of a condition and an iteration that were traced -----------------------


def emit_loop(
    test: Part,
    going: Any,
    body: Part,
    carried: Sequence[tuple[Carry, Any]],
    scanned: Sequence[tuple[Carry, Any]],
) -> list[Any]:
    """Add a loop to the graph.

    Args:
        test: the condition; what it reads first is what is carried.
        going: what it gives.
        body: an iteration; what it reads first is what is carried.
        carried: what is carried, each with what an iteration gives for it.
        scanned: what an iteration gives and no iteration reads.

    Returns:
        What the last iteration gives, of what is carried and what is not read.
    """
    every = [*carried, *scanned]
    begun = [start_of(carry) for carry, _ in every]
    scans = [node_of(tracer(), x) for x in begun[len(carried) :]]
    first, second = list(test.read)[: len(carried)], list(body.read)[: len(carried)]
    written = [n for n in body.written if n not in second]
    body_outputs = Outputs(body)
    for carry, leaf in every:
        body_outputs.add(leaf, leaf, carry.path, carry.dtype, carry.sizes())
    for node in written:
        body_outputs.add_node(body.written[node])
    truth = Outputs(test)
    truth.add(going, going, "the condition", torch.bool)
    rest = [n for n in dict.fromkeys([*test.read, *body.read])
            if n not in first and n not in second and n not in written]  # fmt: skip
    one = test.module([*first, *scans, *written, *rest], truth.nodes)
    two = body.module([*second, *scans, *written, *rest], body_outputs.nodes)
    values = operand_values([*written, *rest])
    targets = values[: len(written)]
    begun += [t.clone(memory_format=torch.contiguous_format) for t in targets]
    parts = {"while_loop_cond_graph": one, "while_loop_body_graph": two}
    args = (one, two, tuple(begun), tuple(values[len(written) :]))
    result_templates = [empty(carry.unknown_sizes(), carry.dtype) for carry, _ in every]
    result_templates += [empty(x.shape, x.dtype) for x in targets]
    results = emit(torch.ops.higher_order.while_loop, parts, args, result_templates)
    with kept_equal():
        for target, value in zip(targets, results[len(every) :]):
            target.copy_(value)
    return list(results[: len(every)])
