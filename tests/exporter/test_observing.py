"""`observe`: calls of a model, and the arguments of an export that they show."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

import onnxwright as ow
from onnxwright.errors import ExportValueError
from tests.harness.modules import module_with


class Pair(torch.nn.Module):
    def forward(self, x: Any, more: dict[str, Any], mask: Any = None, times: int = 1) -> Any:
        y = x.sum(-1) + more["a"][0] * times
        return y if mask is None else y * mask


def inputs(rows: int, width: int) -> tuple[Any, ...]:
    return torch.randn(rows, width), {"a": [torch.randn(rows)]}


def test_sizes_that_change_are_dynamic() -> None:
    model = Pair()
    with ow.observe(model) as seen:
        for rows, width in ((2, 5), (3, 5), (4, 9)):
            model(*inputs(rows, width))
    assert seen.dynamic_shapes == {"x": {0: "batch", 1: "x_dim_1"}, "more": {"a": [{0: "batch"}]}}
    program = ow.export(model, **seen.arguments)
    assert [str(i.shape) for i in program.model.graph.inputs] == ["[batch,x_dim_1]", "[batch]"]
    assert [v.ok for v in seen.verify(program)] == [True] * 3
    other = inputs(7, 2)
    torch.testing.assert_close(program(*other), model(*other))


def test_the_model_may_be_called_by_anything_and_write_to_its_inputs() -> None:
    class Adds(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.add_(1)

    @module_with(lambda: {"inner": Adds()})
    def Outer(self, x: Any) -> Any:
        return self.inner(x) * 2

    outer = Outer()
    with ow.observe(outer.inner) as seen:
        outer(torch.zeros(2))
        outer(torch.zeros(3))
    outer(torch.zeros(4))
    assert seen.best.count == 2
    torch.testing.assert_close(seen.best.args[0], torch.zeros(2))


def test_a_function_is_called_as_the_observation() -> None:
    seen = ow.observe(lambda x, n: x * n)
    torch.testing.assert_close(seen(torch.ones(2), n=3), torch.full((2,), 3.0))
    seen(torch.ones(4), n=5)
    assert seen.dynamic_shapes == {"x": {0: "batch"}, "n": torch.export.Dim.DYNAMIC}
    program = ow.export(lambda x, n: x * n, **seen.arguments)
    torch.testing.assert_close(program(torch.ones(3), n=7), torch.full((3,), 7.0))


@pytest.mark.parametrize("batch", [True, ["input"]])
def test_a_batch_that_nobody_changed(batch: Any) -> None:
    model = torch.nn.Linear(3, 2)
    with ow.observe(model, batch=batch) as seen:
        model(torch.ones(2, 3))
    assert seen.dynamic_shapes == {"input": {0: "batch"}}


def test_calls_of_several_kinds() -> None:
    model = Pair()
    with ow.observe(model) as seen:
        model(*inputs(2, 5))
        model(*inputs(3, 5), mask=torch.ones(3))
        model(*inputs(4, 5), mask=torch.ones(4))
        model(*inputs(4, 5), None)
    assert [g.count for g in seen.groups] == [2, 2]
    with pytest.warns(ow.OnnxwrightWarning, match="OW897"):
        arguments = seen.arguments
    assert list(arguments["dynamic_shapes"]) == ["x", "more", "mask"]
    program = ow.export(model, **arguments)
    args, mask = inputs(6, 5), torch.ones(6)
    torch.testing.assert_close(program(*args, mask=mask), model(*args, mask=mask))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ow.export(model, **seen.groups[1].arguments)


def test_values_that_are_not_sizes() -> None:
    seen = ow.observe(lambda x, scale: x * scale)
    seen(torch.ones(2), 1.5)
    seen(torch.ones(2), 2.5)
    with pytest.warns(ow.OnnxwrightWarning, match="`scale` had several values"):
        assert seen.dynamic_shapes == {"x": None, "scale": None}


def test_a_cache_of_keys_and_values() -> None:
    hub = pytest.importorskip("transformers", reason="the cache is of transformers")

    class Uses(torch.nn.Module):
        def forward(self, x: Any, cache: Any) -> Any:
            return x + cache.layers[0].keys.sum()

    model = Uses()
    with ow.observe(model) as seen:
        for past in (3, 4):
            cache = hub.DynamicCache()
            cache.update(torch.ones(1, 2, past, 4), torch.ones(1, 2, past, 4), 0)
            model(torch.ones(1), cache=cache)
    program = ow.export(model, **seen.arguments)
    assert [v.ok for v in seen.verify(program)] == [True, True]


def test_nothing_was_called() -> None:
    with pytest.raises(ExportValueError, match="was not called"):
        ow.observe(torch.nn.ReLU()).arguments  # noqa: B018 - a property that raises
    with pytest.raises(ExportValueError, match="not callable"):
        ow.observe(3)
