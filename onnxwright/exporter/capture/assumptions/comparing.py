"""What was captured compared with the module itself, at other sizes than it was captured with."""

from __future__ import annotations

import copy
import enum
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.export import ExportedProgram

from onnxwright.exporter.capture.assumptions.branches import resized
from onnxwright.exporter.capture.assumptions.decisions import Decision
from onnxwright.exporter.capture.assumptions.drawn_values import LARGER, Draw, drawn
from onnxwright.exporter.capture.assumptions.squeezes import (
    keep_squeezed,
    sizes_without,
    squeezed_sizes,
)
from onnxwright.exporter.capture.control.keeping import HeldStateRuns
from onnxwright.exporter.capture.inputs.shapes import Wanted
from onnxwright.exporter.torch_internals import pytree

# Ten times torch.testing's tolerances of float32: whole networks add up rounding.
_TOLERANCES = {torch.float16: (1e-2, 1e-3), torch.bfloat16: (3e-2, 1e-2)}
_RELATIVE, _ABSOLUTE = 1e-4, 1e-5
_MOST_ELEMENTS = 1 << 26


class Compared(enum.Enum):
    """What a comparison found: the module itself may refuse some sizes."""

    EQUAL = 0
    DIFFERENT = 1
    REFUSED = 2


class Comparison:
    """Runs a module and what was captured of it on the same inputs.

    Args:
        module: the module.
        captured: what was captured.
        example: the flattened inputs that it was captured with.
    """

    def __init__(
        self, module: torch.nn.Module, captured: torch.nn.Module, example: Sequence[Any] = ()
    ) -> None:
        self.module, self.captured, self.example = module, captured, example
        self._usual: dict[Draw, Compared] = {}
        self._runs: dict[torch.nn.Module, HeldStateRuns] = {}

    def run(
        self, flat: Sequence[Any], spec: Any, draws: Sequence[Draw] = (Draw.GIVEN,), label: str = ""
    ) -> Compared:
        """Compare results, and what is written into inputs.

        A difference for values for which there is one at the sizes of the example as well says
        nothing about sizes.

        Args:
            flat: flattened inputs.
            spec: their structure.
            draws: which values the inputs have, one after another.
            label: what other values are drawn for.

        Returns:
            Whether they are equal for all values that the module takes.
        """
        if sum(x.numel() for x in flat if isinstance(x, torch.Tensor)) > _MOST_ELEMENTS:
            return Compared.REFUSED
        result = Compared.REFUSED
        for draw in draws:
            found = self._once(flat, spec, draw, label)
            if found is Compared.REFUSED and draw is draws[0]:
                return found  # it is the sizes that the module refuses
            if found is Compared.DIFFERENT and not self._is_usual(spec, draw):
                return found
            if found is Compared.EQUAL:
                result = found
        return result

    def _is_usual(self, spec: Any, draw: Draw) -> bool:
        """Whether values of a kind make a difference at the sizes of the example, too."""
        if draw is Draw.GIVEN or not self.example:
            return False
        if draw not in self._usual:
            self._usual[draw] = self._once(self.example, spec, draw, "the example")
        return self._usual[draw] is Compared.DIFFERENT

    def _once(self, flat: Sequence[Any], spec: Any, draw: Draw, label: str) -> Compared:
        values = drawn(flat, self.example or flat, draw, label)
        try:
            wanted = self._results(self.module, values, spec)
        except Exception:  # noqa: BLE001 - the module does not take these inputs
            return Compared.REFUSED
        try:
            found = self._results(self.captured, values, spec)
        except Exception:  # noqa: BLE001 - whatever stops it, it does not do what the module does
            return Compared.DIFFERENT
        larger = LARGER if draw is Draw.LARGE else 1.0
        pairs = zip(found, wanted, strict=False)
        same = len(found) == len(wanted) and all(_is_same(*pair, larger) for pair in pairs)
        return Compared.EQUAL if same else Compared.DIFFERENT

    def _results(self, module: torch.nn.Module, flat: Sequence[Any], spec: Any) -> list[Any]:
        """The results of a module, and its inputs after it."""
        if module not in self._runs:
            self._runs[module] = HeldStateRuns(module)
        buffers = [(b, b.detach().clone()) for b in module.buffers()]
        copies = [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in flat]
        args, kwargs = pytree.tree_unflatten(copies, spec)
        alone = torch.random.fork_rng(devices=())
        with alone, torch.no_grad(), self._runs[module].one():
            torch.manual_seed(0)
            try:
                results = pytree.tree_leaves(module(*args, **kwargs))
            finally:
                for buffer, value in buffers:
                    buffer.copy_(value)
        return [*results, *copies]


