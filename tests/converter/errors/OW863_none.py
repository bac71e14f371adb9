import torch

import onnxwright as ow


class Found(torch.nn.Module):
    def forward(self, x):
        if x.max() > 1:
            return x[x > 1]
        return None


ow.export(Found(), (torch.ones(3),))
