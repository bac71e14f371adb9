import torch

import onnxwright as ow


class Choice(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x - 1


ow.export(Choice(), (torch.ones(3),), capture="draft")
