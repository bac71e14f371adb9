"""`Pool`: the arrays a graph holds, each once; they become initializers or Constant nodes later."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from onnxwright.diagnostics.catalogue import types as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span
from onnxwright.ir import adapters
from onnxwright.ir.builder import Recorder
from onnxwright.ir.loading import checked_external, checked_value
from onnxwright.ir.reading import raise_damage
from onnxwright.ir.validation.damage import Damage, quoted
from onnxwright.operators.op_call import Array, UnknownError
from onnxwright.semantics.foreign import foreign_array
from onnxwright.semantics.literals import array_of, describe, is_number_like
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType, tensor_type

# Arrays up to this many bytes are compared by what they hold, larger ones by identity.
SHARED_BYTES = 4096


class Pool:
    """Values that hold arrays, without nodes; equal small ones are one value.

    Args:
        recorder: whose values they are.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        # Whether values of one type share the objects that say it, as `NodeAppender` has it.
        self.shares_types = False
        self.held: dict[ir.Value, tuple[Any, str | None]] = {}
        # Values of another graph that these replace: their notes go with them.
        self.sources: dict[ir.Value, ir.Value] = {}
        # Values that stay in the model though nothing may read them.
        self.kept: set[ir.Value] = set()
        self._by_key: dict[object, ir.Value] = {}
        self._owners: list[Any] = []

    def __contains__(self, value: ir.Value) -> bool:
        return value in self.held

    def __iter__(self) -> Iterator[ir.Value]:
        return iter(self.held)

    def array(self, array: Array, name: str | None = None) -> ir.Value:
        """The value that holds a numpy array.

        Args:
            array: the array; a large one is not copied, and must not change.
            name: the name a new value asks for.

        Returns:
            The value, a new one or one that holds the same.
        """
        if array.dtype.kind in "US":
            array = array.astype(object)
        return self._array(_key(array, array), array, name, readable=True)

    def node(self, array: Array, origin: str | None = None) -> ir.Value:
        """The output of a Constant node, shared with an equal one that is visible here.

        Args:
            array: the array; a large one is not copied, and must not change.
            origin: where the node comes from.
        """
        recorder = self.recorder
        key = _key(array, array)
        shared = recorder.shared(key) if recorder.shares else None
        if shared is not None:
            return shared[0]
        attr = ir.Attr("value", ir.AttributeType.TENSOR, adapters.tensor(array))
        kind = tensor_type(_dtype_of(array.dtype), array.shape)
        (value,) = recorder.node(
            "", "Constant", [], [attr], 1, origin=origin, hint="const", types=[kind]
        )
        recorder.info(value).const_value = array
        if recorder.shares:
            recorder.scope.shared[key] = (value,)
        return value

    def _array(self, key: object, array: Array, name: str | None, *, readable: bool) -> ir.Value:
        existing = self._by_key.get(key)
        if existing is not None:
            return existing
        if array.nbytes <= SHARED_BYTES:
            array = array.copy()
            array.flags.writeable = False
        kind = tensor_type(_dtype_of(array.dtype), array.shape)
        value = self._add(key, array, kind, name)
        if readable:
            self.recorder.info(value).const_value = array
        return value

    def initializer(
        self, array: Array, name: str | None = None, owner: str | None = None
    ) -> ir.Value:
        """The value that holds an array which the user gave the model.

        Floating-point numbers are weights: they may be trained, so that nothing is simplified by
        what they are, and two that were given different names stay two.

        Args:
            array: the array.
            name: the name a new value asks for.
            owner: what distinguishes it from other weights with the same data; by default its name.

        Returns:
            The value.
        """
        if not is_trainable(array.dtype):
            return self.array(array, name)
        return self._array(
            ("weight", owner or name, _key(array, array)), array, name, readable=False
        )

    def tensor(
        self, data: Any, name: str | None, span: Span | None, owner: str | None = None
    ) -> ir.Value:
        """The value that holds a tensor of any library.

        Args:
            data: numpy, a number or list, a TensorProto, a tensor of onnx_ir, or anything with
                `__array__` or `__dlpack__`.
            name: the name a new value asks for.
            span: the place, for the message.
            owner: what distinguishes a weight from others with the same data.

        Returns:
            The value.
        """
        existing = self._by_key.get(("object", id(data)))
        if existing is not None:
            return existing
        if is_number_like(data):
            return self.initializer(array_of(_Place(span), data), name, owner)  # type: ignore[arg-type]
        if isinstance(data, onnx.TensorProto):
            checked_value(data, f"tensor {quoted(data.name)}", Path())
        elif isinstance(data, ir.ExternalTensor):
            checked_external(data, f"tensor {quoted(data.name or '')}")
        held = ir.from_proto(data) if isinstance(data, onnx.TensorProto) else data
        if adapters.is_tensor(held):
            return self._ir_tensor(data, held, name, owner)
        array = np.asarray(data) if isinstance(data, np.generic) else foreign_array(data)
        if array is None:
            fail(messages.NotATensor(what=describe(data), span=span))
        if array.dtype.kind in "US":
            array = array.astype(object)
        value = self.initializer(array, name, owner)
        if array.nbytes > SHARED_BYTES:
            self._remember(data, value)
        return value

    def weight(
        self, tensor: Any, name: str, source: ir.Value | None = None, *, stays: bool = False
    ) -> ir.Value:
        """The value of a tensor of onnx_ir whose numbers may still change: never folded or shared.

        Args:
            tensor: the tensor; it is not read.
            name: the name a new value asks for.
            source: the value of another graph that it replaces.
            stays: whether that value itself becomes one of this graph.
        """
        self._owners.append(tensor)
        key, kind = ("object", id(tensor)), _kind_of_tensor(tensor)
        if stays:
            return self._add(key, tensor, kind, name, source)
        value = self._add(key, tensor, kind, name)
        if source is not None:
            self.sources[value] = source
        return value

    def literal(self, tensor: Any, name: str, source: ir.Value, *, stays: bool = False) -> ir.Value:
        """The value of an initializer of another graph whose numbers may be looked at.

        Args:
            tensor: a small tensor of onnx_ir.
            stays: whether that value itself becomes one of this graph.
        """
        value = self.weight(tensor, name, source, stays=stays)
        self._note(value, tensor)
        return value

    def _note(self, value: ir.Value, tensor: Any) -> None:
        """Remember the numbers that a value holds."""
        array = self.recorder.info(value).const_value = _numbers(tensor)
        key = _key(array, array)
        if self._by_key.setdefault(key, value) is value:
            self.recorder.on_rollback(lambda: self._by_key.pop(key, None))

    def adopt(self, value: ir.Value, tensor: Any, *, is_weight: bool = True) -> None:
        """Hold a constant of the graph that was made after the graph was built.

        Args:
            is_weight: whether only small integers are read: other numbers may still change.
        """
        self.held[value] = (tensor, value.name)
        self.recorder.on_rollback(lambda: self.held.pop(value, None))
        self.recorder.set_type(value, _kind_of_tensor(tensor))
        if not is_weight:  # the output of a node: it is not given for an equal array elsewhere
            self.recorder.info(value).const_value = _numbers(tensor)
        elif may_be_read(tensor):
            self._note(value, tensor)

    def _remember(self, owner: Any, value: ir.Value) -> None:
        """Know an object again; it has to stay alive for that."""
        self._by_key["object", id(owner)] = value
        self.recorder.on_rollback(lambda: self._by_key.pop(("object", id(owner)), None))
        self._owners.append(owner)

    def _ir_tensor(self, data: Any, tensor: Any, name: str | None, owner: str | None) -> ir.Value:
        """A tensor of onnx_ir; one in a file or made when needed stays so."""
        lazy = isinstance(tensor, (ir.ExternalTensor, ir.LazyTensor))
        if not lazy and tensor.nbytes <= SHARED_BYTES:
            return self.initializer(_numbers(tensor), name or tensor.name, owner)
        kind = _kind_of_tensor(tensor)
        value = self._add(("object", id(data)), tensor, kind, name or tensor.name)
        self._owners.append(data)
        return value

    def _add(
        self,
        key: object,
        held: Any,
        kind: TensorType,
        name: str | None,
        value: ir.Value | None = None,
    ) -> ir.Value:
        unique = None
        if name:
            names = self.recorder.names
            # It outlives the graph it is made in, and so does its name.
            before, names.for_good = names.for_good, True
            unique = names.unique(name)
            names.for_good = before
        if value is None:
            value = adapters.typed_value(unique, kind, shares=self.shares_types)
        elif value.dtype != held.dtype or value.shape != held.shape:
            adapters.set_type(value, kind)  # the model says something else than its tensor
        self.recorder.set_type(value, kind)
        self.recorder.scopes[0].values[value] = None
        if value.name is not None:
            self.recorder.holders[value.name] = value
        self.held[value] = (held, name)
        self._by_key[key] = value
        self.recorder.on_rollback(lambda: self._drop(key, value))
        return value

    def _drop(self, key: object, value: ir.Value) -> None:
        """Forget a value: a rollback has forgotten its type and its numbers."""
        self.held.pop(value, None)
        self.kept.discard(value)
        self.sources.pop(value, None)
        self._by_key.pop(key, None)

    def name(self, value: ir.Value) -> None:
        """Give a value that is used its name, if it has none."""
        if value.name is None:
            value.name = self.recorder.names.unique("const")

    def as_tensor(self, value: ir.Value) -> Any:
        """What a value holds, as a tensor of onnx_ir with the value's name."""
        held = self.array_or_tensor(value)
        return adapters.tensor(held, value.name) if isinstance(held, np.ndarray) else held

    def array_or_tensor(self, value: ir.Value) -> Any:
        """What a value holds: an array, or a tensor of onnx_ir with the value's name."""
        held = self.held[value][0]
        if isinstance(held, np.ndarray):
            return held
        return held if held.name == value.name else renamed(held, value.name)


