import torch
from pathlib import Path
class Synth(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 4)
    def infer(self, text, lengths, noise_scale=0.6, length_scale=1.0, sid=None):
        mask = torch.arange(text.shape[1])[None] < lengths[:, None]
        return (self.emb(text) * mask[..., None]).sum(-1) * length_scale + noise_scale
model_g = Synth()
def infer_forward(text, text_lengths, scales, sid=None):
    noise_scale = scales[0]
    length_scale = scales[1]
    return model_g.infer(text, text_lengths, noise_scale=noise_scale, length_scale=length_scale, sid=sid).unsqueeze(1)
model_g.forward = infer_forward
sequences = torch.randint(low=0, high=20, size=(1, 14), dtype=torch.long)
dummy_input = (sequences, torch.LongTensor([sequences.size(1)]), torch.FloatTensor([0.667, 1.0]), None)
torch.onnx.export(model=model_g, args=dummy_input, f=str(Path("tts.onnx")), verbose=False, opset_version=15,
                  input_names=["input", "input_lengths", "scales", "sid"], output_names=["output"],
                  dynamic_axes={"input": {0: "batch_size", 1: "phonemes"}, "input_lengths": {0: "batch_size"},
                                "output": {0: "batch_size", 1: "time"}})
