"""What the scores of an attention are made of, read backwards from its Softmax."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import onnx_ir as ir

from onnxwright.operators import facts
from onnxwright.optimizer.constants import small_array, tensor_of

# Scores of so little are those of hidden keys.
_HIDDEN = -1e4
# ONNX Runtime takes a row of no more than this for hidden.
_LOWEST = -3.4028e38
# How far back the numbers of a mask are looked for.
_MOST_STEPS = 48


@dataclass
class Scores:
    """What scores are made of, as values of the source graph.

    Fields:
        q, kt: the operands of their product.
        perm: how `kt` is transposed before that, if its scale comes before the Transpose.
        factor: all scales together.
        mask: what is added, or says which keys are seen.
        hides: whether a mask may hide whole rows; and the numbers it has for them.
        turned: whether the mask says which keys are hidden.
        nodes: the nodes between.
    """

    q: ir.Value | None = None
    kt: ir.Value | None = None
    perm: list[int] | None = None
    factor: float = 1.0
    mask: ir.Value | None = None
    hides: set[float] = field(default_factory=set)
    turned: bool = False


def _node(value: ir.Value | None, *kinds: str, shared: bool = False) -> ir.Node | None:
    """The node of one of some operators that makes a value for one reader."""
    node = None if value is None else value.producer()
    if value is None or node is None or node.domain or node.op_type not in kinds:
        return None
    if not shared and (len(value.uses()) != 1 or value.is_graph_output()):
        return None
    return node


def _scalar(value: ir.Value | None) -> float | None:
    """The number of a constant of no axes."""
    array = None if value is None else small_array(value)
    return None if array is None or array.ndim or array.dtype.kind != "f" else float(array)


def _scaled(value: ir.Value | None, *, shared: bool = False) -> tuple[ir.Value | None, float]:
    """A value without the factors it is multiplied with, and their product."""
    factor = 1.0
    while (node := _node(value, "Mul", "Div", shared=shared)) is not None:
        a, b = node.inputs
        number = _scalar(b)
        if number is None and node.op_type == "Mul":
            a, number = b, _scalar(a)
        if number is None or number == 0 or not math.isfinite(number):
            break
        value, factor = a, factor * number if node.op_type == "Mul" else factor / number
    return value, factor


def scores_of(value: ir.Value | None) -> Scores | None:
    """What the input of a Softmax is made of; None if it is not a matrix of scores."""
    scores = Scores()
    if (node := _node(value, "Add", "Where")) is not None:
        value = _unmasked(node, scores)
        if value is None:
            return None
    value, scores.factor = _scaled(value)
    product = _node(value, "MatMul")
    if product is None:
        return None
    scores.q, left = _scaled(product.inputs[0], shared=True)
    scores.kt, right = _scaled(product.inputs[1], shared=True)
    scores.factor *= left * right
    turn = _node(scores.kt, "Transpose")
    if turn is not None and "perm" in turn.attributes:
        inner, before = _scaled(turn.inputs[0])
        if inner is not turn.inputs[0]:
            scores.kt, scores.perm = inner, list(turn.attributes["perm"].as_ints())
            scores.factor *= before
    return scores


def _unmasked(node: ir.Node, parts: Scores) -> ir.Value | None:
    """The scores that a node masks."""
    if node.op_type == "Where":
        seen, a, b = node.inputs
        for scores, other, turned in ((a, b, False), (b, a, True)):
            number = _scalar(other)
            if number is not None and number <= _HIDDEN and _leads_to_product(scores):
                parts.mask, parts.turned, parts.hides = seen, turned, {number}
                return scores
        return None
    a, b = node.inputs
    for scores, mask in ((a, b), (b, a)):
        if _leads_to_product(scores):
            parts.mask, parts.hides = mask, _lowest_numbers(mask)
            return scores
    return None


def _leads_to_product(value: ir.Value | None) -> bool:
    return _node(_scaled(value)[0], "MatMul") is not None


def _lowest_numbers(mask: ir.Value | None) -> set[float]:
    """The numbers of hidden keys that a model makes a mask of, where these hide whole rows.

    A mask of floats that the caller gives may have any of them.
    """
    numbers: set[float] = set()
    waiting: list[ir.Value | None] = [mask]
    seen: set[ir.Value] = set()
    while waiting and len(seen) < _MOST_STEPS:
        value = waiting.pop()
        if value is None or value in seen:
            continue
        seen.add(value)
        array = small_array(value)
        if array is not None:
            if array.dtype.kind == "f" and array.size and array.min() <= _LOWEST:
                numbers.add(float(array.min()))
            continue
        node = value.producer()
        if node is None:
            if tensor_of(value) is None and (value.dtype is None or _is_float(value)):
                numbers |= {-math.inf, _LOWEST}
        elif not _is_computed(node):
            waiting += list(node.inputs)
    return numbers


def _is_float(value: ir.Value) -> bool:
    return value.dtype is not None and value.dtype.is_floating_point()


def _is_computed(node: ir.Node) -> bool:
    """Whether a node makes other numbers than masks have: products, and factors of 0s and 1s."""
    if facts(node.op_type, node.domain).heavy:
        return True
    numbers = [_number_of(v) for v in node.inputs] if node.op_type == "Mul" else []
    return any(n is not None and 1 < abs(n) < -_LOWEST for n in numbers)


def _number_of(value: ir.Value | None) -> float | None:
    """The number of a constant of one element."""
    array = small_array(value)
    return None if array is None or array.size != 1 else float(array.reshape(()))
