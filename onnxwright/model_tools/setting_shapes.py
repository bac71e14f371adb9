"""`set_shapes`: dimensions of inputs made dynamic or fixed, and every other shape inferred anew."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import onnx_ir as ir

from onnxwright.diagnostics.catalogue import model_tools as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.adapters import set_type
from onnxwright.ir.door import Model, opened, returned
from onnxwright.ir.nested import all_nodes, subgraphs
from onnxwright.model_tools.values import find, read_by
from onnxwright.operators import facts
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.versions.engine import place_of
from onnxwright.versions.value_types import ValueTypes, constant_of

Dims = Sequence["int | str | None"]
_NONE: Mapping[str, int | str] = {}


def set_shapes(
    model: Model,
    shapes: Mapping[str, Dims] | None = None,
    *,
    dims: Mapping[str, int | str] = _NONE,
    output: str | PathLike[str] | None = None,
) -> Any:
    """A model with other shapes of inputs; those of all other values are inferred anew.

    A number fixes a dimension, a name makes it dynamic, None leaves it as it is.  The model is
    checked with the new shapes, dynamic dimensions at two other sizes than before: an operator
    that then cannot run (most often behind a Reshape to fixed sizes) is an error.

    Args:
        model: a model of any kind (see `ow.load`); it is not changed.
        shapes: name of an input -> its dimensions.
        dims: name of a dimension -> number or other name, for all inputs that have it.
        output: a file to write the result to.

    Returns:
        The same kind as `model`; an `onnx_ir.Model` for a path or an ONNXProgram, a ModelProto for
        a script.  The path written, with `output`.

    Raises:
        ModelToolError: the input or dimension does not exist (OW876), a rank differs (OW882), or
            the model cannot run with these shapes (OW880).

    Example:
        >>> import onnx
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 10, opset_import: ["" : 18]>'
        ...     "g (float[1,3] x) => (float[1,6] y) { y = Concat<axis=1>(x, x) }"
        ... )
        >>> new = set_shapes(model, {"x": ["batch", 3]})
        >>> onnx.printer.to_text(new.graph).splitlines()[0]
        'g (float[batch,3] x) => (float[batch,6] y) {'
    """
    source = opened(model)
    changed = source.clone()
    before = {v.name or "": _dims_of(v) for v in changed.graph.inputs}
    after = _new_shapes(changed.graph, shapes or {}, dims, before)
    declared = _forget(changed)
    _check(source, before, after)
    for value in changed.graph.inputs:
        shape_afterwards = after[value.name or ""]
        if shape_afterwards is not None:
            value.shape = ir.Shape(shape_afterwards)
    _infer(changed, declared, before, after)
    return returned(changed, model, output, same_interface=False)


def _dims_of(value: ir.Value) -> tuple[Any, ...] | None:
    if value.shape is None:
        return None
    return tuple(d if isinstance(d, int) else d.value for d in value.shape)


Known = Mapping[str, "tuple[Any, ...] | None"]


def _new_shapes(
    graph: ir.Graph, shapes: Mapping[str, Dims], dims: Mapping[str, int | str], before: Known
) -> dict[str, tuple[Any, ...] | None]:
    """The shapes that inputs are to have."""
    inputs = {v.name or "": v for v in graph.inputs}
    after = dict(before)
    for name, sizes in shapes.items():
        find(inputs, name, "input", graph)
        old = before[name]
        if isinstance(sizes, (str, int)) or not all(_is_dim(d) for d in sizes):
            fail(messages.BadModelArgument(
                argument=name, reason=f"{sizes!r} is not a list of dimensions",
                advice="give numbers, names and None, such as ['batch', 3, None]",
            ))  # fmt: skip
        if old is not None and len(old) != len(sizes):
            fail(messages.BadModelArgument(
                argument=name, reason=f"it has {len(old)} dimensions, and {len(sizes)} are given",
                advice="the rank of an input stays: give one dimension for each axis",
            ))  # fmt: skip
        kept = old or (None,) * len(sizes)
        after[name] = tuple(o if d is None else d for o, d in zip(kept, sizes, strict=True))
    named = {d for shape in before.values() for d in shape or () if isinstance(d, str)}
    for name in dims:
        if name not in named:
            some = ", ".join(f"`{n}`" for n in sorted(named)) or "none"
            fail(messages.UnknownValue(
                kind="dimension", name=name, names=f"the names of dimensions of inputs: {some}"
            ))  # fmt: skip
    for name, shape in after.items():
        if shape is not None:
            after[name] = tuple(dims.get(d, d) if isinstance(d, str) else d for d in shape)
    return after


def _is_dim(dim: object) -> bool:
    if isinstance(dim, bool):
        return False
    return (
        dim is None or (isinstance(dim, int) and dim >= 0) or (isinstance(dim, str) and dim != "")
    )


def _forget(model: ir.Model) -> dict[ir.Value, tuple[Any, ...]]:
    """Remove the shapes of everything that is computed, and return them."""
    declared = {}
    for value in _computed(model):
        dims = _dims_of(value)
        if dims is not None:
            declared[value] = dims
            value.shape = None
    return declared


def _computed(model: ir.Model) -> Iterable[ir.Value]:
    """The results of nodes, and the inputs of bodies."""
    for node in all_nodes(model.graph):
        yield from node.outputs
        for inner in subgraphs(node):
            yield from inner.inputs


def _infer(
    model: ir.Model, declared: Mapping[ir.Value, tuple[Any, ...]], before: Known, after: Known
) -> None:
    """Infer and write down the types of all values; of the others, what still holds is kept."""
    types = ValueTypes(model)
    still = _Kept(before, after)
    for value in _computed(model):
        set_type(value, types.kind(value))
        if value.shape is None and value in declared:
            value.shape = ir.Shape(still.dims(declared[value]))


class _Kept:
    """What a declared shape says with other shapes of inputs.

    Numbers stay where no number of an input changed; names follow those of inputs.
    """

    def __init__(self, before: Known, after: Known) -> None:
        self.renamed: dict[str, Any] = {}
        self.numbers = True
        for name, old in before.items():
            for was, now in zip(old or (), after[name] or (), strict=False):
                if isinstance(was, str):
                    self.renamed[was] = now if self.renamed.get(was, now) == now else None
                elif was != now and isinstance(was, int):
                    self.numbers = False

    def dims(self, declared: tuple[Any, ...]) -> list[Any]:
        """The dimensions that a shape has now, None for one that is not known."""
        return [
            self.renamed.get(d, d) if isinstance(d, str) else d if self.numbers else None
            for d in declared
        ]


# -- checking --------------------------------------------------------------------------------------


def _check(model: ir.Model, before: Known, after: Known) -> None:
    """Raise where the model cannot run with the new shapes although it could with the old ones."""
    harmless = {p[0] for p in _problems(model, _sizes(before, before, 1), before)}
    nodes: dict[str, tuple[ir.Node, str]] = {}
    for factor in (1, 2, 3):
        for name, node, reason in _problems(model, _sizes(before, after, factor), after):
            if name not in harmless:
                nodes.setdefault(name, (node, reason))
    if nodes:
        fail(*(_diagnostic(node, reason) for node, reason in nodes.values()))


def _sizes(before: Known, after: Known, factor: int) -> dict[str, int]:
    """A size for each name: what it was, times a factor, so that divisions stay whole."""
    sizes: dict[str, int] = {}
    for name, shape in after.items():
        old = before.get(name)
        for n, dim in enumerate(shape or ()):
            if isinstance(dim, str):
                was = old[n] if old is not None and n < len(old) else None
                base = was if isinstance(was, int) and was > 0 else 16
                sizes.setdefault(dim, base * factor)
    return sizes


def _problems(
    model: ir.Model, sizes: Mapping[str, int], shapes: Known
) -> list[tuple[str, ir.Node, str]]:
    """(first output, node, reason) of the nodes that cannot run at some sizes."""
    trial = model.clone()
    _forget(trial)
    for value in trial.graph.inputs:
        shape = shapes[value.name or ""]
        if shape is not None:
            value.shape = ir.Shape([sizes.get(d, d) if isinstance(d, str) else d for d in shape])
    for value in trial.graph.outputs:
        value.shape = None
    types = ValueTypes(trial)
    problems = [*types.problems, *_reshapes(trial, types)]
    return [
        ((node.outputs[0].name or "") if node.outputs else "", node, reason)
        for node, reason in problems
    ]


def _reshapes(model: ir.Model, types: ValueTypes) -> Iterable[tuple[ir.Node, str]]:
    """Reshapes to another number of elements."""
    for node in all_nodes(model.graph):
        if node.op_type == "Reshape" and node.domain == "" and node.inputs and node.outputs:
            before, after = (_count(types.kind(v)) for v in (node.inputs[0], node.outputs[0]))
            if before is not None and after is not None and before != after:
                yield node, f"{before} elements cannot be reshaped to {after}"


def _count(kind: OnnxType | None) -> int | None:
    if not isinstance(kind, TensorType) or kind.shape is None:
        return None
    sizes = [d for d in kind.shape if isinstance(d, int)]
    return math.prod(sizes) if len(sizes) == len(kind.shape) else None


def _diagnostic(node: ir.Node, reason: str) -> messages.ShapesContradict:
    blamed = _baked_in(node)
    cause = None
    if blamed is not None:
        array = next(
            (a for v in blamed.inputs if (a := constant_of(v)) is not None and a.ndim <= 1), None
        )
        sizes = "" if array is None else f" {array.tolist()}"
        cause = (
            f"the sizes{sizes} of `{blamed.op_type}` ({place_of(blamed)}) were fixed when the "
            "model was made; write -1 or compute them from `Shape`"
        )
    return messages.ShapesContradict(
        operation=node.op_type, reason=_one_line(reason), place=place_of(node), cause=cause
    )


def _baked_in(node: ir.Node) -> ir.Node | None:
    """The nearest node at or before a node that has constant sizes."""
    waiting, seen = [node], {node}
    while waiting and len(seen) < 200:
        now = waiting.pop(0)
        if facts(now.op_type, now.domain).takes_sizes and any(
            constant_of(v) is not None for v in now.inputs
        ):
            return now
        for value in read_by(now):
            producer = value.producer()
            if producer is not None and producer not in seen:
                seen.add(producer)
                waiting.append(producer)
    return None


def _one_line(text: str) -> str:
    lines: Iterable[str] = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line), text).replace("{", "(").replace("}", ")")
