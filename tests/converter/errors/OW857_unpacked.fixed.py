import torch

import onnxwright as ow


class Total(torch.nn.Module):
    def forward(self, x, count):
        first = next(iter(range(count.item())))
        return x * first


ow.export(Total(), (torch.ones(3), torch.tensor(2)))
