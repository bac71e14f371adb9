"""How many elements ONNX's inference would follow in a model, when it follows values of shapes.

Its inference keeps a small message for each element of a vector that may be a shape: 26 Concats
that each double a vector are 8 GB.  The lengths are found here first, without the elements.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import onnx

from onnxwright.ir.proto_graphs import subgraphs_of

# All vectors of a model together; each element takes inference some 100 bytes.
MOST_ELEMENTS = 1_000_000
_RANK = 16  # of a tensor whose rank is not known
_FAR = 1 << 62
_NUMBERS = frozenset({1, 6, 7, 10, 11, 12, 13, 2, 3, 4, 5})


def follows_too_much(model: onnx.ModelProto) -> bool:
    """Whether the elements that inference would follow are more than `MOST_ELEMENTS`.

    Returns:
        True where they may be.

    Example:
        >>> from onnx import parser
        >>> lines = " ".join(f"w{n + 1} = Concat <axis = 0> (w{n}, w{n})" for n in range(30))
        >>> head = '<ir_version: 10, opset_import: ["" : 20]> g (float[2] x) => (int64 y)'
        >>> body = f"{{ w0 = Shape(x) {lines} y = Size(w30) }}"
        >>> follows_too_much(parser.parse_model(f"{head} {body}"))
        True
    """
    try:
        _Lengths(model).run()
    except OverflowError:
        return True
    except RecursionError:  # deeper than inference goes itself
        return True
    return False


class _Known(NamedTuple):
    """What bounds a value: the length of a vector, and how large its numbers may be."""

    length: int = 0
    largest: int = 0


_NOTHING = _Known()


class _Lengths:
    def __init__(self, model: onnx.ModelProto) -> None:
        self.model = model
        self.functions = {(f.domain, f.name, f.overload): f for f in model.functions}
        self.called: dict[Any, tuple[list[_Known], int]] = {}
        self.total = 0

    def run(self) -> None:
        """Go through the model.

        Raises:
            OverflowError: there are too many elements.
        """
        self._graph(self.model.graph, {})

    def _count(self, length: int) -> None:
        self.total += length
        if self.total > MOST_ELEMENTS:
            raise OverflowError

    def _graph(self, graph: onnx.GraphProto, around: Mapping[str, _Known]) -> list[_Known]:
        lengths = dict(around)
        for info in graph.input:
            dims = [max(d.dim_value, 0) for d in info.type.tensor_type.shape.dim]
            # Shape gives the sizes, Size their product.
            length = dims[0] if len(dims) == 1 else 0
            lengths[info.name] = _Known(length, min(math.prod(max(d, 1) for d in dims), _FAR))
            self._count(length)
        for tensor in graph.initializer:
            lengths[tensor.name] = _of_tensor(tensor)
            self._count(lengths[tensor.name].length)
        self._nodes(graph.node, lengths)
        return [lengths.get(o.name, _NOTHING) for o in graph.output]

    def _nodes(self, nodes: Sequence[onnx.NodeProto], values: dict[str, _Known]) -> None:
        for node in nodes:
            outputs: list[_Known] = []
            for body in subgraphs_of(node):
                results = self._graph(body, values)
                outputs = [
                    _either(pair) for pair in zip_longest(outputs, results, fillvalue=_NOTHING)
                ]
            lengths = [values.get(name, _NOTHING) for name in node.input]
            function = self.functions.get((node.domain, node.op_type, node.overload))
            if function is not None:
                outputs = self._call(function, lengths)
            elif not outputs:
                outputs = [_bound(node, lengths)] * len(node.output)
            for name, value in zip(node.output, outputs, strict=False):
                values[name] = value
                self._count(value.length)

    def _call(self, function: onnx.FunctionProto, inputs: list[_Known]) -> list[_Known]:
        """The results of a function; each call counts with all that is inside."""
        key = (function.domain, function.name, function.overload, tuple(inputs))
        if key in self.called:
            results, inside = self.called[key]
            self._count(inside)
            return results
        before = self.total
        lengths = dict(zip(function.input, inputs, strict=False))
        self._nodes(function.node, lengths)
        results = [lengths.get(name, _NOTHING) for name in function.output]
        self.called[key] = results, self.total - before
        return results


def _bound(node: onnx.NodeProto, inputs: list[_Known]) -> _Known:
    kind = node.op_type
    largest = max((g.largest for g in inputs), default=0)
    length = max((g.length for g in inputs), default=0)
    if kind == "Constant":
        return _either([_of_attribute(a) for a in node.attribute])
    if kind == "Shape":
        return _Known(_RANK, largest)
    if kind == "Concat":
        return _Known(sum(g.length for g in inputs), largest)
    if kind == "Range":
        reach = sum(g.largest for g in inputs[:2])
        return _Known(min(reach, _FAR), reach)
    if kind in ("Add", "Sub", "Sum"):
        return _Known(length, min(sum(g.largest for g in inputs), _FAR))
    if kind in ("Mul", "Pow", "ReduceProd"):
        grown = largest ** max(length, 2) if largest < 2 or length < 64 else _FAR
        return _Known(length, min(grown, _FAR))
    return _Known(length, largest)


def _either(values: Iterable[_Known]) -> _Known:
    lengths = list(values)
    return _Known(
        max((v.length for v in lengths), default=0), max((v.largest for v in lengths), default=0)
    )


def _of_tensor(tensor: onnx.TensorProto) -> _Known:
    count = math.prod(tensor.dims)
    if len(tensor.dims) > 1 or count > MOST_ELEMENTS:
        return _Known(count if len(tensor.dims) <= 1 else 0, _FAR)
    if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.data_type not in _NUMBERS:
        return _Known(count, _FAR)
    try:
        array = onnx.numpy_helper.to_array(tensor)
    except Exception:  # noqa: BLE001 - a damaged tensor holds no numbers
        return _Known(count, 0)
    return _Known(count, _integer(max((abs(float(v)) for v in array.reshape(-1)), default=0.0)))


def _of_attribute(attr: onnx.AttributeProto) -> _Known:
    if attr.HasField("t"):
        return _of_tensor(attr.t)
    numbers = [*attr.ints, *attr.floats, attr.i, attr.f]
    return _Known(max(len(numbers) - 2, len(attr.strings)), _integer(max(map(abs, numbers))))


def _integer(number: float) -> int:
    return int(min(number, _FAR)) if not math.isnan(number) else _FAR