@contextmanager
def compared(
    module: torch.nn.Module, program: ExportedProgram, example: Sequence[Any] = ()
) -> Iterator[Comparison]:
    """Compare a module with a program that was captured of it; both stay as they are.

    Args:
        module: the module.
        program: the program.
        example: the flattened inputs that it was captured with.

    Yields:
        What compares them.
    """
    options = {"check_guards": False}
    known = inspect.signature(program.module).parameters
    captured = program.module(**{k: v for k, v in options.items() if k in known})
    # They hold ranges that torch narrows for layouts, too; `Sizes.check` knows the others.
    captured._forward_pre_hooks.clear()
    _make_runnable(captured)
    yield Comparison(module, captured, example)


def squeezed_apart(
    module: torch.nn.Module, program: ExportedProgram, wanted: Wanted
) -> list[Decision]:
    """The sizes of 1 that `squeeze` removes in a module, and that make a difference in its model.

    Args:
        module: the module.
        program: what was captured of it.
        wanted: the example inputs.

    Returns:
        The conditions that exclude them.
    """
    found = squeezed_sizes(program)
    if not found:
        return []
    flat, spec = pytree.tree_flatten((wanted.args, wanted.kwargs))
    with compared(module, program) as comparison:
        keep_squeezed(comparison.captured)

        def is_apart(decision: Decision) -> bool:
            sizes = sizes_without(decision.expression, program)
            if not sizes:
                return False
            return comparison.run(resized(flat, sizes), spec) is Compared.DIFFERENT

        return [decision for decision in found if is_apart(decision)]


_ASSERTIONS = (
    torch.ops.aten._assert_scalar.default,
    torch.ops.aten._assert_async.msg,
    torch.ops.aten.sym_constrain_range.default,
    torch.ops.aten.sym_constrain_range_for_size.default,
)


def _make_runnable(part: torch.fx.GraphModule) -> None:
    """Remove what an exported model does not have, and let conditions of loops give a tensor.

    Assertions have ranges of values that torch narrows for layouts.
    """
    conditions = set()
    for node in list(part.graph.nodes):
        if node.target in _ASSERTIONS and not node.users:
            part.graph.erase_node(node)
        elif node.target is torch.ops.higher_order.while_loop:
            conditions.add(node.args[0].target)
    part.recompile()
    for name, inner in list(part.named_children()):
        if isinstance(inner, torch.fx.GraphModule):
            own = torch.fx.GraphModule(inner, copy.deepcopy(inner.graph))
            if name in conditions:
                _give_one(own)
            _make_runnable(own)
            setattr(part, name, own)


def _give_one(condition: torch.fx.GraphModule) -> None:
    """The condition of a loop gives a tensor, not a tuple of one."""
    output = condition.graph.output_node()
    results = output.args[0]
    if isinstance(results, (tuple, list)) and len(results) == 1:
        output.args = (results[0],)


def _is_same(one: Any, two: Any, larger: float) -> bool:
    if not isinstance(one, torch.Tensor) or not isinstance(two, torch.Tensor):
        return type(one) is type(two) and bool(one == two)
    if one.dtype != two.dtype or one.shape != two.shape:
        return False
    relative, absolute = _TOLERANCES.get(two.dtype, (_RELATIVE, _ABSOLUTE))
    return bool(torch.allclose(one, two, relative, absolute * larger, equal_nan=True))
