"""A `StaticCache` with sliding-window layers: one program for every number of tokens seen."""

from __future__ import annotations

from typing import Any

import pytest
import torch

hub = pytest.importorskip("transformers", reason="the caches are of transformers")

import onnxwright as ow  # noqa: E402 - after the question whether torch is there

_SMALL = {
    "vocab_size": 32,
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "sliding_window": 4,
}
_KINDS = {
    "mistral": lambda: hub.MistralForCausalLM(hub.MistralConfig(**_SMALL)),
    "gemma3": lambda: hub.Gemma3ForCausalLM(
        hub.Gemma3TextConfig(**_SMALL, layer_types=["sliding_attention", "full_attention"])
    ),
}
# Name: the kind, tokens of each call, whether positions and a mask are given, whether their number
# is dynamic.  Fewer, as many and more tokens than the window, before and after it is full.
CASES = {
    "one token": ("mistral", [1] * 11, False, False),
    "one token, mask and positions": ("gemma3", [1] * 9, True, False),
    "two tokens": ("mistral", [2] * 5, False, False),
    "more than the window": ("gemma3", [6, 6], False, False),
    "any number": ("gemma3", [3, 1, 2, 5, 1, 3], False, True),
}


def _cache(model: Any) -> Any:
    cache = hub.StaticCache(config=model.config, max_cache_len=16)
    cache.early_initialization(1, 1, 8, torch.float32, "cpu")
    return cache


def _inputs(tokens: int, seen: int, *, more: bool) -> dict[str, Any]:
    found = {"input_ids": (torch.arange(tokens)[None] * 7 + seen) % 32}
    if more:
        found["position_ids"] = torch.arange(tokens)[None] + seen
        found["attention_mask"] = torch.ones(1, 16, dtype=torch.int64)
    return found


_LONG = {"one token", "two tokens"}


@pytest.mark.share(3)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in _LONG else []) for n in CASES]
)
def test_a_static_cache_with_sliding_layers(name: str) -> None:
    kind, lengths, more, dynamic = CASES[name]
    torch.manual_seed(0)
    model = _KINDS[kind]().eval()
    mine, theirs = _cache(model), _cache(model)
    shapes = None
    if dynamic:
        shapes = {"input_ids": {1: torch.export.Dim.DYNAMIC}, "past_key_values": [[None] * 3] * 2}
    with torch.no_grad():
        inputs = _inputs(lengths[0], 0, more=more)
        program = ow.export(
            model, kwargs={**inputs, "past_key_values": mine}, dynamic_shapes=shapes, verify=True
        )
    # Logits, and each written tensor once.
    assert len(program.model.graph.outputs) == 1 + 3 * len(mine.layers)
    seen = 0
    for tokens in lengths:
        inputs = _inputs(tokens, seen, more=more)
        with torch.no_grad():
            wanted = model(**inputs, past_key_values=theirs)
        got = program(**inputs, past_key_values=mine)
        torch.testing.assert_close(got.logits, wanted.logits, atol=1e-5, rtol=1e-4)
        mine, seen = got.past_key_values, seen + tokens
        for ours, other in zip(mine.layers, theirs.layers, strict=True):
            torch.testing.assert_close(ours.keys, other.keys, atol=1e-5, rtol=1e-4)
            assert type(ours) is type(other)
            assert int(ours.get_seq_length()) == int(other.get_seq_length()) == seen


def test_a_cache_in_the_middle_is_an_example_as_well() -> None:
    """PyTorch counts the tokens after the window is full in Python only."""
    model = _KINDS["gemma3"]().eval()
    cache = _cache(model)
    with torch.no_grad():
        model(input_ids=torch.tensor([[1, 2, 3]]), past_key_values=cache)
        model(input_ids=torch.tensor([[4, 5, 6]]), past_key_values=cache)
        inputs = {"input_ids": torch.tensor([[7]]), "past_key_values": cache}
        program = ow.export(model, kwargs=inputs, verify=True, strict=True)
        wanted = model(**_after(model, 2)).logits
    torch.testing.assert_close(program(**_after(model, 2)).logits, wanted, atol=1e-5, rtol=1e-4)


def _after(model: Any, tokens: int) -> dict[str, Any]:
    cache = _cache(model)
    with torch.no_grad():
        model(input_ids=torch.arange(tokens)[None], past_key_values=cache)
    return {"input_ids": torch.tensor([[7]]), "past_key_values": cache}


class _Holds(torch.nn.Module):  # type: ignore[misc]
    """A decoder that holds its cache, and sets the number of tokens of each layer."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = _KINDS["gemma3"]().eval()
        self.cache = _cache(self.inner)
        for n, layer in enumerate(self.cache.layers):
            self.register_buffer(f"keys_{n}", layer.keys, persistent=False)
            self.register_buffer(f"values_{n}", layer.values, persistent=False)
            self.register_buffer(f"count_{n}", layer.cumulative_length, persistent=False)

    def forward(self, input_ids: Any, position: Any) -> Any:
        for layer in self.cache.layers:
            layer.cumulative_length.copy_(position[0])
        return self.inner(input_ids=input_ids, past_key_values=self.cache).logits


@pytest.mark.slow
def test_a_cache_that_a_module_holds_goes_past_its_window() -> None:
    torch.manual_seed(0)
    module = _Holds()
    inner = module.inner
    with torch.no_grad():
        program = ow.export(module, (torch.tensor([[1]]), torch.tensor([0])))
    theirs, state = _cache(inner), {}
    for n in range(8):
        token = torch.tensor([[(n * 5) % 32]])
        with torch.no_grad():
            wanted = inner(input_ids=token, past_key_values=theirs).logits
        got, new = program.run_with_new_values((token, torch.tensor([n])))
        state = {k: v for k, v in new.items() if k.startswith(("keys", "values", "count"))}
        program.apply_weights({**dict(module.named_parameters()), **state})
        torch.testing.assert_close(got, wanted, atol=1e-5, rtol=1e-4)


def test_layers_of_another_kind_have_a_remedy() -> None:
    class Reads(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any, cache: Any) -> Any:
            return x

    cache = hub.StaticCache(config=hub.MistralConfig(**_SMALL), max_cache_len=8)
    cache.layers[0] = hub.cache_utils.LinearAttentionLayer()
    with pytest.raises(ow.errors.ExportValueError, match="OW825[\\s\\S]*LinearAttentionLayer"):
        ow.export(Reads(), (torch.ones(1), cache))
