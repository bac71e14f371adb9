import torch

import onnxwright as ow


class Signed(torch.nn.Module):
    def forward(self, x):
        positive = (x.sum() > 0).item()
        return x * 2 if positive is True else x - 1


ow.export(Signed(), (torch.ones(3),), capture="source")
