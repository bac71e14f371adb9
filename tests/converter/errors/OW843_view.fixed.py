import torch

import onnxwright as ow


class Write(torch.nn.Module):
    def forward(self, x):
        y = x.clone()
        if x.sum() > 0:
            y += 1
            y = y * y[0]
        return y


ow.export(Write(), (torch.ones(2, 3),))
