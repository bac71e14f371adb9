import torch

import onnxwright as ow


class Total(torch.nn.Module):
    def forward(self, x, count):
        used = 0
        for n in range(count.item()):
            used = n + 1
            x = x + n
            if x.sum() > 9:
                break
        for n in range(used, count.item()):
            x = x * n
        return x


ow.export(Total(), (torch.ones(3), torch.tensor(2)))
