import torch

import onnxwright as ow


class Sums(torch.nn.Module):
    def forward(self, x):
        sums = []
        while x.abs().max() > 1:
            x = x / 2
            sums.append((x.sum(), x.max()))
        return torch.stack(sums)


ow.export(Sums(), (torch.ones(2, 3),))
