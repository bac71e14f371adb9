"""Caches of transformers as inputs and outputs: names, dynamic shapes, observed calls."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest
import torch

import onnxwright as ow
from onnxwright.errors import ExportValueError
from onnxwright.exporter.capture.inputs.caches import know_kind, register_caches
from onnxwright.exporter.torch_internals import pytree

hub = pytest.importorskip("transformers", reason="the caches are of transformers")

from tests.exporter.decoder_models import decoder  # noqa: E402 - needs transformers


def cache_of_two_layers(past: int, batch: int = 2) -> Any:
    return hub.DynamicCache([(torch.randn(batch, 2, past, 4),) * 2 for _ in range(2)])


class Grows(torch.nn.Module):
    """A cache with one more token; the cache comes first."""

    def forward(self, past: Any, x: Any) -> Any:
        for layer in range(2):
            past.update(x, 2 * x, layer)
        return {"past": past, "sum": x.sum((1, 2, 3))}


AXES = {"past": {0: "batch", 2: "past"}, "x": {0: "batch", 2: "length"}}


def test_names_of_a_cache_and_one_shape_for_all_of_it() -> None:
    kwargs = {"past": cache_of_two_layers(5), "x": torch.randn(2, 2, 1, 4)}
    program = ow.export(Grows(), kwargs=kwargs, dynamic_shapes=AXES, verify=True)
    inputs = {str(v.name): str(v.shape) for v in program.model.graph.inputs}
    layers = [f"past_key_values.{n}.{part}" for part in ("key", "value") for n in (0, 1)]
    assert inputs == {**dict.fromkeys(layers, "[batch,2,past,4]"), "x": "[batch,2,length,4]"}
    outputs = [str(v.name) for v in program.model.graph.outputs]
    assert outputs[:4] == [f"present.{n}.{part}" for part in ("key", "value") for n in (0, 1)]
    # Another number of tokens, in PyTorch's own form.
    made = program(past=cache_of_two_layers(3, 1), x=torch.randn(1, 2, 4, 4))
    assert made["past"].layers[1].values.shape == (1, 2, 7, 4)


def test_several_caches_have_the_names_of_their_arguments() -> None:
    class Two(torch.nn.Module):
        def forward(self, draft: Any, whole: Any) -> Any:
            return draft.layers[0].keys + whole.layers[1].values

    program = ow.export(Two(), (cache_of_two_layers(3), cache_of_two_layers(3)))
    names = {str(v.name) for v in program.model.graph.inputs}
    assert {"draft.0.key", "draft.1.value", "whole.0.key", "whole.1.value"} <= names


def test_names_of_the_two_caches_of_a_decoder_with_an_encoder() -> None:
    class Reads(torch.nn.Module):
        def forward(self, cache: Any) -> Any:
            own, source = cache.self_attention_cache, cache.cross_attention_cache
            return own.layers[0].keys.sum() + source.layers[1].values.sum()

    cache = hub.EncoderDecoderCache(cache_of_two_layers(3), cache_of_two_layers(4))
    program = ow.export(Reads(), (cache,))
    names = {str(v.name) for v in program.model.graph.inputs}
    assert {
        "past_key_values.0.decoder.key",
        "past_key_values.1.decoder.value",
        "past_key_values.0.encoder.key",
        "past_key_values.1.encoder.value",
    } <= names


def test_one_shape_for_every_tensor_of_nested_inputs() -> None:
    class Nested(torch.nn.Module):
        def forward(self, parts: Any) -> Any:
            return parts[0][1] + parts[1]["b"]

    given = ([(torch.ones(3, 2), torch.ones(3, 2)), {"b": torch.ones(3, 2)}],)
    program = ow.export(Nested(), given, dynamic_shapes={"parts": {0: "rows"}}, verify=True)
    assert [str(v.shape) for v in program.model.graph.inputs] == ["[rows,2]"] * 3
    with pytest.raises(ExportValueError, match="axis 2 of a tensor of rank 2"):
        ow.export(Nested(), given, dynamic_shapes={"parts": {2: "rows"}})


def test_names_as_a_dict() -> None:
    model, x = torch.nn.Linear(2, 2), torch.ones(1, 2)
    program = ow.export(model, (x,), input_names={"input": "x"}, output_names={"linear": "y"})
    assert repr(program) == "<ONNXProgram (x: FLOAT[1,2]) -> (y), 1 nodes>"
    with pytest.raises(ExportValueError, match="'q' is not the name of a value"):
        ow.export(model, (x,), input_names={"q": "x"})


def test_verify_takes_sizes_that_are_a_sum() -> None:
    class Masks(torch.nn.Module):
        def forward(self, past: Any, x: Any, mask: Any) -> Any:
            return torch.cat([past, x], 1) * mask

    axes = {"past": {1: "past"}, "x": {1: "length"}, "mask": {1: "past + length"}}
    given = tuple(torch.randn(2, n) for n in (5, 1, 6))
    program = ow.export(Masks(), given, dynamic_shapes=axes, verify=True)  # no warning
    verification = program.report.verification
    assert verification is not None
    assert "other sizes" in str(verification)


def test_observed_tokens_of_a_generation() -> None:
    model = decoder("LlamaForCausalLM", num_hidden_layers=1)
    with ow.observe(model) as seen:
        model.generate(
            torch.tensor([[0, 1, 2], [3, 4, 5]]),
            attention_mask=torch.tensor([[0, 1, 1], [1, 1, 1]]),
            max_new_tokens=4,
            do_sample=False,
            eos_token_id=100,
        )
    calls = seen.groups[0]
    shapes = {name: spec for name, spec in calls.dynamic_shapes.items() if spec is not None}
    tokens, layer = {0: "batch", 1: "length"}, {0: "batch", 2: "past"}
    (cache,) = (spec for spec in shapes.values() if isinstance(spec, list))
    assert cache == [[layer], [layer]]
    assert shapes["input_ids"] == tokens
    assert shapes["attention_mask"] == {0: "batch", 1: "past + length"}
    program = ow.export(model, **calls.arguments)
    assert all(v.ok for v in seen.verify(program))
    assert [str(d) for d in program.model.graph.inputs[0].shape] == ["batch", "length"]


def test_the_cache_of_a_model_with_windows_keeps_all_tokens() -> None:
    model = decoder("MistralForCausalLM", sliding_window=3)
    cache = ow.cache_of(model, batch=3, past=6)
    assert [tuple(layer.keys.shape) for layer in cache.layers] == [(3, 2, 6, 16)] * 2
    with pytest.raises(ExportValueError, match="`past`: 0 is not a size"):
        ow.cache_of(model, past=0)


def test_a_cache_is_put_together_without_a_computation() -> None:
    """Of the very tensors; where a layer has a window, as transformers does it."""
    register_caches()
    cache = cache_of_two_layers(5)
    flat, spec = pytree.tree_flatten(cache)
    again = pytree.tree_unflatten(flat, spec)
    assert all(a is b for a, b in zip(pytree.tree_leaves(again), flat, strict=True))
    grown, _ = again.update(torch.ones(2, 2, 1, 4), torch.ones(2, 2, 1, 4), 1)
    assert again.get_seq_length() == 5
    assert grown.shape == (2, 2, 6, 4)
    windowed = hub.DynamicCache([(torch.ones(1, 1, 3, 2), torch.ones(1, 1, 3, 2), torch.tensor(4))])
    flat, spec = pytree.tree_flatten(windowed)
    again = pytree.tree_unflatten(flat, spec)
    assert again.layers[0].sliding_window == 4


class Derived(hub.DynamicCache):
    """A cache with states beside its layers, as models of transformers have one."""

    def __init__(self) -> None:
        super().__init__()
        self.sums: list[Any] = []


class Adds(torch.nn.Module):
    """Keys and values in the first layer, a sum in the place of the second one."""

    def forward(self, cache: Any, x: Any) -> Any:
        cache.update(x, x, 0)
        cache.sums[1] = cache.sums[1] + x.sum(2)
        return cache


def test_a_cache_that_is_derived_of_one_of_transformers() -> None:
    know_kind(Derived)
    cache = Derived()
    cache.update(torch.randn(2, 2, 5, 4), torch.randn(2, 2, 5, 4), 0)
    cache.sums = [[], torch.randn(2, 2, 4)]
    layer, state = {0: "batch", 2: "past"}, {0: "batch"}
    shapes = {"cache": [{"keys": layer, "values": layer}, {"sums": state}], "x": {0: "batch"}}
    kwargs = {"cache": cache, "x": torch.randn(2, 2, 1, 4)}
    program = ow.export(Adds(), kwargs=kwargs, dynamic_shapes=shapes, verify=True)
    names = [str(v.name) for v in program.model.graph.inputs]
    parts = ["0.key", "0.value", "1.sums"]
    assert names == [*(f"past_key_values.{part}" for part in parts), "x"]
    assert [str(v.name) for v in program.model.graph.outputs] == [f"present.{p}" for p in parts]


def test_a_library_that_does_not_load_beside_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    """As torchvision beside another build of PyTorch: models without caches export."""

    class Broken(types.ModuleType):
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("operator torchvision::nms does not exist")

    name = "transformers.integrations.executorch"
    monkeypatch.setitem(sys.modules, name, Broken(name))
    program = ow.export(torch.nn.ReLU(), (torch.ones(2),))
    assert [node.op_type for node in program.model.graph] == ["Relu"]
