"""A PyTorch model that decides by the values of tensors as ONNX, with If and Loop in the model."""

from __future__ import annotations

import statistics
from typing import Any

import torch

import onnxwright as ow


class Refine(torch.nn.Module):
    """Keep the rows that are sure enough, each refined until it settles."""

    def __init__(self) -> None:
        super().__init__()
        self.score = torch.nn.Linear(8, 1)
        self.step = torch.nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        """Rows `[N, 8]` to those that are kept, `[M, 8]`, and the number of steps of each."""
        kept, steps = [], []
        for row in x:
            if torch.sigmoid(self.score(row)) < 0.5:
                continue
            n = 0
            while row.abs().max() > 0.75 and n < 20:
                row = torch.tanh(self.step(row))
                n += 1
            kept.append(row)
            steps.append(n)
        if len(kept) == 0:
            return x[:0], torch.zeros(0, dtype=torch.int64)
        return torch.stack(kept), torch.tensor(steps, dtype=torch.int64)


# What a library decides is written for the model; here, how it reads a number.
@ow.export_replacement("statistics.fmean", reason="it makes floats of tensors")
def mean(_: Any, data: Any) -> torch.Tensor:
    """The mean of tensors, in the place of the library's function."""
    return torch.stack(list(data)).mean()


class Centre(torch.nn.Module):
    """Subtracts what a library of Python computes."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A vector without the middle of its range."""
        return x - statistics.fmean([x.min(), x.max()])


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Refine().eval()
    x = torch.randn(5, 8)

    program = ow.export(model, (x,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},), verify=True)
    for branch in program.report.verification.branches:
        print(f"{branch.kind:4} {branch.text:45} ran {sorted(branch.ran)}")

    for rows in (1, 4, 50):
        x = torch.randn(rows, 8) * 3
        found, steps = program(x)
        wanted, counts = model(x)
        print(
            rows, len(found), torch.allclose(found, wanted, atol=1e-5), torch.equal(steps, counts)
        )

    centred = ow.export(Centre(), (torch.randn(5),))
    print(centred(torch.tensor([1.0, 2.0, 3.0, 4.0, 9.0])).tolist())
