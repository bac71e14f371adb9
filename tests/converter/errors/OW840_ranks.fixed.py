import torch

import onnxwright as ow


class Pool(torch.nn.Module):
    def forward(self, x):
        if x.min() < 0:
            return x
        return x.mean().expand_as(x)


ow.export(Pool(), (torch.ones(2, 3),))
