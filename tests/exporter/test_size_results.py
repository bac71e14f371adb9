"""PyTorch computes with the same sizes once in a capture, until it knows other things of them."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")
import sympy  # type: ignore[import-untyped]
import torch
from torch._dynamo.source import ConstantSource
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

from onnxwright.exporter.capture.graphs.facts import forget_answers
from onnxwright.exporter.capture.replacements.size_results import sizes_remembered
from onnxwright.exporter.capture.session.changes import applied


def dynamic(env: ShapeEnv, name: str, value: int) -> torch.SymInt:
    """A size of an example."""
    symbol = env.create_symbol(value, ConstantSource(name), dynamic_dim=DimDynamic.DYNAMIC)
    size = env.create_symintnode(symbol, hint=value)
    assert isinstance(size, torch.SymInt)
    return size


def test_a_sum_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    add = SymNode.add

    def counted(self: Any, other: Any) -> Any:
        calls.append(other)
        return add(self, other)

    monkeypatch.setattr(SymNode, "add", counted)
    env, other = ShapeEnv(), ShapeEnv()
    with applied([lambda changes, _: sizes_remembered(changes)]):
        n = dynamic(env, "n", 5)
        one, two = (n + 3).node, (n + 3).node
        assert len(calls) == 1
        assert one is not two  # a trace knows each by its identity
        assert (one.expr, one.hint) == (two.expr, two.hint)
        assert (n + 4).node.hint == 9
        assert len(calls) == 2
        forget_answers(env)
        assert ((n + 3).node.hint, len(calls)) == (8, 3)
        assert ((dynamic(other, "n", 7) + 3).node.hint, len(calls)) == (10, 4)
    assert SymNode.add is counted


def test_what_is_learned_of_a_size_is_asked_again() -> None:
    env = ShapeEnv()
    with applied([lambda changes, _: sizes_remembered(changes)]):
        n = dynamic(env, "n", 5)
        assert (n > 5).node.expr is not sympy.false
        assert n == 5
        assert (n > 5).node.expr is sympy.false
