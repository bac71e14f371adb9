import torch

import onnxwright as ow


class Steps(torch.nn.Module):
    def forward(self, x):
        steps, n = torch.tensor([0.5, 0.25, 0.125]), 0
        while x.sum() > 1:
            x = x * steps[n]
            n += 1
        return x


ow.export(Steps(), (torch.ones(3, 2),))
