import torch

import onnxwright as ow


class Mixing(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("graph", torch.eye(3).to_sparse())

    def forward(self, x):
        return torch.sparse.mm(self.graph, x)


ow.export(Mixing(), (torch.ones(3, 2),))
