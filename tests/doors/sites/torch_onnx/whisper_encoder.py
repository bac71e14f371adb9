import torch
class AudioEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(8, 16, 3, stride=2, padding=1)
        self.register_buffer("positional_embedding", torch.randn(50, 16))
    def forward(self, x):
        x = torch.nn.functional.gelu(self.conv(x)).permute(0, 2, 1)
        assert x.shape[1:] == self.positional_embedding.shape, "incorrect audio shape"
        return x + self.positional_embedding
torch.onnx.export(AudioEncoder().eval(), (torch.randn(1, 8, 100),), "enc.onnx", verbose=True, opset_version=17,
                  input_names=["mel"], output_names=["audio_features"],
                  dynamic_axes={"mel": {0: "n_audio"}, "audio_features": {0: "n_audio"}})
