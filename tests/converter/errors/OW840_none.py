import torch

import onnxwright as ow


class Mask(torch.nn.Module):
    def forward(self, x):
        mask = None
        if x.min() < 0:
            mask = x > 0
        return x if mask is None else x * mask


ow.export(Mask(), (torch.ones(2, 3),))
