import torch

import onnxwright as ow


class Decay(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0

    def forward(self, x):
        self.count += 1
        return x / self.count


ow.export(Decay(), (torch.ones(3),))
