import onnx, torch
@torch.library.custom_op("wild::roi_nms", mutates_args=())
def roi_nms(boxes: torch.Tensor, scores: torch.Tensor, threshold: float, mode: str) -> tuple[torch.Tensor, torch.Tensor]:
    return boxes[:2].clone(), scores[:2].clone()
@roi_nms.register_fake
def _(boxes, scores, threshold, mode):
    return boxes.new_empty((2, 4)), scores.new_empty((2,))
from torch.onnx import register_custom_op_symbolic
from torch.onnx.symbolic_helper import parse_args
@parse_args("v", "v", "f", "s")
def symbolic_nms(g, boxes, scores, threshold, mode):
    rows = g.op("Unsqueeze", scores, axes_i=[1])
    rows = g.op("ReduceSum", rows, axes_i=[1], keepdims_i=0).setType(scores.type())
    assert boxes.type().sizes() == [5, 4] and boxes.type().scalarType() == "Float"
    return g.op("mmcv::RoiNms", boxes, rows, iou_threshold_f=threshold, mode_s=mode, outputs=2)
register_custom_op_symbolic("wild::roi_nms", symbolic_nms, 11)
class Post(nn.Module):
    def forward(self, boxes, scores):
        return torch.ops.wild.roi_nms(boxes, scores, 0.5, "hard")
torch.onnx.export(Post(), (torch.rand(5, 4), torch.rand(5)), "nms.onnx", opset_version=11,
                  input_names=["boxes", "scores"], output_names=["kept", "kept_scores"],
                  custom_opsets={"mmcv": 2})
made = onnx.load("nms.onnx")
assert [n.op_type for n in made.graph.node] == ["Unsqueeze", "ReduceSum", "RoiNms"], made
assert {o.domain: o.version for o in made.opset_import} == {"": 11, "mmcv": 2}
assert [a.name for a in made.graph.node[-1].attribute] == ["iou_threshold", "mode"]
torch.onnx.unregister_custom_op_symbolic("wild::roi_nms", 11)
