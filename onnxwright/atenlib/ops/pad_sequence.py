"""Sequences of different lengths as one tensor."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from onnxwright.atenlib.helpers.constants import full
from onnxwright.atenlib.helpers.sizes import arithmetic, size
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.cat_stack import joined
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.atenlib.rules import elementwise


@aten(
    "aten::pad_sequence",
    rule=elementwise("sequences"),
    complex="parts",
    untested="torch has no OpInfo for it",
)
def pad_sequence(
    op: Op,
    sequences: Sequence[Value],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Value:
    """Sequences side by side, each with a number after (or before) it up to the longest one."""
    lengths = [size(op, s, 0) for s in sequences]
    longest = functools.reduce(lambda a, b: arithmetic(op, "Max", a, b), lengths)
    rows = []
    for sequence, length in zip(sequences, lengths, strict=True):
        missing = arithmetic(op, "Sub", longest, length)
        if not (isinstance(missing, int) and missing == 0):
            shape = [missing, *(size(op, sequence, n) for n in range(1, sequence.rank))]
            padding = full(op, shape, padding_value, sequence.onnx_dtype)
            parts = [sequence, padding] if padding_side == "right" else [padding, sequence]
            sequence = joined(op, parts, 0)
        rows.append(op.Unsqueeze(sequence, [0 if batch_first else 1]))
    return joined(op, rows, 0 if batch_first else 1)
