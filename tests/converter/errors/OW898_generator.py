import torch

import onnxwright as ow


def scales():
    scale = 1.0
    while True:
        yield scale
        scale /= 2


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = scales()

    def forward(self, x):
        return x * next(self.scales)


ow.export(Scaled(), (torch.ones(3),))
