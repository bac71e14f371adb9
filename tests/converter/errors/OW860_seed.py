import torch

import onnxwright as ow


class Noisy(torch.nn.Module):
    def forward(self, x):
        torch.manual_seed(0)
        return x + torch.randn(x.shape[0], 3)


ow.export(Noisy(), (torch.ones(2, 3),), dynamic_shapes=({0: "n"},))
