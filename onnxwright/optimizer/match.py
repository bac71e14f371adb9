"""What matching finds: `Match`, the place of a pattern, and `Near`, where it almost lay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import onnx_ir as ir

from onnxwright.builder.replay_model import INFERRED
from onnxwright.ir.stored import notes_of
from onnxwright.optimizer.pattern_nodes import PatternNode
from onnxwright.optimizer.patterns import Pattern
from onnxwright.tracing.carrying import kind_of
from onnxwright.types.kinds import OnnxType


def _nothing(*_: object) -> Any:
    return None


@dataclass
class Match:
    """A place where a pattern lies in a graph.

    Fields:
        pattern: the pattern.
        values: parameter -> value of the graph, None for an absent input, a list for `*rest`.
        attributes: parameter -> the captured attribute, a dict for `**rest`.
        nodes: node of the pattern -> node of the graph.
    """

    pattern: Pattern
    values: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    nodes: dict[PatternNode, ir.Node] = field(default_factory=dict)
    # Set where a replacement is asked for: what stands for a value of the source graph.
    resolve: Callable[[ir.Value | None], Any] = _nothing
    # Likewise: a call of a script as a function that the model then has.
    call: Callable[..., Any] = _nothing

    def copy(self) -> Match:
        """A match that can go on in another way."""
        return Match(self.pattern, dict(self.values), dict(self.attributes), dict(self.nodes))

    def forget(self) -> None:
        """Discard the conditions of a replacement."""
        self.resolve = self.call = _nothing

    @property
    def kinds(self) -> list[OnnxType | None]:
        """The types of the results, as the graph has them."""
        values = [self.nodes[r.node].outputs[r.index] for r in self.pattern.results]
        return [notes_of(v).get(INFERRED) or kind_of(v) for v in values]

    @property
    def roots(self) -> list[ir.Node]:
        """The nodes that make the results, the first one first."""
        return [self.nodes[r] for r in self.pattern.roots]


@dataclass(frozen=True)
class Near:
    """The place where a pattern almost lay.

    Fields:
        matched: how many of its nodes matched.
        expected: the node or value of the pattern that did not.
        line: the line of the pattern function.
        node: the node of the model.
        reason: why not.
        pairs: the nodes of the pattern that matched, as text, each with the model's node.
    """

    matched: int
    expected: str
    line: int | None
    node: ir.Node | None
    reason: str
    pairs: tuple[tuple[str, ir.Node], ...] = ()