def _numbers(tensor: Any) -> Array:
    """The array of a tensor of onnx_ir; texts are decoded."""
    array: Array = tensor.numpy()
    if array.dtype == object:
        texts = [s.decode() if isinstance(s, bytes) else s for s in array.ravel()]
        array = np.array(texts, dtype=object).reshape(array.shape)
    return array


def renamed(tensor: Any, name: str | None) -> Any:
    """A tensor under another name; the one it is made from keeps its own.

    Args:
        tensor: a tensor of onnx_ir; its data is shared, and stays in its file.
    """
    if isinstance(tensor, ir.ExternalTensor):
        return ir.ExternalTensor(
            tensor.location, tensor.offset, tensor.length, tensor.dtype, shape=tensor.shape,
            name=name or "", doc_string=tensor.doc_string, base_dir=tensor.base_dir,
        )  # fmt: skip
    if hasattr(tensor, "renamed"):
        return tensor.renamed(name)
    return ir.LazyTensor(
        lambda: tensor, dtype=tensor.dtype, shape=tensor.shape, name=name,
        doc_string=tensor.doc_string,
    )  # fmt: skip


class _Place:
    """What `array_of` needs of a backend: a place for its messages."""

    def __init__(self, span: Span | None) -> None:
        self.span = span

    def here(self) -> Span | None:
        return self.span


