"""Initializers made of weights of the module: what they are made of, and how they follow it.

A model need not hold its weights as the module has them: some are stored transposed, some are
folded into others.  Each such initializer remembers its sources, so that weights loaded later find
their way, and nothing is computed before it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.ir.nested import all_graphs
from onnxwright.ir.saving import read_tensor
from onnxwright.ir.stored import notes_of
from onnxwright.types.dtypes import DType

# Where an initializer keeps its `WeightSource`, and where a model says so to whoever reads it.
_KEY = "onnxwright.made_of"

Array = np.ndarray[Any, Any]


class Derived(ir.LazyTensor):
    """A tensor that is computed from others each time it is read.

    Args:
        compute: makes the array from those of the sources.
        sources: the tensors it is computed from.
        dtype, shape: of its elements, and its own.
        name: its name.
    """

    __slots__ = ("sources",)

    def __init__(
        self,
        compute: Callable[[Sequence[Array]], Array],
        sources: Sequence[Any],
        dtype: ir.DataType,
        shape: Sequence[int],
        name: str | None = None,
    ) -> None:
        def tensor() -> Any:
            array = np.asarray(compute([read_tensor(t) for t in self.sources]))
            assert array.shape == tuple(shape)
            element_type = DType(int(dtype)).numpy
            return ir.Tensor(array.astype(element_type, copy=False), dtype=dtype)

        super().__init__(tensor, dtype=dtype, shape=ir.Shape(shape), name=name)
        self.sources = tuple(sources)


@dataclass(frozen=True, eq=False)
class WeightSource:
    """What an initializer is made of.

    Fields:
        names: the initializers it represents, as the module names them.
        tensors: what these hold, as the module has it.
        make: the tensor of the initializer for theirs; it reads none of them.
    """

    names: tuple[str, ...]
    tensors: tuple[Any, ...]
    make: Callable[[Sequence[Any]], Any]


def source_of(value: ir.Value) -> WeightSource:
    """What an initializer is made of; of itself, where nothing was done to it.

    Args:
        value: the initializer.

    Returns:
        Its sources.
    """
    source = notes_of(value).get(_KEY)
    if isinstance(source, WeightSource):
        return source
    return WeightSource((str(value.name),), (value.const_value,), lambda tensors: tensors[0])


def is_derived(value: ir.Value) -> bool:
    """Whether an initializer was made of others, or holds one in another form.

    Args:
        value: the initializer.
    """
    return _KEY in notes_of(value)


def set_source(value: ir.Value, source: WeightSource) -> None:
    """Let an initializer hold what is computed from others.

    Args:
        value: the initializer; its tensor, type and shape are set.
        source: what it is computed from, and how.
    """
    tensor = source.make(source.tensors)
    tensor.name = value.name
    value.const_value = tensor
    value.shape = ir.Shape(list(tensor.shape))
    value.type = ir.TensorType(tensor.dtype)
    value.meta[_KEY] = source


def combined(values: Sequence[ir.Value], make: Callable[[Sequence[Any]], Any]) -> WeightSource:
    """What an initializer made of other initializers is made of in the end.

    Args:
        values: the initializers.
        make: makes the tensor from theirs.

    Returns:
        The sources of all of them, each once.
    """
    parts = [source_of(value) for value in values]
    places: dict[str, int] = {}
    tensors: list[Any] = []
    plan: list[tuple[Callable[[Sequence[Any]], Any], list[int]]] = []
    for part in parts:
        which = []
        for name, tensor in zip(part.names, part.tensors, strict=True):
            # NOTE: constants without a name of their own get another one in each replay, so that
            # an older source and a newer one may be called alike.
            while name in places and not _is_same(tensors[places[name]], tensor):
                name += "#"
            if name not in places:
                places[name] = len(tensors)
                tensors.append(tensor)
            which.append(places[name])
        plan.append((part.make, which))

    def make_of_all(arrays: Sequence[Any]) -> Any:
        return make([inner([arrays[n] for n in which]) for inner, which in plan])

    return WeightSource(tuple(places), tuple(tensors), make_of_all)


def _is_same(a: Any, b: Any) -> bool:
    """Whether two tensors of one name are one tensor; those of weights always are."""
    if a is b or any(type(t) not in (ir.Tensor, ir.TensorProtoTensor) for t in (a, b)):
        return True
    if a.dtype != b.dtype or list(a.shape) != list(b.shape):
        return False
    return bool(np.array_equal(a.numpy(), b.numpy()))


def sources(model: ir.Model) -> dict[str, Any]:
    """The tensors that the initializers of a model are made of.

    Args:
        model: the model.

    Returns:
        The tensor of each name, as the module has it.
    """
    tensors: dict[str, Any] = {}
    for value in model.graph.initializers.values():
        if value.const_value is not None:
            source = source_of(value)
            tensors.update(zip(source.names, source.tensors, strict=True))
    return tensors


def load_weights(model: ir.Model, tensors: Mapping[str, Any]) -> None:
    """Replace the tensors of sources; everything computed from them is computed again.

    Args:
        model: the model; it is changed.
        tensors: the new tensors by the names of `sources`, of the same shapes and types.
    """
    for value in model.graph.initializers.values():
        source = source_of(value)
        if value.const_value is None or not any(name in tensors for name in source.names):
            continue
        new = tuple(tensors.get(n, t) for n, t in zip(source.names, source.tensors, strict=True))
        tensor = source.make(new)
        tensor.name = value.name
        value.const_value = tensor
        if is_derived(value):
            value.meta[_KEY] = replace(source, tensors=new)


def is_missing(tensor: Any) -> bool:
    """Whether a weight has no numbers yet: a fake tensor, one on the meta device, one made of such.

    Args:
        tensor: a tensor of onnx_ir.

    Returns:
        True where reading it would fail.
    """
    if isinstance(tensor, Derived):
        return any(is_missing(source) for source in tensor.sources)
    ask = getattr(tensor, "is_missing", None)
    return ask is not None and bool(ask())


def is_fixed(value: ir.Value) -> bool:
    """Whether a value is an initializer, of the main graph or a body, that no caller replaces.

    Args:
        value: the value.

    Returns:
        True where it holds the same numbers at every run.
    """
    if value.is_graph_input() or value.const_value is None or not value.is_initializer():
        return False
    return value.graph is not None and value.graph.initializers.get(str(value.name)) is value


class Names:
    """The names of a graph and of the bodies in it, for new initializers.

    Args:
        graph: the main graph.
    """

    def __init__(self, graph: ir.Graph) -> None:
        self.graph = graph
        self._taken: set[str | None] = set()
        for one in all_graphs(graph):
            self._taken.update(v.name for v in one.inputs)
            self._taken.update(one.initializers)
            self._taken.update(v.name for node in one for v in node.outputs)

    def add(self, name: str, source: WeightSource, *, described: bool) -> ir.Value:
        """A new initializer that is made of others.

        Args:
            name: the name it asks for; a number is added where it is taken.
            source: its sources.
            described: whether the model says what they are.

        Returns:
            The initializer.
        """
        value = ir.Value(name=self.free(name))
        set_source(value, source)
        if described:
            # Constants of the program are nobody's to change.
            pairs = zip(source.names, source.tensors, strict=True)
            weights = [name for name, tensor in pairs if type(tensor) is not ir.Tensor]
            value.metadata_props[_KEY] = ", ".join(weights)
        self.graph.initializers[str(value.name)] = value
        return value

    def constant(self, name: str, array: Array) -> ir.Value:
        """A new initializer that holds an array.

        Args:
            name: the name it asks for.
            array: the array.

        Returns:
            The initializer.
        """
        tensor = ir.Tensor(array, name=self.free(name))
        value = ir.Value(
            name=tensor.name,
            shape=ir.Shape(array.shape),
            type=ir.TensorType(tensor.dtype),
            const_value=tensor,
        )
        self.graph.initializers[str(value.name)] = value
        return value

    def free(self, name: str) -> str:
        """A name that nothing has yet; it is taken from now on.

        Args:
            name: the wanted one.

        Returns:
            It, or it with a number.
        """
        chosen, n = name, 0
        while chosen in self._taken:
            n += 1
            chosen = f"{name}_{n}"
        self._taken.add(chosen)
        return chosen


def drop_unused(values: Iterable[ir.Value | None]) -> None:
    """Let initializers go that nothing reads any more, from the graphs that hold them.

    Args:
        values: those that may be unused.
    """
    for value in values:
        if value is None or value.uses() or value.is_graph_output() or value.is_graph_input():
            continue
        if value.graph is not None:
            value.graph.initializers.pop(str(value.name), None)
