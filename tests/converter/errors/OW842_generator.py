import torch

import onnxwright as ow


def large(rows):
    for row in rows:
        if row.sum() > 0:
            rows[0] = row
            yield row


class Rows(torch.nn.Module):
    def forward(self, x):
        return sum(large([x[0], x[1]]))


ow.export(Rows(), (torch.ones(2, 3),))
