import torch

import onnxwright as ow


class Selected(torch.nn.Module):
    def forward(self, x):
        return torch.where(x > 2, x, 0).to_sparse()


ow.export(Selected(), (torch.rand(3, 2),))
