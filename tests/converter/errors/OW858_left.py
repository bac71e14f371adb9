import torch

import onnxwright as ow


class Total(torch.nn.Module):
    def forward(self, x, count):
        numbers = iter(range(count.item()))
        for n in numbers:
            x = x + n
            if x.sum() > 9:
                break
        for n in numbers:
            x = x * n
        return x


ow.export(Total(), (torch.ones(3), torch.tensor(2)))
