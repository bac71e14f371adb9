import torch

import onnxwright as ow


class Mask(torch.nn.Module):
    def forward(self, x):
        mask = torch.ones_like(x, dtype=torch.bool)
        if x.min() < 0:
            mask = x > 0
        return x * mask


ow.export(Mask(), (torch.ones(2, 3),))
