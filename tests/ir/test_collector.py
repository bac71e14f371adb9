"""Making a model does not go through what is made again and again, and leaves the collector on."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

import onnxwright as ow
from onnxwright import FLOAT, script
from onnxwright import opset21 as op
from onnxwright.dsl import model
from tests.harness.tables import each


@script()
def compiled(x: FLOAT["N"]) -> FLOAT["N"]:
    return op.Relu(x)


@script()
def refused(x: FLOAT["N"]) -> FLOAT["N"]:
    return op.Relu(x, axis=7)


def build() -> Any:
    g = ow.GraphBuilder(opset=21)
    x = g.input("x", FLOAT["N"])
    g.output(g.op.Relu(x), "y")
    return g.to_model_proto()


def refuse() -> None:
    with pytest.raises(ow.ScriptError):
        refused.to_model_proto()


WAYS: dict[str, Callable[[], Any]] = {
    "compile": lambda: compiled.to_model_proto(),
    "refuse": refuse,
    "build": build,
    "write Python": lambda: ow.to_script(build()),
    "optimize": lambda: ow.optimize(build()),
}


@each("what", WAYS)
@each("enabled", [True, False])
def test_the_collector_is_as_it_was(what: str, enabled: bool) -> None:
    assert gc.isenabled()
    try:
        if not enabled:
            gc.disable()
        WAYS[what]()
        assert gc.isenabled() is enabled
    finally:
        gc.enable()


def test_it_is_paused_while_a_script_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    enabled: list[bool] = []
    assemble = model._assemble

    def seen(*args: Any) -> Any:
        enabled.append(gc.isenabled())
        return assemble(*args)

    monkeypatch.setattr(model, "_assemble", seen)
    compiled.to_model_proto()
    assert enabled == [False]
