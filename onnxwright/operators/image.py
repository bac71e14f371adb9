"""Images: resizing, sampling, decoding and boxes."""

from __future__ import annotations

from onnxwright.operators.record import NEVER, Change, OperatorFacts

FACTS = (
    OperatorFacts("AffineGrid"),
    OperatorFacts(
        "GridSample",
        changes={20: Change("the modes bilinear and bicubic are called linear and cubic")},
    ),
    OperatorFacts("ImageDecoder", folding=NEVER),
    OperatorFacts("NonMaxSuppression"),
    OperatorFacts(
        "Resize",
        folding=NEVER,
        changes={
            11: Change(
                "roi is an input before scales; half_pixel is the default; before, asymmetric"
            ),
            13: Change(
                "tf_half_pixel_for_nn is gone", only_with=("coordinate_transformation_mode",)
            ),
        },
    ),
    OperatorFacts(
        "Upsample", folding=NEVER, changes={10: Change("deprecated: Resize takes its place")}
    ),
)

__all__ = ["FACTS"]
