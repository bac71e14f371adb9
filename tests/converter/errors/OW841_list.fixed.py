import torch

import onnxwright as ow


class Steps(torch.nn.Module):
    def forward(self, x):
        steps = torch.zeros(8, *x.shape)
        count = torch.tensor(0)
        for i in range(8):
            if x.abs().max() <= 1:
                break
            x = x / 2
            steps[i] = x
            count = count + 1
        return steps, count


ow.export(Steps(), (torch.ones(2, 3),))
