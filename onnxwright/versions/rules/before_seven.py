"""Operators of opset 1 to 6 in newer versions: broadcasting by axis, shapes as attributes."""

from __future__ import annotations

from typing import Any

from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.ops import Ops
from onnxwright.types.dtypes import DType
from onnxwright.versions.call import KEEP, Call, Refused, up


@up(6, "Selu")
def selu_has_more_digits(op: Ops, call: Call) -> Any:
    """The defaults of `alpha` and `gamma` have more digits.  Source: ONNX Selu 1 and 6."""
    defaults = {name: call.attr(name) for name in ("alpha", "gamma")}
    return call.same(op, None, call.without("consumed_inputs", **defaults))


@up(6, "Cast")
def types_are_numbers(op: Ops, call: Call) -> Any:
    """`to` is the number of a type; before, its name.  Source: ONNX Cast 1 and 6."""
    name = call.attr("to")
    text = name.decode() if isinstance(name, bytes) else str(name)
    if text.upper() not in DType.__members__:
        raise Refused(f"{text!r} is not the name of an element type", "repair the model")
    return call.same(op, None, {"to": int(DType[text.upper()])})


@up(6, "Tile")
def each_axis_is_repeated(op: Ops, call: Call) -> Any:
    """One number for each axis; before, a number and an axis.  Source: ONNX Tile 1 and 6."""
    tiles, axis = call.ints(1), call.ints(2)
    assert tiles is not None
    assert axis is not None
    repeats = [1] * call.rank(0)
    repeats[axis[0]] = tiles[0]
    return call.same(op, [call.input(0), call.int64(op, repeats)], {})


@up(
    7, "Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less"
)  # fmt: skip
def second_operand_is_aligned(op: Ops, call: Call) -> Any:
    """The second operand is aligned to the last axes; before, to those from `axis` on.

    Source: ONNX Add 6 (`broadcast`, `axis`) and 7.
    """
    if not call.has_attr("broadcast") and not call.has_attr("axis"):
        return KEEP
    axis = call.attr("axis") if call.attr("broadcast", 0) else None
    second = call.input(1)
    if axis is not None and call.rank(1):
        rank = call.rank(0)
        first = axis + rank if axis < 0 else axis
        second = _behind(op, second, call.rank(1), rank - first - call.rank(1))
    return call.same(op, [call.input(0), second], call.without("broadcast", "axis"))


def _behind(op: Ops, value: GraphValue, rank: int, count: int) -> GraphValue:
    """A value with `count` axes of size 1 behind its own."""
    if count < 0:
        raise Refused("its second operand has more axes than there are from `axis` on")
    return op.Unsqueeze(value, axes=list(range(rank, rank + count))) if count else value


@up(7, "PRelu")
def slopes_are_aligned(op: Ops, call: Call) -> Any:
    """The slope broadcasts as everything else; before, it was one for each channel.

    Source: ONNX PRelu 6 and 7.
    """
    slope = call.input(1)
    if slope.shape in ((1,), ()):
        return KEEP
    return call.same(op, [call.input(0), _behind(op, slope, 1, call.rank(0) - 2)])


_TRAINS = "it trains (`is_test` is 0), which newer versions below 14 do not say"
_ADVICE = "set `is_test` to 1 if the model is for inference"


@up(7, "BatchNormalization")
def normalization_is_of_inference(op: Ops, call: Call) -> Any:
    """One output means inference; before, `is_test`.  Source: ONNX BatchNormalization 6 and 7."""
    if not call.attr("is_test", 0):
        raise Refused(_TRAINS, _ADVICE)
    if any(call.used[1:]):
        raise Refused("outputs of training are read, but it is of inference")
    results = op.backend.emit(
        op.opset["BatchNormalization"], call.inputs, call.without("is_test"), 1
    )
    return [results[0]]


@up(7, "Dropout")
def dropout_is_of_inference(op: Ops, call: Call) -> Any:
    """Dropout does nothing at inference; before, it dropped unless `is_test` was 1.

    Source: ONNX Dropout 6 and 7.
    """
    if not call.attr("is_test", 0):
        raise Refused(_TRAINS.replace("below 14", "below 12"), _ADVICE)
    if any(call.used[1:]):
        raise Refused("its mask is read, which has no meaning in inference")
    results = op.backend.emit(op.opset["Dropout"], call.inputs, call.without("is_test"), 1)
    return [results[0]]


@up(3, "GRU")
def direction_is_forward(op: Ops, call: Call) -> Any:
    """The default of `direction` was misspelt.  Source: ONNX GRU 1 and 3."""
    direction = "forward" if call.attr("direction") == "foward" else call.attr("direction")
    return call.same(op, None, call.without(direction=direction))


@up(2, "Pad")
def paddings_are_pads(op: Ops, call: Call) -> Any:
    """`paddings` is called `pads`.  Source: ONNX Pad 1 and 2."""
    return call.same(op, None, call.without("paddings", pads=list(call.attr("paddings"))))


@up(2, "Split")
def split_is_an_attribute(op: Ops, call: Call) -> Any:
    """`split` is only an attribute, and `axis` is 0 by default.  Source: ONNX Split 1 and 2."""
    sizes = call.ints(1) or call.attr("split")
    attributes = {"axis": call.attr("axis", 0), **({"split": list(sizes)} if sizes else {})}
    return call.same(op, [call.input(0)], attributes)


@up(2, "LpPool", "GlobalLpPool")
def norms_are_whole(op: Ops, call: Call) -> Any:
    """`p` is a whole number.  Source: ONNX LpPool 1 and 2."""
    p = call.attr("p", 2.0)
    if p != int(p):
        raise Refused(f"its attribute `p` is {p}, and newer versions take whole numbers")
    return call.same(op, None, call.without(p=int(p)))


@up(7, "Upsample")
def scales_of_all_axes(op: Ops, call: Call) -> Any:
    """One scale for each axis; before, of height and width.  Source: ONNX Upsample 1 and 7."""
    scales = [1.0, 1.0, call.attr("height_scale"), call.attr("width_scale")]
    attributes: dict[str, Any] = call.without("height_scale", "width_scale", scales=scales)
    return call.same(op, None, attributes)
