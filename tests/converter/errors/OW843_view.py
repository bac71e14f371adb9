import torch

import onnxwright as ow


class Write(torch.nn.Module):
    def forward(self, x):
        y = x.clone()
        first = y[0]
        if x.sum() > 0:
            y += 1
            y = y * first
        return y


ow.export(Write(), (torch.ones(2, 3),))
