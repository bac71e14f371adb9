"""The dynamic shapes of a PyTorch export, found from the calls that a program makes anyway."""

import torch

import onnxwright as ow


class Ranker(torch.nn.Module):
    """Scores for each of several items, given what a user looked at before."""

    def __init__(self) -> None:
        super().__init__()
        self.user = torch.nn.Linear(8, 4)
        self.item = torch.nn.Linear(6, 4)

    def forward(self, history: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        """Sizes: (batch, seen, 8) and (batch, offered, 6) give (batch, offered)."""
        profile = self.user(history).mean(1, keepdim=True)
        return (self.item(items) * profile).sum(-1)


model = Ranker().eval()

with ow.observe(model) as seen:  # whatever calls the model: an application, a test
    for batch, history, offered in ((2, 5, 3), (4, 9, 3), (1, 7, 10)):
        model(torch.randn(batch, history, 8), torch.randn(batch, offered, 6))

for name, axes in seen.dynamic_shapes.items():
    print(name, axes)

program = ow.export(model, **seen.arguments)
print(program)
print("agrees with PyTorch on the calls:", all(check.ok for check in seen.verify(program)))
