import torch
import torch.nn as nn


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        return self.head(torch.relu(self.norm(self.conv(x))).mean((2, 3)))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 8)
        self.logits = nn.Linear(8, 4)

    def forward(self, input_ids, attention_mask=None, token_type_ids=None):
        hidden = self.embed(input_ids)
        if attention_mask is not None:
            hidden = hidden * attention_mask[..., None]
        return {"logits": self.logits(hidden), "hidden": hidden}


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.LSTM(4, 6, batch_first=True)

    def forward(self, x, h, c):
        y, (h, c) = self.cells(x, (h, c))
        return y, h, c


class Detector(nn.Module):
    def forward(self, images):
        """As detection models: a list of images of different sizes, dicts of boxes."""
        found = []
        for image in images:
            score = image.mean((0, 1))
            found.append({"boxes": image.flatten(1)[:, :4], "scores": score})
        return found


model = Conv().eval()
image = torch.randn(1, 3, 16, 16)
