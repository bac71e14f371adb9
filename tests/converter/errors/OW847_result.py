import torch

import onnxwright as ow


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.quantize_per_tensor(x, 0.1, 10, torch.quint8)


ow.export(Model(), (torch.ones(2),))
