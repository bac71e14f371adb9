"""A model read for running node by node, and the inputs that its run is given."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, numpy_helper

from onnxwright.diagnostics.catalogue import eager as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.eager import foreign
from onnxwright.eager.arrays import as_array
from onnxwright.eager.tensor import Tensor
from onnxwright.eager.values import Value, raw_value
from onnxwright.ir.loading import open_model
from onnxwright.ir.reading import raise_damage
from onnxwright.ir.validation.damage import Damage, quoted
from onnxwright.ir.validation.external import more_than_memory, without_links
from onnxwright.ir.validation.functions import check_steps
from onnxwright.ir.validation.tensors import nbytes_of
from onnxwright.types.dtypes import DType
from onnxwright.types.roles import BackendValue


def read_model(model: Any) -> tuple[Any, Callable[[Any], Any]]:
    """A model as a proto, and how its initializers are read.

    Args:
        model: a model of any kind (see `ow.load`).

    Raises:
        ModelError: its calls of functions expand to too many nodes to run them one by one (OW751).
    """
    opened = open_model(model, external="needed", runs=True)
    try:
        check_steps(opened.proto)
    except Damage as damage:
        raise_damage(damage)

    def read(tensor: TensorProto) -> Any:
        if tensor.data_location == TensorProto.EXTERNAL:
            if not any(entry.key == "length" for entry in tensor.external_data):
                tensor = _with_length(tensor)
        where = f"tensor {quoted(tensor.name)}"
        try:
            return numpy_helper.to_array(*without_links(tensor, opened.folder, where))
        except Damage as damage:
            raise_damage(damage)
        except MemoryError:
            raise_damage(more_than_memory(_stored_bytes(tensor), where))
        except UnicodeDecodeError:
            raise_damage(Damage("data", where, "one of its strings is not UTF-8"))

    return opened.proto, read


def _with_length(tensor: TensorProto) -> TensorProto:
    """A tensor in a file, with the length of its data: the file may have more."""
    longer = copy.deepcopy(tensor)
    longer.external_data.add(key="length", value=str(_stored_bytes(tensor)))
    return longer


def _stored_bytes(tensor: TensorProto) -> int:
    return nbytes_of(DType(tensor.data_type), math.prod(tensor.dims))


def run_value(value: Any) -> Value:
    """A value as the run has it: an array, a sequence, None."""
    array = foreign.to_array(value)
    if array is not None:
        return array
    if isinstance(value, BackendValue) or value is None:
        plain: Value = raw_value(value)
        return plain
    if isinstance(value, (list, dict)) and any(isinstance(v, (np.ndarray, Tensor)) for v in value):
        listed: Value = raw_value(value)
        return listed
    return as_array(value)


def bind(model: Any, inputs: Mapping[str, Any] | Sequence[Any]) -> dict[str, Value]:
    """The inputs of a run by name: given by name or in order, the rest from initializers."""
    initialized = {t.name for t in model.graph.initializer}
    names = [i.name for i in model.graph.input]
    needed = [n for n in names if n not in initialized]
    if isinstance(inputs, Mapping):
        arguments = dict(inputs)
    else:
        order = needed if len(inputs) <= len(needed) else names
        if len(inputs) > len(names):
            _bad_inputs(model, f"{len(inputs)} were given, it has {len(names)}")
        arguments = dict(zip(order, inputs, strict=False))
    for name in arguments:
        if name not in names:
            _bad_inputs(model, f"it has no input `{name}`")
    for info in model.graph.input:
        if info.name in needed and info.name not in arguments:
            if info.type.HasField("optional_type"):
                arguments[info.name] = None
            else:
                _bad_inputs(model, f"`{info.name}` is missing")
    return {name: run_value(value) for name, value in arguments.items()}


def _bad_inputs(model: Any, reason: str) -> None:
    names = ", ".join(i.name for i in model.graph.input)
    fail(messages.BadModelInput(reason=reason, inputs=names or "none"))
