"""Signal processing: Fourier transforms and windows."""

from __future__ import annotations

from onnxwright.operators.op_call import OpCall, UnknownError
from onnxwright.operators.record import Change, OperatorFacts
from onnxwright.types import dims
from onnxwright.types.shapes import Shape


def _stft_shape(call: OpCall) -> Shape:
    """Source: ONNX STFT, version 17: frames that fit wholly, half of the bins if one-sided."""
    signal, step = call.shape(0), call.dims(1)
    if call.has(3):
        length = call.dims(3)[0]
    elif call.has(2):
        (length,) = call.shape(2)
    else:
        raise UnknownError
    frames = dims.add(dims.floordiv(dims.sub(signal[1], length), step[0]), 1)
    bins = dims.add(dims.floordiv(length, 2), 1) if call.attr("onesided") else length
    return (signal[0], frames, bins, 2)


FACTS = (
    OperatorFacts("BlackmanWindow"),
    OperatorFacts(
        "DFT",
        least_ranks=(1,),
        changes={
            20: Change("the axis is an input, -2 by default; before, an attribute, 1 by default")
        },
    ),
    OperatorFacts("HammingWindow"),
    OperatorFacts("HannWindow"),
    OperatorFacts("MelWeightMatrix"),
    OperatorFacts("STFT", least_ranks=(2, 0, 1), infer=_stft_shape),
)
