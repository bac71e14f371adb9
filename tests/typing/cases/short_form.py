"""Dimensions in brackets, as mypy reads them with the plugin; each marked line is an error."""

from __future__ import annotations

from collections.abc import Sequence

import onnxwright as ow
from onnxwright import DOUBLE, FLOAT, INT64, Tensor, script
from onnxwright import opset18 as op

CHANNELS = 4


@script()
def shapes(
    x: FLOAT["N", 3],
    index: INT64[...],
    mask: ow.BOOL["2*N + 1", None] | None,
    rows: Sequence[FLOAT[6]],
    scalar: FLOAT[()],
    image: Tensor["batch", CHANNELS],
) -> FLOAT["N", 3]:
    y: FLOAT["N", 3] = op.Relu(x)
    return y * scalar


class Layers:
    def both(self, x: FLOAT["N", 3] | DOUBLE["N", 3]) -> tuple[FLOAT["M"], INT64[2, "M - 1"]]:
        def body(i: INT64[()], go_on: ow.BOOL[()], y: FLOAT["Q"]) -> FLOAT["Q"]:
            for _ in range(3):
                z: FLOAT["Q"] = y + 1
            return z

        return op.Relu(x), op.Shape(x)


def not_whole(x: FLOAT[1.5]) -> None: ...  # error


def negative(x: FLOAT[-1]) -> None: ...  # error


def empty(x: FLOAT["N", ""]) -> None: ...  # error


def unknown_name(x: FLOAT[nope]) -> None: ...  # error


def wrong_result(x: FLOAT["N"]) -> DOUBLE["N"]:
    return x + 1  # error


def wrong_argument(x: FLOAT["N"], k: INT64["N"]) -> DOUBLE["N"]:
    return wrong_result(k)  # error
