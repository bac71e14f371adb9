"""`match` on values of tensors in PyTorch programs."""

from __future__ import annotations

import numpy as np
import torch

import onnxwright as ow


class Matched(torch.nn.Module):
    def forward(self, x, k):
        match (k.item(), bool(x.sum() > 0)):
            case (0, _):
                y = x
            case (1 | 2, True):
                y = x * 2
            case (n, _) if n > 10:
                y = x * n
            case _:
                return -x
        return y + 1


def test_every_case_is_taken_at_run_time() -> None:
    x = torch.tensor([1.0, 2.0, 3.0])
    program = ow.export(Matched(), (x, torch.tensor(1)))
    for k in (0, 1, 2, 5, 12):
        for value in (x, -x):
            inputs = value, torch.tensor(k)
            want = Matched()(*inputs).numpy()
            np.testing.assert_array_equal(np.asarray(program(*inputs)), want)
