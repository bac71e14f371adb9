"""The list of public names is that of the package: nothing is removed or changed unseen."""

from __future__ import annotations

import pytest

from onnxwright import GraphBuilder

pytest.importorskip("torch", reason="the exporter's names need torch, which is not installed")

from tools import public_api  # noqa: E402


def test_the_list_is_current() -> None:
    """A removed or changed name breaks users: write the list anew on purpose only."""
    listed = public_api.LIST.read_text(encoding="utf-8").splitlines()
    now = public_api.lines()
    assert [line for line in listed if line not in now] == [], "removed or changed"
    assert [line for line in now if line not in listed] == [], "run `python -m tools.public_api`"


def test_a_changed_parameter_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def value(self: GraphBuilder, other: str) -> None:
        """As `GraphBuilder.value`, with another name of its parameter."""

    before = public_api.lines()
    monkeypatch.setattr(GraphBuilder, "value", value)
    assert "GraphBuilder.value(self, name)" in before
    assert "GraphBuilder.value(self, other)" in public_api.lines()
