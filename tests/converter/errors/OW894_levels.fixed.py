import torch

import onnxwright as ow


class Levels(torch.nn.Module):
    def forward(self, x):
        for n in range(6):
            x = x * x if x[n] > 0 else x * x.sum()
        return x


ow.export(Levels(), (torch.ones(6),))
