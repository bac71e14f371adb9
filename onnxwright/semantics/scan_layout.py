"""What the attributes of a Scan say of its inputs: how many are scanned, along which axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from onnxwright.diagnostics.catalogue.eager import BadLoopInput
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span


@dataclass(frozen=True)
class ScanLayout:
    """The inputs of a Scan.

    Fields:
        states: how many of them are states; the sequences follow.
        axes: the axis each sequence is scanned along, from 0 or from the end.
        backward: which of the sequences are read from their end.
    """

    states: int
    axes: tuple[int, ...]
    backward: tuple[bool, ...]


def scan_layout(
    attributes: Mapping[str, Any], ranks: Sequence[int | None], span: Span | None
) -> ScanLayout:
    """Read the attributes of a Scan that are about its inputs.

    Args:
        attributes: the attributes of the call, bound or as the user gave them.
        ranks: the rank of each input, as far as it is known.
        span: where the call is.

    Raises:
        EagerValueError: an attribute does not fit the inputs (OW620).

    Source:
        ONNX Scan-9: `num_scan_inputs`, `scan_input_axes`, `scan_input_directions`.

    Example:
        >>> scan_layout({"num_scan_inputs": 1, "scan_input_axes": [-1]}, [0, 2], None)
        ScanLayout(states=1, axes=(-1,), backward=(False,))
    """
    count = attributes.get("num_scan_inputs")
    if not isinstance(count, int) or not 1 <= count <= len(ranks):
        inputs = f"{len(ranks)} input{'s' * (len(ranks) != 1)}"
        _bad(f"`num_scan_inputs` is {count}, and it has {inputs}",
             "give the number of inputs that are scanned: the last ones", span)  # fmt: skip
    sequences = ranks[len(ranks) - count :]
    axes = per_value(attributes, "scan_input_axes", count, span)
    for axis, rank in zip(axes, sequences, strict=True):
        check_axis("scan_input_axes", axis, rank, span)
    directions = per_value(attributes, "scan_input_directions", count, span)
    for direction in directions:
        if direction not in (0, 1):
            _bad(f"`scan_input_directions` has {direction}", "0 is forward, 1 is backward", span)
    return ScanLayout(len(ranks) - count, axes, tuple(map(bool, directions)))


def per_value(
    attributes: Mapping[str, Any], name: str, count: int, span: Span | None
) -> tuple[int, ...]:
    """An attribute of a Scan that has one number for each value.

    Args:
        name: the attribute; absent, it is all zeros.
        span: where the call is.

    Raises:
        EagerValueError: it has another number of numbers, or something else (OW620).

    Example:
        >>> per_value({}, "scan_output_axes", 2, None)
        (0, 0)
    """
    per_value_attribute = attributes.get(name)
    if per_value_attribute is None:
        return (0,) * count
    plain = isinstance(per_value_attribute, (list, tuple)) and all(
        isinstance(v, int) for v in per_value_attribute
    )
    if not plain or len(per_value_attribute) != count:
        what = f"has {len(per_value_attribute)} numbers" if plain else "is not a list of numbers"
        values = f"{count} value{'s' * (count != 1)}"
        _bad(f"`{name}` {what} for {values}", "give one for each value", span)
    return tuple(int(v) for v in per_value_attribute)


def check_axis(name: str, axis: int, rank: int | None, span: Span | None) -> None:
    """Refuse an axis that a value does not have.

    Args:
        name: the attribute it comes from.
        rank: the rank of the value; None where it is not known.
        span: where the call is.

    Raises:
        EagerValueError: the axis is out of range (OW620).
    """
    if rank is not None and not -rank <= axis < rank:
        axes = f"{rank} {'axis' if rank == 1 else 'axes'}"
        _bad(f"`{name}` has the axis {axis}, where the value has {axes}",
             "axes count from 0, or from the end with -1", span)  # fmt: skip


def _bad(reason: str, advice: str, span: Span | None) -> NoReturn:
    fail(BadLoopInput(op="Scan", reason=reason, advice=advice, span=span))
