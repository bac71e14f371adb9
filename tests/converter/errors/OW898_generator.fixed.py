import torch

import onnxwright as ow


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(()))

    def forward(self, x):
        y = x * self.scale
        self.scale.div_(2)
        return y


ow.export(Scaled(), (torch.ones(3),))
