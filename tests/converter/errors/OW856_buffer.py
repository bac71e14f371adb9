import torch

import onnxwright as ow


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2))

    def forward(self, x):
        self.seen = torch.cat([self.seen, x])
        return self.seen.sum()


ow.export(Model(), (torch.ones(2),))
