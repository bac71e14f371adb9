"""Both sides of a decision by a tensor, as `torch.cond`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from types import FrameType
from typing import Any

import torch
from torch import fx

from onnxwright.exporter.capture.decisions.equal_sides import are_equal
from onnxwright.exporter.capture.decisions.size_sides import SizeSides
from onnxwright.exporter.capture.decisions.truth import as_truth, kept_open
from onnxwright.exporter.capture.graphs.emitting import emit, known_symbols, merged_sizes
from onnxwright.exporter.capture.graphs.regions import (
    SYMBOLS,
    Part,
    Region,
    empty,
    operand_values,
    tracer,
)
from onnxwright.exporter.capture.graphs.writes import base_of, memory_of
from onnxwright.exporter.capture.lists.list_forms import (
    form_of_item,
    raise_growth,
    rows_kept,
    widened,
)
from onnxwright.exporter.capture.session.errors import (
    DisagreementError,
    SharedWriteError,
    words,
)
from onnxwright.exporter.capture.session.model_lines import model_line, returning_frame
from onnxwright.exporter.capture.session.program_lists import List
from onnxwright.exporter.capture.session.session import current, refused_here
from onnxwright.exporter.capture.values.aliases import Join, kept_equal, new_writes, settle
from onnxwright.exporter.capture.values.chosen_objects import (
    Chosen,
    add_chosen,
    chosen_so_far,
    note_chosen,
    take_chosen,
)
from onnxwright.exporter.capture.values.join import Build, Merger, Pair, common_dtype
from onnxwright.exporter.capture.values.list_writes import written
from onnxwright.exporter.capture.values.logic import (
    chosen,
    chosen_tag,
    comparisons,
    fact_of,
    supposing,
)
from onnxwright.exporter.capture.values.one_of import WHICH, settled
from onnxwright.exporter.capture.values.parts import leaves_of
from onnxwright.exporter.capture.values.sides import end_side, side_of
from onnxwright.exporter.capture.values.state import UNSET, Slot, State

aten = torch.ops.aten


def conditional(
    condition: Any, then: Callable[[], None], orelse: Callable[[], None], state: State
) -> bool:
    """Run both branches into graphs, and choose between their results at run time.

    Args:
        condition: a tensor of one element, a number or a symbolic one.
        then, orelse: the branches.
        state: what they change; it has the results afterwards.

    Returns:
        Whether the branches give anything, so that there is a choice.

    Raises:
        DisagreementError: the results cannot be one value.
    """
    with refused_here():
        truth = as_truth(condition)
        sizes = SizeSides.of(condition)
        while True:
            before, count = state.read(), chosen_so_far()
            try:
                return _conditional(truth, then, orelse, state, sizes)
            except DisagreementError as error:
                take_chosen(count)
                if error.condition is None:
                    error.condition = _comparison(condition)
                state.write(before)
                if error.grows is None or not _has_rows(*error.grows):
                    raise


def _comparison(condition: Any) -> Any:
    """The comparison of sizes that a condition is; None for others."""
    return condition.node.expr if isinstance(condition, torch.SymBool) else None


def _has_rows(items: list[Any], added: Any) -> bool:
    """Make the items of a list that grows on one side rows; whether this is the place to."""
    session = current()
    if not isinstance(items, List) or session is None:
        return False
    written(items, widened(items, form_of_item(added, known_symbols())))
    return True


def _conditional(
    condition: Any,
    then: Callable[[], None],
    orelse: Callable[[], None],
    state: State,
    sizes: SizeSides | None = None,
) -> bool:
    slots, count = state.slots(), chosen_so_far()
    before = state.read()
    parts: list[Part] = []
    side_values: list[list[Any]] = []
    raw: list[list[Any]] = []
    chosen_there: list[Chosen] = []
    for side, branch in ((True, then), (False, orelse)):
        state.write(before)
        outside = comparisons()
        with (
            Region() as region, supposing(condition, side), side_of(then, orelse) as written,
            nullcontext() if sizes is None else sizes.on(side),
        ):  # fmt: skip
            replacements: dict[Any, Any] = {}
            for truth, holds in comparisons().items():
                if truth not in outside:
                    replacements |= region.facts.suppose(holds)
            branch()
            settle(new_writes())
            chosen_there += take_chosen(count)
            after = rows_kept(before, [kept_open(value) for value in state.read()])
            state.setter(before)
            late = end_side(written, state, then, orelse)
            if late:
                # Places that this side wrote to: the other side leaves them as they are.
                held = state.add([place for place, _ in late])
                before += held
                after += rows_kept(held, [value for _, value in late])
                for one in side_values:  # of the first side
                    one += map(settled, state.on_other_side(one, held))
                for one in raw:
                    one += state.on_other_side(one, held)
                slots = state.slots()
            live = [v for slot, v in zip(slots, after) if slot.live]
            parts.append(region.close(leaves_of(live)))
            parts[-1].replacements = replacements
            raw.append(after)
            side_values.append([settled(value) for value in after])
        if late and side is False:
            parts[0].give_outer(leaves_of(held), tracer())
    state.write(before)
    for n, (one, two) in enumerate(zip(*raw)):
        if one is two:  # what both sides leave as it is
            side_values[0][n] = side_values[1][n] = one
    if sizes is not None and _taken(sizes, (then, orelse), parts, list(zip(slots, *side_values))):
        return False
    merger = Merger((state.contents(side_values[0]), state.contents(side_values[1])))
    builds = []
    for n, (slot, old, left, right) in enumerate(zip(slots, before, *side_values)):
        owner = state.owner(n)
        if (left is UNSET) != (right is UNSET):
            state.note_one_sided(n)
        state.note_inherited(n)
        raise_growth(old if owner is None else owner, left, right, slot.name)
        if slot.live and state.fails_unset(n):
            builds.append(_merged_or_lost(merger, left, right, slot.name))
        else:
            items = owner is not None
            merged = merger.merge(left, right, slot.name, items=items) if slot.live else None
            builds.append(_constant(old) if merged is None else merged)
    with nullcontext() if sizes is None else sizes.merging():
        results = _chosen(condition, parts, merger.pairs)
    values: list[Any] = []
    frames: list[FrameType | None] = []
    for slot, build in zip(slots, builds):
        values.append(build(results))
        frames += [returning_frame(slot.name)] * (len(merger.joined_objects) - len(frames))
    state.write(values)
    add_chosen(chosen_there)
    note_chosen(merger.joined_objects, frames)
    return bool(merger.pairs or parts[0].written or parts[1].written)


def _taken(
    sizes: SizeSides,
    sides: tuple[Callable[[], None], Callable[[], None]],
    parts: list[Part],
    values: list[tuple[Slot, Any, Any]],
) -> bool:
    """Run the one side that is right at all sizes, if that is proven of one."""
    pairs = [(left, right) for slot, left, right in values if slot.live]
    for side, branch in ((True, sides[0]), (False, sides[1])):
        if are_equal(parts, pairs, sizes.proves_where(not side)):
            with sizes.on(side):
                branch()
            sizes.record(side)
            return True
    sizes.record(None)
    return False


def _chosen(condition: Any, parts: list[Part], pairs: list[Pair]) -> list[Any]:
    """The results of two parts, of which it is known what they may be, and then their tags."""
    join = Join(parts, pairs)
    pairs = [*pairs, *join.tags]
    results = choose(condition, parts, pairs)
    _note_results(condition, pairs, results)
    join.note(results)
    return results


def _note_results(condition: Any, pairs: list[Pair], results: list[Any]) -> None:
    """Remember which results stand for numbers."""
    session, fact = current(), fact_of(condition)
    for pair, result in zip(pairs, results):
        _note_classes(pair, result)
        if session is not None and not _has_tensor(pair.left, pair.right):
            sides = [one for one in (pair.left, pair.right) if one is not UNSET]
            choices = [session.numbers.choices(one) for one in sides]
            session.numbers.add(
                result, frozenset().union(*choices) if all(choices) else frozenset()
            )
            is_tag = pair.path.endswith(WHICH) or all(choices)
            if is_tag and result.dtype == torch.int64 and not _is_unset(pair):
                chosen_tag(result, fact, pair.left, pair.right)
            elif result.dtype == torch.bool and all(
                isinstance(one, (bool, torch.Tensor)) for one in (pair.left, pair.right)
            ):
                chosen(result, fact, pair.left, pair.right)
        else:
            _note_types(pair, result)


def _note_classes(pair: Pair, result: Any) -> None:
    """Remember the classes of Python of what a value was made of."""
    session = current()
    if session is not None:
        sides = [session.numbers.types(one) for one in (pair.left, pair.right) if one is not UNSET]
        session.numbers.note_types(result, frozenset().union(*sides))


def _is_unset(pair: Pair) -> bool:
    return pair.left is UNSET or pair.right is UNSET


def _note_types(pair: Pair, result: torch.Tensor) -> None:
    """Remember a decision whose sides give tensors of two types; the model has one for both."""
    session, sides = current(), (pair.left, pair.right)
    if session is None or not all(isinstance(x, torch.Tensor) for x in sides):
        return
    types = tuple(x.dtype for x in sides)
    if types[0] != types[1] and not any(x in session.numbers for x in sides):
        session.two_types.setdefault(model_line(), (*types, result.dtype))


def _merged_or_lost(merger: Merger, left: Any, right: Any, path: str) -> Build:
    """The merged value of an attribute; unset if both sides differ, so that a read of it fails."""
    pairs = list(merger.pairs)
    try:
        return merger.merge(left, right, path)
    except DisagreementError:
        if not (leaves_of(left) or leaves_of(right)):
            raise
        merger.pairs[:] = pairs
        return _constant(UNSET)


def _has_tensor(*values: Any) -> bool:
    """Whether a value is a tensor that does not stand for a number of Python."""
    session = current()
    return any(
        isinstance(v, torch.Tensor) and (session is None or v not in session.numbers)
        for v in values
    )


def _constant(value: Any) -> Callable[[Sequence[Any]], Any]:
    return lambda _: value


def choose(condition: Any, parts: list[Part], pairs: list[Pair]) -> list[Any]:
    """The results of two parts, chosen by a condition.

    Args:
        condition: a tensor of one truth value, or a symbolic one.
        parts: the two sides; what both write to is written to afterwards.
        pairs: the results that differ.

    Returns:
        A tensor for each pair.
    """
    written = _written(parts)
    if not pairs and not written:
        return []
    outputs: list[list[fx.Node]] = []
    for n, part in enumerate(parts):
        part_outputs = Outputs(part)
        for pair in pairs:
            mine, other = (pair.left, pair.right) if n == 0 else (pair.right, pair.left)
            part_outputs.add(mine, other, pair.path)
        for node in written:
            part_outputs.add_node(part.placeholder(node))
        outputs.append(part_outputs.nodes)
    operands = list(dict.fromkeys([*parts[0].read, *parts[1].read]))
    modules = [part.module(operands, nodes) for part, nodes in zip(parts, outputs)]
    values = operand_values([*operands, *written])
    inputs, targets = values[: len(operands)], values[len(operands) :]
    sides = dict(zip(("true_graph", "false_graph"), modules))
    like = [
        empty(
            merged_sizes(a.meta["val"].shape, b.meta["val"].shape, [p.replacements for p in parts]),
            a.meta["val"].dtype,
        )
        for a, b in zip(*outputs)
    ]
    args = (condition, *modules, tuple(inputs))
    results = emit(torch.ops.higher_order.cond, sides, args, like)
    with kept_equal():
        for target, value in zip(targets, results[len(pairs) :]):
            target.copy_(value)
    return list(results[: len(pairs)])


def _written(parts: Sequence[Part]) -> list[fx.Node]:
    """What either part writes to; both write to the whole tensor where they write to its parts.

    Raises:
        SharedWriteError: what one writes to shares memory with what the other does, in a way that
            the trace does not show.
    """

    def nodes() -> list[fx.Node]:
        return list(dict.fromkeys(node for part in parts for node in part.written))

    for node in nodes():
        if any(n is not node and memory_of(n) == memory_of(node) for n in nodes()):
            for part in parts:
                part.write_base(base_of(node))
    memory = [memory_of(node) for node in nodes() if memory_of(node)]
    if len(set(memory)) < len(memory):
        raise SharedWriteError
    return nodes()


class Outputs:
    """The outputs of a part: each of the common type, none an operand, none twice."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.nodes: list[fx.Node] = []

    def add(
        self,
        value: Any,
        other: Any,
        path: str,
        dtype: torch.dtype | None = None,
        sizes: Sequence[Any] = (),
    ) -> None:
        """Add a leaf, as it has to be beside that of the other side; `sizes` are for numbers."""
        dtype = dtype or common_dtype(value, other)
        graph = self.part.graph
        if isinstance(value, torch.Tensor):
            if isinstance(other, torch.Tensor) and value.ndim != other.ndim:
                raise DisagreementError(path, words(value), words(other))
            node = self.part.values[id(value)]
            if value.dtype != dtype:
                node = graph.call_function(aten.to.dtype, (node, dtype))
                node.meta["val"] = empty(value.shape, dtype)
            self.add_node(node)
            return
        number: Any = 0 if value is UNSET else value
        if isinstance(number, SYMBOLS):
            number = self.part.values[id(value)]
        like = other.shape if isinstance(other, torch.Tensor) else sizes
        shape = self._shape(like)
        node = graph.call_function(aten.full.default, (shape, number), {"dtype": dtype})
        meta_shape = [1 if a == 1 else b for a, b in zip(shape, like)]
        node.meta["val"] = empty(meta_shape, dtype)
        self.add_node(node)

    def add_node(self, node: fx.Node) -> None:
        """Add a node; a copy, for sides must have one layout and give no operand as it is."""
        layout = {"memory_format": torch.contiguous_format}
        clone = self.part.graph.call_function(aten.clone.default, (node,), layout)
        value = node.meta["val"]
        clone.meta["val"] = empty(value.shape, value.dtype)
        self.nodes.append(clone)

    def _shape(self, like: Sequence[Any]) -> list[Any]:
        """The sizes of a tensor of the other side; 1 where they are known there only."""
        sizes: list[Any] = []
        for size in like:
            if not isinstance(size, torch.SymInt):
                sizes.append(size)
                continue
            try:
                proxy = tracer().unwrap_proxy(size)
            except Exception:  # noqa: BLE001 - torch has several kinds for a symbol it cannot find
                proxy = None
            sizes.append(self.part.placeholder(proxy.node) if isinstance(proxy, fx.Proxy) else 1)
        return sizes
