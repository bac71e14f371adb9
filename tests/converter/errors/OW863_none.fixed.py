import torch

import onnxwright as ow


class Found(torch.nn.Module):
    def forward(self, x):
        return x[x > 1]


ow.export(Found(), (torch.ones(3),))
