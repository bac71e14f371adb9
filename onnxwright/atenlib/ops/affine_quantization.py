"""torchao's affine quantization: integers with a scale for each block of elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxwright.atenlib.helpers.constants import cast, vector
from onnxwright.atenlib.helpers.sizes import arithmetic, size
from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.protocols import Arguments, Op, Size, Value, is_value
from onnxwright.atenlib.rules import custom
from onnxwright.types.dtypes import DType

_UNTESTED = "torchao's own operator; tests/exporter/test_quantized.py compares"
_BLOCKS_SINCE = 21
_HALF_SCALES_SINCE = 19
_FOUR_BITS = {DType.INT8: (DType.INT4, -8, 7), DType.UINT8: (DType.UINT4, 0, 15)}
"""Types of stored integers -> the type of four bits, and its range."""
_SCALES = (DType.FLOAT, DType.FLOAT16, DType.BFLOAT16)


def _result(arguments: Arguments) -> DType:
    return arguments.get("output_dtype") or DType.FLOAT


@aten("torchao::dequantize_affine", rule=custom(_result), untested=_UNTESTED)
def dequantize_affine(
    op: Op,
    input: Value,
    block_size: Sequence[Any],
    scale: Value,
    zero_point: Value | None,
    input_dtype: DType,
    quant_min: int | None = None,
    quant_max: int | None = None,
    output_dtype: DType = DType.FLOAT,
) -> Value:
    """The numbers that integers with a scale for each block stand for.

    DequantizeLinear for one scale, one for each place of an axis, and (from opset 21) one for each
    block along an axis; weights of at most 4 bits are stored as INT4 or UINT4 there.
    """
    del input_dtype
    counts = _counts(input, block_size)
    form = _form(op, input, counts)
    if form is None or input.onnx_dtype not in _FOUR_BITS or scale.onnx_dtype not in _SCALES:
        return cast(op, _by_hand(op, input, counts, scale, zero_point), output_dtype)
    shape, attributes = form
    stored, low, high = _FOUR_BITS[input.onnx_dtype]
    small = (
        quant_min is not None and quant_max is not None and low <= quant_min <= quant_max <= high
    )
    if not (small and op.version >= _BLOCKS_SINCE and _is_stored(input)):
        stored = input.onnx_dtype
    if scale.onnx_dtype is not DType.FLOAT16 or op.version < _HALF_SCALES_SINCE:
        scale = cast(op, scale, DType.FLOAT)  # no runtime on the CPU takes BFLOAT16 here
    inputs = [cast(op, input, stored), op.Reshape(scale, shape)]
    if zero_point is not None:
        inputs.append(cast(op, op.Reshape(zero_point, shape), stored))
    return cast(op, op.DequantizeLinear(*inputs, **attributes), output_dtype)


def _is_stored(x: Value) -> bool:
    """Whether a value is a weight: no node makes it."""
    held = getattr(x, "value", None)
    return held is not None and held.producer() is None


def _counts(x: Value, block_size: Sequence[Any]) -> list[tuple[Any, Any]]:
    """For each axis, how many blocks it has and how many elements a block has there.

    None stands for a number of blocks that only the run knows.
    """
    counts: list[tuple[Any, Any]] = []
    for n, (length, block) in enumerate(zip(x.shape, block_size, strict=True)):
        if isinstance(length, int) and isinstance(block, int):
            counts.append((length // block, block))
        elif isinstance(block, int):
            counts.append((None, block))
        elif is_value(block) or length is None:
            unsupported(f"a block as large as axis {n}, whose size is dynamic")
        else:
            counts.append((1, -1))
    return counts


def _form(
    op: Op, x: Value, counts: Sequence[tuple[Any, Any]]
) -> tuple[list[int], dict[str, int]] | None:
    """The shape of scales and the attributes of DequantizeLinear; None where it cannot say so."""
    if any(count is None for count, _ in counts):
        return None
    several = [n for n, (count, _) in enumerate(counts) if count != 1]
    if not several:
        return [], {}
    if len(several) == 1 and counts[several[0]][1] == 1:
        return [-1], {"axis": several[0]}
    blocked = [n for n, (_, block) in enumerate(counts) if block != 1]
    if op.version >= _BLOCKS_SINCE and len(blocked) == 1:
        (axis,) = blocked
        shape = [count for count, _ in counts]
        return shape, {"axis": axis, "block_size": counts[axis][1]}
    return None


def _by_hand(
    op: Op,
    x: Value,
    counts: Sequence[tuple[Any, Any]],
    scale: Value,
    zero: Value | None,
) -> Value:
    """`(x - zero) * scale`, with the blocks as axes of their own."""
    unknown = sum(count is None for count, _ in counts)
    split: list[Size] = []
    aligned: list[Size] = []
    whole: list[Size] = []
    for n, (count, block) in enumerate(counts):
        groups: Size = -1 if count is None else count
        length = -1 if count is None else count * block
        if unknown > 1 and count is None:  # Reshape finds one size by itself
            length = size(op, x, n)
            groups = length if block == 1 else arithmetic(op, "Div", length, block)
        split += [groups, block]
        aligned += [groups, 1]
        whole.append(length)
    wide = scale.onnx_dtype
    shifted = cast(op, op.Reshape(x, vector(op, split)), wide)
    aligned_sizes = vector(op, aligned)
    if zero is not None:
        shifted = op.Sub(shifted, cast(op, op.Reshape(zero, aligned_sizes), wide))
    return op.Reshape(op.Mul(shifted, op.Reshape(scale, aligned_sizes)), vector(op, whole))
