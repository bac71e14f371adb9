import torch

import onnxwright as ow


class Outer(torch.nn.Module):
    def forward(self, x, y):
        return x[:, None] * y


ow.export(Outer(), (torch.ones(3), torch.ones(4)), dynamic_shapes=({0: "n"}, {0: "n"}))