def _kind_of_tensor(tensor: Any) -> TensorType:
    shape = tuple(d if isinstance(d, int) else None for d in tensor.shape)
    return TensorType(DType(int(tensor.dtype)), shape)


_LITERALS = (ir.DataType.INT64, ir.DataType.INT32, ir.DataType.BOOL, ir.DataType.STRING)


def may_be_read(tensor: Any) -> bool:
    """Whether the numbers of an initializer may be looked at: small integers; others are trained.

    Args:
        tensor: a tensor of onnx_ir; it is not read.

    Returns:
        True for integers, truth values and texts of few bytes.
    """
    return tensor.dtype in _LITERALS and tensor.nbytes <= SHARED_BYTES


def _key(owner: Any, array: Array) -> object:
    if array.dtype == object:
        texts = tuple(array.ravel()) if array.size <= 64 else id(owner)
        return ("str", array.shape, texts)
    if array.nbytes > SHARED_BYTES:
        return ("object", id(owner))
    return (array.dtype, array.shape, array.tobytes())


@functools.cache
def _dtype_of(dtype: np.dtype[Any]) -> DType:
    return DType.from_numpy(dtype)


def is_trainable(dtype: np.dtype[Any]) -> bool:
    """Whether numbers of a type may be weights; integers, truth values and texts are not trained.

    Returns:
        True for floating-point and complex types, those of `ml_dtypes` included.
    """
    return dtype.kind in "fc" or (dtype.kind == "V" and _dtype_of(dtype).is_float)


def constant_array(attributes: Mapping[str, object]) -> Array:
    """The array that the attributes of a Constant describe.

    Args:
        attributes: one of `value`, `value_int`, `value_floats` and their like.

    Returns:
        The array.

    Source:
        ONNX Constant, version 13.

    Example:
        >>> constant_array({"value_ints": [1, 2]})
        array([1, 2])
    """
    ((name, value),) = attributes.items()
    if name == "value":
        held: Any = adapters.attribute("value", value).value
        try:
            array = _numbers(held)
        except (OSError, ValueError) as error:
            if not isinstance(held, ir.ExternalTensor):
                raise
            where = f"a Constant, its value {quoted(held.name or '')}"
            raise_damage(Damage("external", where, str(error), "put its file beside the model"))
        return array
    dtypes: dict[str, Any] = {
        "value_int": np.int64,
        "value_ints": np.int64,
        "value_float": np.float32,
        "value_floats": np.float32,
        "value_string": object,
        "value_strings": object,
    }
    if name not in dtypes:
        raise UnknownError
    return np.array(value, dtype=dtypes[name])


def array_of_constant(node: ir.Node) -> Array | None:
    """The array of a Constant node; None where it is sparse or an attribute of a function."""
    attributes = {a.name: a.value for a in node.attributes.values() if not a.is_ref()}
    try:
        return constant_array(attributes) if len(attributes) == 1 else None
    except UnknownError:  # sparse, or an attribute that Constant does not have
        return None
