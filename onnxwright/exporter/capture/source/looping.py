"""Loops whose number of iterations a tensor decides, as `while_loop`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

from onnxwright.exporter.capture.source.conditional import Outputs
from onnxwright.exporter.capture.source.errors import DisagreementError, LoopChangeError
from onnxwright.exporter.capture.source.merging import (
    UNSET,
    Merger,
    common_dtype,
    is_leaf,
    parts_of,
    words,
)
from onnxwright.exporter.capture.source.regions import (
    SYMBOLS,
    Part,
    Region,
    emit,
    empty,
    operand_values,
)
from onnxwright.exporter.capture.source.session import current
from onnxwright.exporter.capture.source.state import State

# How often the types of what a loop carries may change until they stay.
_TRIES = 6


@dataclass
class _Carry:
    """One tensor that a loop carries.

    Fields:
        path: what the user calls it.
        start: its value before the loop; `UNSET` if it has none.
        dtype: its type.
        shape: its sizes.
    """

    path: str
    start: Any
    dtype: torch.dtype
    shape: tuple[Any, ...]


class Loop:
    """A loop in the making.

    Args:
        test: gives the condition to go on; reads the variables.
        body: one iteration.
        state: what an iteration changes.
        counter: the first value of a counter that `test` and `body` take; None without.
    """

    def __init__(
        self,
        test: Callable[[Any], Any],
        body: Callable[[Any], None],
        state: State,
        counter: Any = None,
    ) -> None:
        self.test, self.body, self.state, self.counter = test, body, state, counter
        self.slots = state.open()
        self.before = state.read()
        # Slots whose value is another object after an iteration -> their leaves.
        self.varying: dict[int, list[_Carry]] = {}
        self.numbers: list[_Carry] = []
        if counter is not None:
            self.numbers = [_Carry("the counter", counter, torch.int64, ())]

    def run(self) -> None:
        """Build the loop; the state has its results afterwards.

        Raises:
            LoopChangeError: what is carried changes its kind.
        """
        for _ in range(_TRIES):
            if not self._try():
                break
        else:
            path = next(iter(self.varying.values()))[0].path
            raise LoopChangeError(path, "of another type", "of another again")
        self._build()

    # -- what is carried ---------------------------------------------------------------------------

    def _try(self) -> bool:
        """Run an iteration to see what it changes; whether that is more than was known."""
        with Region() as region:
            values = self._start(region)
            self.state.write(values)
            self.body(self._count)
            after = self.state.read()
            self.state.write(self.before)
            changed = False
            for n, slot in enumerate(self.slots):
                if slot.live and after[n] is not values[n]:
                    changed |= self._vary(n, slot.name, values[n], after[n])
            region.discard()
        return changed

    def _vary(self, n: int, name: str, before: Any, after: Any) -> bool:
        """Carry a slot; whether it was not, or its type is another now."""
        merger = Merger()
        try:
            merger.merge(before, after, name)
        except DisagreementError as error:
            raise LoopChangeError(error.path, error.left, error.right) from None
        known = {c.path: c for c in self.varying.get(n, ())}
        changed = False
        carries = list(known.values())
        start = dict(_leaf_paths(self.before[n], name))
        for pair in merger.pairs:
            wanted = common_dtype(pair.left, pair.right)
            shape = self._shape(pair.path, pair.left, pair.right)
            carry = known.get(pair.path)
            if carry is None:
                first = start.get(pair.path, UNSET)
                carries.append(_Carry(pair.path, first, wanted, shape))
                changed = True
            elif carry.dtype != wanted or len(carry.shape) != len(shape):
                carry.dtype, carry.shape, changed = wanted, shape, True
        self.varying[n] = carries
        return changed

    def _shape(self, path: str, left: Any, right: Any) -> tuple[Any, ...]:
        """The sizes of a carried leaf: those of a tensor that it is on one side at least."""
        if not isinstance(right, torch.Tensor):
            return tuple(left.shape) if isinstance(left, torch.Tensor) else ()
        if isinstance(left, torch.Tensor) and left.ndim:
            if left.ndim != right.ndim or any(
                isinstance(a, int) and isinstance(b, int) and a != b
                for a, b in zip(left.shape, right.shape)
            ):
                raise LoopChangeError(path, words(left), words(right))
            return tuple(left.shape)
        return tuple(right.shape)

    # -- inputs ------------------------------------------------------------------------------------

    def _start(self, region: Region) -> list[Any]:
        """The slots with what is carried as inputs of a region."""
        self._count = None
        for carry in self.numbers:
            self._count = _input(region, carry)
        values = list(self.before)
        for n, carries in self.varying.items():
            made = {c.path: _input(region, c) for c in carries}
            values[n] = _replaced(values[n], self.slots[n].name, made)
        return values

    def _carries(self) -> list[_Carry]:
        return [*self.numbers, *(c for carries in self.varying.values() for c in carries)]

    # -- the loop ----------------------------------------------------------------------------------

    def _build(self) -> None:
        carries = self._carries()
        with Region() as region:
            values = self._start(region)
            self.state.write(values)
            going = as_truth(self.test(self._count))
            self.state.write(self.before)
            test = region.close([going])
        with Region() as region:
            values = self._start(region)
            self.state.write(values)
            again = self.body(self._count)
            after = self.state.read()
            self.state.write(self.before)
            leaves: list[Any] = [again] if self.numbers else []
            for n, found in self.varying.items():
                paths = dict(_leaf_paths(after[n], self.slots[n].name))
                leaves += [paths[c.path] for c in found]
            traced = (torch.Tensor, *SYMBOLS)
            body = region.close([v for v in leaves if isinstance(v, traced)])
        results = self._emit(test, body, carries, leaves, going)
        taken = iter(results)
        final = list(self.before)
        if self.numbers:
            next(taken)
        for n, found in self.varying.items():
            made = {c.path: next(taken) for c in found}
            final[n] = _replaced(after[n], self.slots[n].name, made)
            mark_numbers((c.start for c in found), made.values())
        self.state.write(final)

    def _emit(
        self, test: Part, body: Part, carries: list[_Carry], leaves: list[Any], going: Any
    ) -> list[Any]:
        """`while_loop` of the two parts."""
        first, second = list(test.read)[: len(carries)], list(body.read)[: len(carries)]
        written = [n for n in body.written if n not in second]
        made = Outputs(body)
        for carry, leaf in zip(carries, leaves):
            made.add(leaf, leaf, carry.path, carry.dtype, carry.shape)
        for node in written:
            made.add_node(body.written[node])
        truth = Outputs(test)
        truth.add(going, going, "the condition", torch.bool)
        rest = [n for n in dict.fromkeys([*test.read, *body.read])
                if n not in first and n not in second and n not in written]  # fmt: skip
        one = test.module([*first, *written, *rest], truth.nodes)
        two = body.module([*second, *written, *rest], made.nodes)
        begun = [_value(c) for c in carries]
        values = operand_values([*written, *rest])
        targets = values[: len(written)]
        begun += [t.clone(memory_format=torch.contiguous_format) for t in targets]
        parts = {"while_loop_cond_graph": one, "while_loop_body_graph": two}
        args = (one, two, tuple(begun), tuple(values[len(written) :]))
        given = [empty(x.shape, x.dtype) for x in begun]
        results = emit(torch.ops.higher_order.while_loop, parts, args, given)
        for target, value in zip(targets, results[len(carries) :]):
            target.copy_(value)
        return list(results[: len(carries)])


def mark_numbers(starts: Iterable[Any], results: Iterable[Any]) -> None:
    """Remember which tensors stand for numbers of Python."""
    session = current()
    for start, result in zip(starts, results):
        if session is not None and not isinstance(start, torch.Tensor):
            session.numbers.add(result)


def _value(carry: _Carry) -> Any:
    """What a carried tensor is before the loop."""
    start = carry.start
    if isinstance(start, torch.Tensor):
        value = start if start.dtype == carry.dtype else start.to(carry.dtype)
        if value.ndim != len(carry.shape):
            value = value.expand(carry.shape)
        return value.clone(memory_format=torch.contiguous_format)
    number = 0 if start is UNSET else start
    if isinstance(number, SYMBOLS):
        return torch.scalar_tensor(number, dtype=carry.dtype).expand(carry.shape).clone()
    return torch.full(carry.shape, number, dtype=carry.dtype)


def _input(region: Region, carry: _Carry) -> Any:
    """A tensor that stands for a carried one in an iteration."""
    made = _value(carry)
    region.input(made)
    session = current()
    if session is not None and not isinstance(carry.start, torch.Tensor):
        session.numbers.add(made)
    return made


def _leaf_paths(value: Any, path: str) -> list[tuple[str, Any]]:
    """The leaves of a value with what the user calls them."""
    if is_leaf(value):
        return [(path, value)]
    parts = parts_of(value)
    if parts is None:
        return []
    return [leaf for k, v in zip(parts[0], parts[1]) for leaf in _leaf_paths(v, f"{path}{k}")]


def _replaced(value: Any, path: str, leaves: dict[str, Any]) -> Any:
    """A value with other leaves in the place of some."""
    if path in leaves:
        return leaves[path]
    parts = parts_of(value)
    if parts is None:
        return value
    return parts[2]([_replaced(v, f"{path}{k}", leaves) for k, v in zip(parts[0], parts[1])])


def as_truth(value: Any) -> Any:
    """A condition as a tensor of one truth value.

    Args:
        value: a tensor of one element, a number, or a symbolic one.

    Returns:
        A tensor without axes.
    """
    if isinstance(value, torch.Tensor):
        if value.ndim:
            value = value.reshape(())
        return value if value.dtype == torch.bool else value != 0
    if isinstance(value, torch.SymBool):
        return torch.scalar_tensor(value, dtype=torch.bool)
    if isinstance(value, SYMBOLS):
        return torch.scalar_tensor(value) != 0
    return torch.full((), bool(value), dtype=torch.bool)
