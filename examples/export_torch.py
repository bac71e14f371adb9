"""A PyTorch model to ONNX: exported with a dynamic batch, verified, saved, run in ONNX Runtime."""

import sys

try:
    import torch
except ModuleNotFoundError:
    print("this example needs PyTorch: pip install 'onnxwright[torch]'")
    sys.exit()

import numpy as np
import onnxruntime

import onnxwright as ow


class Block(torch.nn.Module):
    """A block of a transformer: attention, then two linear layers."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.wide = torch.nn.Sequential(
            torch.nn.LayerNorm(width),
            torch.nn.Linear(width, 4 * width),
            torch.nn.GELU(),
            torch.nn.Linear(4 * width, width),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Each place sees itself and those before it."""
        batch, length, width = x.shape
        parts = self.qkv(self.before(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        seen = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.wide(x)


class Language(torch.nn.Module):
    """Scores of the next token, for each token of a text."""

    def __init__(self, tokens: int = 100, width: int = 32, longest: int = 64) -> None:
        super().__init__()
        self.tokens = torch.nn.Embedding(tokens, width)
        self.places = torch.nn.Embedding(longest, width)
        self.blocks = torch.nn.ModuleList([Block(width, heads=4) for _ in range(2)])
        self.scores = torch.nn.Linear(width, tokens)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Token numbers, (batch, length), to scores, (batch, length, tokens)."""
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.scores(x)


torch.manual_seed(0)
model = Language().eval()
text = torch.randint(0, 100, (2, 7))

# Both sizes may change. `verify` compares with PyTorch, at these sizes and at others.
program = ow.export(
    model,
    (text,),
    dynamic_shapes={"tokens": {0: "batch", 1: "length"}},
    output_names=["scores"],
    verify=True,
)
print(program)
print("verified:", program.report.verification.ok)

# The program is called like the module.
longer = torch.randint(0, 100, (3, 12))
with torch.no_grad():
    wanted = model(longer)
torch.testing.assert_close(program(longer), wanted, rtol=1e-4, atol=1e-5)

# Saved with its weights beside it, and run by ONNX Runtime.
program.save("language.onnx", external_data=True)
session = onnxruntime.InferenceSession("language.onnx", providers=["CPUExecutionProvider"])
(scores,) = session.run(["scores"], {"tokens": longer.numpy()})
np.testing.assert_allclose(scores, wanted.numpy(), rtol=1e-4, atol=1e-5)
print("PyTorch and ONNX Runtime agree:", scores.shape)
