import torch

import onnxwright as ow


class Steps(torch.nn.Module):
    def forward(self, x):
        n = 2
        while x.sum() > 1:
            x = x / n
            n += 1
        return x


ow.export(Steps(), (torch.ones(3, 2),))
