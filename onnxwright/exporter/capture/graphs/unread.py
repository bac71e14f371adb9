"""Results of decisions and loops that nothing reads, taken out of a captured program.

A decision gives, beside a tensor, the tag of the tensor that it is, and a loop carries these tags.
They are read where the program writes to such a tensor in place, and nowhere else.  What a loop
carries is needed where its result is read, or where an iteration reads it for what is needed: the
least fixed point, as compilers remove dead code that contains loops.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx

from onnxwright.exporter.torch_internals import OpOverload

_COND, _WHILE = torch.ops.higher_order.cond, torch.ops.higher_order.while_loop
# The modules of functions of Python and torch that compute with sizes.
_ON_SIZES = frozenset((operator.__name__, "_operator", "math", "torch"))


def remove_unread(program: fx.GraphModule) -> None:
    """Remove the results of decisions and loops that a program does not need.

    Args:
        program: changed in place; its inputs and outputs stay.
    """
    needs = _Needs()
    if any(node.target in (_COND, _WHILE) for node in program.graph.nodes):
        outputs = range(len(_outputs(program)))
        needs.of(program, outputs)
        needs.leave(program, outputs, range(len(_inputs(program))))


def _outputs(module: fx.GraphModule) -> Sequence[Any]:
    (results,) = module.graph.output_node().args
    return results if isinstance(results, (tuple, list)) else (results,)


def _inputs(module: fx.GraphModule) -> list[fx.Node]:
    return [node for node in module.graph.nodes if node.op == "placeholder"]


def _is_pure(node: fx.Node) -> bool:
    """Whether a node that nothing reads does nothing."""
    if node.op == "get_attr" or node.target in (_COND, _WHILE):
        return True
    if isinstance(node.target, OpOverload):
        return not node.is_impure()
    return getattr(node.target, "__module__", "") in _ON_SIZES


def _module_at(node: Any) -> fx.GraphModule:
    """The graph that a node names."""
    module: fx.GraphModule = node.graph.owning_module.get_submodule(node.target)
    return module


@dataclass
class _Needed:
    """What a graph needs for some of its outputs.

    Fields:
        nodes: its nodes.
        results: the numbers of the results of its decisions and loops.
    """

    nodes: set[fx.Node] = field(default_factory=set)
    results: dict[fx.Node, set[int]] = field(default_factory=dict)

    def add(self, value: Any) -> None:
        """Need the nodes of an argument."""
        fx.node.map_arg(value, self.nodes.add)


class _Needs:
    """What graphs need, by the graphs and their outputs that are read."""

    def __init__(self) -> None:
        self.known: dict[tuple[fx.GraphModule, tuple[int, ...]], _Needed] = {}

    def of(self, module: fx.GraphModule, outputs: Collection[int]) -> _Needed:
        """What a graph needs for some of its outputs, and for what it does."""
        key = module, tuple(sorted(outputs))
        if key not in self.known:
            needed = self.known[key] = _Needed()
            results = _outputs(module)
            needed.add([results[n] for n in outputs])
            names = Counter(n.target for n in module.graph.nodes if n.op == "get_attr")
            for node in reversed(module.graph.nodes):
                if node.op in ("placeholder", "output"):
                    continue
                if node in needed.nodes or not _is_pure(node):
                    needed.nodes.add(node)
                    self._add_arguments(node, needed, names)
        return self.known[key]

    def _add_arguments(self, node: fx.Node, needed: _Needed, names: Counter[Any]) -> None:
        """Need what a node reads."""
        if node.target is operator.getitem:
            home, number = node.args
            needed.results.setdefault(home, set()).add(number)
        if node.target not in (_COND, _WHILE):
            needed.add((node.args, node.kwargs))
            return
        parts, operands = _parts(node)
        is_read_whole = any(user.target is not operator.getitem for user in node.users)
        if is_read_whole or any(names[part.target] > 1 for part in parts):
            needed.results.pop(node, None)  # a graph of two decisions has all results of both
            needed.add(node.args)
            return
        live = needed.results.setdefault(node, set())
        read = self._read(node, live)
        needed.add([parts, [operand for n, operand in enumerate(operands) if n in read]])
        if node.target is _COND:
            needed.add(node.args[0])

    def _read(self, node: fx.Node, live: set[int]) -> set[int]:
        """The operands that a decision or a loop reads; what a loop carries for it becomes live."""
        parts, _ = _parts(node)
        first, last = map(_module_at, parts)
        if node.target is _COND:
            return self._inputs_of(first, live) | self._inputs_of(last, live)
        carried = set(range(len(node.args[2])))
        tested = self._inputs_of(first, {0})
        read = tested | self._inputs_of(last, live)
        while not carried & read <= live:
            live |= carried & read
            read = tested | self._inputs_of(last, live)
        return live | read

    def _inputs_of(self, module: fx.GraphModule, outputs: Collection[int]) -> set[int]:
        """The numbers of the inputs that a graph needs."""
        nodes = self.of(module, outputs).nodes
        return {n for n, node in enumerate(_inputs(module)) if node in nodes}

    def leave(
        self, module: fx.GraphModule, outputs: Collection[int], inputs: Collection[int]
    ) -> None:
        """Leave a graph some of its outputs and inputs, and what these need."""
        needed, graph = self.of(module, outputs), module.graph
        end, results, placeholders = graph.output_node(), _outputs(module), _inputs(module)
        if len(outputs) < len(results):
            end.args = (tuple(results[n] for n in sorted(outputs)),)
        for node in reversed(graph.nodes):
            if node in needed.nodes and node in needed.results and node.target in (_COND, _WHILE):
                self._restrict(node, needed.results[node])
            elif node not in needed.nodes and node.op not in ("placeholder", "output"):
                graph.erase_node(node)
        for n, node in enumerate(placeholders):
            if n not in inputs:
                graph.erase_node(node)
        graph.lint()
        module.recompile()

    def _restrict(self, node: fx.Node, live: set[int]) -> None:
        """Leave a decision or a loop some of its results, and the operands that it reads."""
        parts, operands = _parts(node)
        modules, read = [_module_at(part) for part in parts], sorted(self._read(node, live))
        kept = [operands[n] for n in read]
        if node.target is _COND:
            node.args = (*node.args[:3], tuple(kept))
            outputs = (live, live)
        else:
            node.args = (*node.args[:2], tuple(kept[: len(live)]), tuple(kept[len(live) :]))
            outputs = ({0}, live)
        for module, its_outputs in zip(modules, outputs):
            self.leave(module, its_outputs, read)
        places = {n: place for place, n in enumerate(sorted(live))}
        values = node.meta.get("val")
        if values is not None:
            node.meta["val"] = tuple(values[n] for n in sorted(live))
        for user in list(node.users):
            if user.target is operator.getitem:
                user.args = (node, places[user.args[1]])


def _parts(node: fx.Node) -> tuple[Sequence[Any], Sequence[Any]]:
    """The nodes of the graphs of a decision or a loop, and its operands."""
    args: Any = node.args
    if node.target is _COND:
        return args[1:3], args[3]
    return args[:2], (*args[2], *args[3])
