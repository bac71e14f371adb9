import torch

import onnxwright as ow


class Add(torch.nn.Module):
    def forward(self, x, y):
        return x + y


program = ow.export(Add(), (torch.ones(3), torch.ones(3)))
program(torch.ones(3))
