import torch

import onnxwright as ow


class Rows(torch.nn.Module):
    def forward(self, x):
        total = 0
        for row in (x[0], x[1]):
            if row.sum() > 0:
                total = total + row
        return total


ow.export(Rows(), (torch.ones(2, 3),))
