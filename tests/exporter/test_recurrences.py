"""State space models of transformers with any batch size and length."""

from __future__ import annotations

from typing import Any

import pytest
import torch

hub = pytest.importorskip("transformers", minversion="5.20", reason="it has the networks")


from tests.exporter.programs import check, operators  # noqa: E402
from tests.harness.modules import module_with  # noqa: E402

SMALL = {"vocab_size": 50, "hidden_size": 16}
HEADS = {"num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 32}
MODELS: dict[str, tuple[int, dict[str, Any]]] = {
    "FalconMamba": (
        1,
        {"state_size": 4, "num_hidden_layers": 1, "conv_kernel": 3, "time_step_rank": 4},
    ),
    "Jamba": (
        1,
        {**HEADS, "num_hidden_layers": 2, "num_experts": 2, "num_experts_per_tok": 1,
         "attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_offset": 1,
         "mamba_d_state": 4, "mamba_d_conv": 3, "mamba_dt_rank": 4, "use_mamba_kernels": False},
    ),
    "RecurrentGemma": (
        2,
        {**HEADS, "num_hidden_layers": 3, "lru_width": 16, "attention_window_size": 8,
         "head_dim": 8},
    ),
    "Rwkv": (2, {"num_hidden_layers": 2, "context_length": 16}),
}  # fmt: skip


@module_with(lambda model: {"model": model})
def Logits(self, ids):
    """A language model without a cache."""
    return self.model(input_ids=ids, use_cache=False).logits


@pytest.mark.share(4)
@pytest.mark.parametrize("name", MODELS)
def test_model(name: str) -> None:
    """One scan for each layer that has a recurrence, whatever the length."""
    scans, options = MODELS[name]
    torch.manual_seed(0)
    config = getattr(hub, f"{name}Config")(**SMALL, **options)
    model = Logits(getattr(hub, f"{name}ForCausalLM")(config)).eval()
    ids = torch.randint(1, 50, (2, 6))
    sizes = ({"batch": 1, "length": 4}, {"batch": 3, "length": 11})
    dynamic = {"ids": {0: "batch", 1: "length"}}
    program = check(model, (ids,), dynamic_shapes=dynamic, sizes=sizes)
    assert operators(program)["Scan"] == scans
