import torch

import onnxwright as ow


class Steps(torch.nn.Module):
    def forward(self, x):
        steps = []
        while x.abs().max() > 1:
            x = x / 2
            steps.append(x)
        return torch.stack(steps)


ow.export(Steps(), (torch.ones(2, 3),))
