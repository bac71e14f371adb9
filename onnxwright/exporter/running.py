"""An ONNX Runtime session over a model whose weights stay where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
import onnx_ir as ir

from onnxwright.eager.models import CompiledModel
from onnxwright.exporter.weights import is_missing
from onnxwright.types.dtypes import DType

# Initializers of at least so many bytes are handed to the runtime as memory, not as text.
_LARGE = 1024


class Session:
    """A session for a model; the runtime reads large weights from the memory they are in.

    Args:
        model: the model; it is the same afterwards.
        providers: execution providers; the CPU if not given.
        session_options: an `onnxruntime.SessionOptions`.
    """

    def __init__(
        self,
        model: ir.Model,
        *,
        providers: Sequence[Any] | None = None,
        session_options: Any = None,
    ) -> None:
        proto, weights = without_weights(model)
        self.compiled = CompiledModel(
            proto, providers=providers, session_options=session_options, weights=weights
        )

    @property
    def session(self) -> Any:
        """The `onnxruntime.InferenceSession`."""
        return self.compiled.session

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """Run the model.

        Args:
            feeds: an array for each input.

        Returns:
            The outputs in the model's order.
        """
        return self.compiled.run(self.compiled._bind((), feeds))


def without_weights(model: ir.Model) -> tuple[onnx.ModelProto, dict[str, tuple[Any, DType]]]:
    """A model whose large initializers are only named, and their arrays.

    Args:
        model: the model; it is the same afterwards.

    Returns:
        The model as a proto, and the array and element type of each initializer taken out.
    """
    proto, taken = hollow(model)
    return proto, {n: (t.numpy(), DType(int(t.dtype))) for n, t in taken.items()}


def hollow(model: ir.Model) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """A model whose large initializers are only named, and their tensors.

    Args:
        model: the model; it is the same afterwards.

    Returns:
        The model as a proto, and the tensor of each initializer taken out; none is read.
    """
    taken: dict[str, Any] = {}
    kept: list[tuple[Any, Any]] = []
    for name, value in model.graph.initializers.items():
        tensor = value.const_value
        if tensor is None or tensor.dtype == ir.DataType.STRING:
            continue
        held = tensor.nbytes < _LARGE and not isinstance(tensor, ir.ExternalTensor)
        if held and not is_missing(tensor):
            continue
        taken[str(name)] = tensor
        kept.append((value, tensor))
        value.const_value = ir.ExternalTensor(
            "weights",
            0,
            tensor.nbytes,
            tensor.dtype,
            shape=ir.Shape(list(value.shape or ())),
            name=str(name),
        )
    try:
        return ir.to_proto(model), taken
    finally:
        for value, tensor in kept:
            value.const_value = tensor
