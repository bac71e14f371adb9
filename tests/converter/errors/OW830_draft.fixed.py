import torch

import onnxwright as ow


class Choice(torch.nn.Module):
    def forward(self, x):
        return torch.where(x.sum() > 0, x * 2, x - 1)


ow.export(Choice(), (torch.ones(3),))
