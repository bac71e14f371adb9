import onnx, torch, warnings
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.point = nn.Linear(2, 8)
    @torch.no_grad()
    def forward(self, image_embeddings, point_coords, point_labels, mask_input, has_mask_input, orig_im_size):
        p = self.point(point_coords) * point_labels[..., None]
        return image_embeddings.mean((2, 3))[:, :8] + p.sum(1), mask_input * has_mask_input, orig_im_size * 1.0
axes = {"point_coords": {1: "num_points"}, "point_labels": {1: "num_points"}}
dummy = {"image_embeddings": torch.randn(1, 16, 4, 4),
         "point_coords": torch.randint(low=0, high=1024, size=(1, 5, 2), dtype=torch.float),
         "point_labels": torch.randint(low=0, high=4, size=(1, 5), dtype=torch.float),
         "mask_input": torch.randn(1, 1, 4, 4), "has_mask_input": torch.tensor([1], dtype=torch.float),
         "orig_im_size": torch.tensor([1500, 2250], dtype=torch.float)}
with warnings.catch_warnings():
    warnings.filterwarnings("ignore", category=UserWarning)
    with open("sam.onnx", "wb") as f:
        torch.onnx.export(Decoder(), tuple(dummy.values()), f, export_params=True, verbose=False, opset_version=17,
                          do_constant_folding=True, input_names=list(dummy.keys()),
                          output_names=["masks", "iou_predictions", "low_res_masks"], dynamic_axes=axes)
onnx.checker.check_model(onnx.load("sam.onnx"))
