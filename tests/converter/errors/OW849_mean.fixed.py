import torch

import onnxwright as ow


class Model(torch.nn.Module):
    def forward(self, x, lengths):
        inside = torch.arange(x.shape[0])[:, None] < lengths
        return (x * inside[..., None]).sum() / (lengths.sum() * x.shape[2])


ow.export(Model(), (torch.ones(3, 2, 4), torch.tensor([3, 1])))
