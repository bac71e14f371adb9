import torch

import onnxwright as ow


class Levels(torch.nn.Module):
    def forward(self, x):
        a = x if x[0] > 0 else x.sum()
        b = x if x[1] > 0 else x.sum()
        c = x if x[2] > 0 else x.sum()
        d = x if x[3] > 0 else x.sum()
        e = x if x[4] > 0 else x.sum()
        f = x if x[5] > 0 else x.sum()
        return x * a * b * c * d * e * f


ow.export(Levels(), (torch.ones(6),))
