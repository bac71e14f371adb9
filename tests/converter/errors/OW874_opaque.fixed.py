import pickle
import types

import torch

import onnxwright as ow

SETTINGS = types.SimpleNamespace(scale=2.0)
SCALES = [SETTINGS, SETTINGS]


class Saved(torch.nn.Module):
    def forward(self, x):
        size = len(pickle.dumps(SCALES))
        if x.sum() > 0:
            x = x * size
        return x


ow.export(Saved(), (torch.ones(3),))
