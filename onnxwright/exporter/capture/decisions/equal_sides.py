"""Whether one side of a decision by sizes computes what the other one does, at the sizes of that.

It is proven on the graphs of both sides: padding by nothing, a slice of the whole, a `cat` with
nothing and a view of the same shape are their operands, and what is left is the same operators of
the same operands, with numbers that are equal at these sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.graphs.regions import SYMBOLS, Part
from onnxwright.exporter.capture.graphs.writes import written_arguments
from onnxwright.exporter.capture.values.parts import parts_of

aten = torch.ops.aten
_COPIES = (
    aten.clone.default, aten.alias.default, aten.detach.default, aten.contiguous.default,
    aten.lift_fresh_copy.default,
)  # fmt: skip
_SHAPES = (
    aten.view.default, aten.reshape.default, aten._unsafe_view.default, aten.expand.default,
)  # fmt: skip
_PADS = (aten.pad.default, aten.constant_pad_nd.default)

Holds = Callable[[Any], bool]


def are_equal(parts: Sequence[Part], pairs: Iterable[tuple[Any, Any]], holds: Holds) -> bool:
    """Whether two sides leave equal values.

    Args:
        parts: the graphs of the sides.
        pairs: the values that they leave.
        holds: whether a condition is proven of all sizes at which they are to be equal.
    """
    tensors: list[tuple[Any, Any]] = []
    if any(part.written for part in parts):
        return False
    if not all(_values(one, two, tensors, holds) for one, two in pairs):
        return False
    if not tensors:
        return True
    operands = list(dict.fromkeys([*parts[0].read, *parts[1].read]))
    modules = []
    for n, part in enumerate(parts):
        nodes = [part.values[id(pair[n])] for pair in tensors]
        module = part.module(operands, nodes)
        if any(written_arguments(node) for node in module.graph.nodes):
            return False
        modules.append(module)
    outputs = [module.graph.output_node().args[0] for module in modules]
    return _Graphs(modules, holds).are_same(zip(*outputs))


def _values(one: Any, two: Any, tensors: list[tuple[Any, Any]], holds: Holds) -> bool:
    """Whether values are equal but for tensors, which are added to a list."""
    if one is two:
        return True
    if isinstance(one, torch.Tensor) and isinstance(two, torch.Tensor):
        tensors.append((one, two))
        same = one.dtype == two.dtype and one.ndim == two.ndim
        return same and all(_numbers(a, b, holds) for a, b in zip(one.shape, two.shape))
    if isinstance(one, (bool, int, float, *SYMBOLS)):
        return isinstance(two, (bool, int, float, *SYMBOLS)) and _numbers(one, two, holds)
    if type(one) is not type(two):
        return False
    if isinstance(one, (tuple, list, dict)):
        left, right = parts_of(one), parts_of(two)
        if left is None or right is None or left[0] != right[0]:
            return False
        return all(_values(a, b, tensors, holds) for a, b in zip(left[1], right[1]))
    return isinstance(one, str) and bool(one == two)


def _numbers(one: Any, two: Any, holds: Holds) -> bool:
    """Whether two numbers are of one type, and equal."""
    if not isinstance(one, SYMBOLS) and not isinstance(two, SYMBOLS):
        return type(one) is type(two) and bool(one == two)
    left, right = _expression(one), _expression(two)
    if left == right:
        return True
    whole = (int, torch.SymInt)
    if not isinstance(one, whole) or not isinstance(two, whole) or isinstance(one, bool):
        return False
    if isinstance(two, bool) or free_unbacked_symbols(left) or free_unbacked_symbols(right):
        return False
    return holds(sympy.Eq(left, right))


def _expression(number: Any) -> Any:
    return number.node.expr if isinstance(number, SYMBOLS) else sympy.sympify(number)


class _Graphs:
    """The graphs of two sides, of the same operands."""

    def __init__(self, modules: Sequence[fx.GraphModule], holds: Holds) -> None:
        self.modules, self.holds = modules, holds
        places = [[n for n in m.graph.nodes if n.op == "placeholder"] for m in modules]
        self.place = {node: n for nodes in places for n, node in enumerate(nodes)}
        self.verdicts: dict[tuple[fx.Node, fx.Node], bool] = {}

    def are_same(self, pairs: Iterable[tuple[fx.Node, fx.Node]]) -> bool:
        """Whether nodes of both graphs have equal values."""
        return all(self.same(one, two) for one, two in pairs)

    def same(self, one: Any, two: Any) -> bool:
        """Whether two arguments of operators are equal."""
        if isinstance(one, (list, tuple)) and isinstance(two, (list, tuple)):
            return len(one) == len(two) and all(map(self.same, one, two))
        numbers = _number(one), _number(two)
        if numbers[0] is not None or numbers[1] is not None:
            return None not in numbers and _numbers(*numbers, self.holds)
        if not isinstance(one, fx.Node) or not isinstance(two, fx.Node):
            return type(one) is type(two) and bool(one == two)
        one, two = self.plain(one), self.plain(two)
        if (one, two) not in self.verdicts:
            self.verdicts[one, two] = self._same_nodes(one, two)
        return self.verdicts[one, two]

    def _same_nodes(self, one: fx.Node, two: fx.Node) -> bool:
        if one in self.place or two in self.place:
            return self.place.get(one) == self.place.get(two)
        if one.op != "call_function" or one.target is not two.target:
            return False
        schema = getattr(one.target, "_schema", None)
        if schema is None or schema.is_mutable:
            return False
        if torch.Tag.nondeterministic_seeded in one.target.tags:
            return False
        if one.kwargs.keys() != two.kwargs.keys():
            return False
        return self.same(one.args, two.args) and all(
            self.same(value, two.kwargs[key]) for key, value in one.kwargs.items()
        )

    # -- operators that give an operand ------------------------------------------------------------

    def plain(self, node: fx.Node) -> fx.Node:
        """The node that a node is equal to, without operators that change nothing."""
        while True:
            operand = self._operand(node)
            if operand is None or not _is_alike(operand, node):
                return node
            node = operand

    def _operand(self, node: fx.Node) -> fx.Node | None:
        """The operand that an operator gives as it is; None if that is not proven."""
        args, target = node.args, node.target
        if target in _COPIES:
            return _node(args[0])
        if target in _SHAPES:
            return _node(args[0]) if self._is_of_shape(node, args[0]) else None
        if target in _PADS and isinstance(args[1], (list, tuple)):
            return _node(args[0]) if all(self._is(pad, 0) for pad in args[1]) else None
        if target is aten.slice.Tensor:
            return _node(args[0]) if self._is_whole(args[0], args[1:]) else None
        if target is aten.cat.default and isinstance(args[0], (list, tuple)):
            axis = args[1] if len(args) > 1 else 0
            left = [part for part in args[0] if not self._is_empty(part, axis)]
            return _node(left[0]) if len(left) == 1 else None
        return None

    def _is(self, number: Any, expected: Any) -> bool:
        value, other = _number(number), _number(expected)
        return value is not None and other is not None and _numbers(value, other, self.holds)

    def _is_of_shape(self, one: Any, two: Any) -> bool:
        shapes = _shape(one), _shape(two)
        if shapes[0] is None or shapes[1] is None or len(shapes[0]) != len(shapes[1]):
            return False
        return all(_numbers(a, b, self.holds) for a, b in zip(*shapes))

    def _is_whole(self, base: Any, bounds: Sequence[Any]) -> bool:
        """Whether `[start:stop:step]` along an axis is all of a tensor."""
        full_bounds = [*bounds, *(0, None, None, 1)[len(bounds) :]]
        axis, start, stop, step = full_bounds
        shape = _shape(base)
        if shape is None or step != 1 or not isinstance(axis, int):
            return False
        if start is not None and not self._is(start, 0):
            return False
        if stop is None:
            return True
        end = _number(stop)
        if end is None:
            return False
        reaches = sympy.Ge(_expression(end), _expression(shape[axis]))
        if reaches == sympy.true:
            return True
        return not free_unbacked_symbols(reaches) and self.holds(reaches)

    def _is_empty(self, part: Any, axis: Any) -> bool:
        shape = _shape(part)
        return shape is not None and isinstance(axis, int) and self._is(shape[axis], 0)


def _node(value: Any) -> fx.Node | None:
    return value if isinstance(value, fx.Node) else None


def _number(value: Any) -> Any:
    """A number, or the symbolic one that a node is; None for anything else."""
    if isinstance(value, fx.Node):
        value = value.meta.get("val")
    return value if isinstance(value, (bool, int, float, *SYMBOLS)) else None


def _shape(value: Any) -> Any:
    fake_value = value.meta.get("val") if isinstance(value, fx.Node) else None
    return fake_value.shape if isinstance(fake_value, torch.Tensor) else None


def _is_alike(one: fx.Node, two: fx.Node) -> bool:
    """Whether nodes are tensors of one type and number of axes."""
    a, b = one.meta.get("val"), two.meta.get("val")
    tensors = isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
    return tensors and a.dtype == b.dtype and a.ndim == b.ndim
