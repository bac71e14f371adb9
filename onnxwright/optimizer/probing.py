"""Whether any rule is used in a finished model: each one is tried there, and undone.

A round that replays a model and then finds that every rule declines costs as much as one that
rewrites it.  Here the rules are tried on the values of the model itself, with the backend that
built it: what a replacement makes reads these values, and is taken away again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import onnx_ir as ir

from onnxwright.builder.replay_model import Replayed
from onnxwright.ir.nested import all_nodes
from onnxwright.optimizer.constants import tensor_of
from onnxwright.optimizer.matching import Matcher
from onnxwright.optimizer.rewriter import MOST_MATCHES, Attempt, Rewriter
from onnxwright.optimizer.screening import Entry
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.carrying import kind_of
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.tracing.replay import Env, Replay


def is_used(model: Replayed, rewriter: Rewriter) -> bool:
    """Whether a rule is used anywhere in a model; the nodes at which none is become `settled`.

    Args:
        model: a model, and the replays that built it.
        rewriter: the rules; it notes what they were declined for.

    Returns:
        False where a replay with these rules would give the same model.
    """
    return any(_used_in(part, replay, rewriter) for part, replay in model.parts)


def _used_in(part: ir.Graph | ir.Function, replay: Replay, rewriter: Rewriter) -> bool:
    env = _Finished(replay.b)
    for node in all_nodes(part):
        entries = rewriter.index.at(node)
        if entries and _used_at(node, entries, replay, rewriter, env):
            return True
        rewriter.settled.add(node)
        env.passed.add(node)
    return False


def _used_at(
    node: ir.Node, entries: list[Entry], replay: Replay, rewriter: Rewriter, env: Env
) -> bool:
    recorder = replay.b.recorder
    for attempt in _attempts(node, entries, replay, rewriter, env):
        before = recorder.checkpoint()
        try:
            found = attempt.tried()
        finally:
            recorder.rollback(before)
        if found is not None:
            return bool(rewriter.fired)
    return False


def _attempts(
    node: ir.Node, entries: list[Entry], replay: Replay, rewriter: Rewriter, env: Env
) -> Iterator[Attempt]:
    for rule, pattern, root in entries:
        if any(f.identifier() == replay.function for f in rule.functions):
            continue
        matcher = Matcher(pattern, replay.imports, shared=rule.always)
        for match in islice(matcher.at(node, root), MOST_MATCHES):
            yield Attempt(rewriter, rule, match, node, replay, env)


class _Finished(Env):
    """The values of a finished graph, each standing for itself once its node has come.

    Args:
        b: the backend that built the graph.

    Attributes:
        passed: the nodes that have come.
    """

    def __init__(self, b: GraphBackend) -> None:
        super().__init__()
        self.b = b
        self.passed: set[ir.Node] = set()

    def __contains__(self, value: object) -> bool:
        assert isinstance(value, ir.Value)
        return self._has(value)

    def _has(self, value: ir.Value) -> bool:
        node = value.producer()
        return node is None or node in self.passed

    def get(self, value: ir.Value, default: Any = None) -> Any:
        """The value itself."""
        return self[value] if self._has(value) else default

    def __getitem__(self, value: ir.Value) -> GraphValue:
        recorder = self.b.recorder
        if value not in recorder.values:  # a pass made it after the replay
            tensor = tensor_of(value)
            if tensor is None:
                recorder.set_type(value, kind_of(value))
            else:
                self.b.pool.adopt(value, tensor)
        return self.b.value_of(value)


__all__ = ["is_used"]
