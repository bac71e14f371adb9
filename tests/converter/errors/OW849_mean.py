import torch
from torch.nn.utils.rnn import pack_padded_sequence

import onnxwright as ow


class Model(torch.nn.Module):
    def forward(self, x, lengths):
        return pack_padded_sequence(x, lengths).data.mean()


ow.export(Model(), (torch.ones(3, 2, 4), torch.tensor([3, 1])))
