import torch

import onnxwright as ow


class Sorted(torch.nn.Module):
    def forward(self, x):
        sums = []
        while x.abs().max() > 1:
            x = x / 2
            sums.append(x.sum())
        return torch.stack(sums).sort(descending=True).values


ow.export(Sorted(), (torch.ones(2, 3),))
