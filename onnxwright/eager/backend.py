"""`EagerBackend`: the semantics run on values at once, by asking the evaluator of the moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.span import Span
from onnxwright.eager import custom, node_model, select, tensor
from onnxwright.eager.arrays import as_array
from onnxwright.eager.control_flow import callable_bodies
from onnxwright.eager.evaluators import Request, evaluator_name
from onnxwright.eager.ort.calls import FastCall
from onnxwright.eager.ort.evaluator import OrtEvaluator
from onnxwright.eager.tensor import ConstantTensor, Tensor, WeakTensor, as_value, wrap
from onnxwright.eager.values import Array, onnx_dtype, raw_value, type_of_value
from onnxwright.operators import facts
from onnxwright.opset.op import Op
from onnxwright.opset.opsets import Opset
from onnxwright.types.kinds import OnnxType, TensorType


class EagerBackend:
    """Runs what the semantics ask for.

    Args:
        opset: where operators such as `+` come from.

    Example:
        >>> from onnxwright.opset import opset18
        >>> b = EagerBackend(opset18)
        >>> x = b.constant(np.array([1.0, -2.0], np.float32))
        >>> b.emit(opset18.Abs, [x], {}, 1)
        (Tensor([1., 2.], FLOAT[2]),)
    """

    __slots__ = ("opset",)

    def __init__(self, opset: Opset) -> None:
        self.opset = opset

    def constant(self, array: Array) -> Tensor:
        """A tensor holding `array`."""
        return tensor.constant(as_array(array))

    def emit(
        self,
        op: Op,
        inputs: Sequence[Any | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> tuple[Any, ...]:
        """Run one op whose inputs are tensors, sequences or maps."""
        evaluator = select.chosen_now() or select.default_now()
        key = None
        if type(evaluator) is OrtEvaluator:
            key = _fast_key(op, inputs, attributes, outputs)
            fast = evaluator.fast.get(key) if key is not None else None
            if fast is not None:
                arrays = fast.run([None if x is None else x.value for x in inputs])
                if arrays is not None:
                    return tuple([wrap(a) for a in arrays])
        if facts(op.name, op.domain).has_bodies:
            from_bodies = callable_bodies.run(op, inputs, attributes, outputs)
            if from_bodies is not None:
                return from_bodies
        raw = [raw_value(x) for x in inputs]
        results = run(op, raw, attributes, outputs)
        if type(evaluator) is OrtEvaluator and key is not None and op.domain == "":
            prepared = evaluator.prepare(op, raw, attributes, outputs)
            if prepared is not None and prepared.gives_tensors:
                evaluator.remember(key, FastCall(op, prepared, None))
        return tuple(as_values(results))

    def emit_written(
        self,
        op: Op,
        inputs: Sequence[Any | None],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> tuple[Any, ...]:
        """As `emit`: nothing is left out of an eager run."""
        return self.emit(op, inputs, attributes, outputs)

    def type_of(self, value: Any) -> OnnxType | None:
        """The type of a value, with its shape."""
        array = getattr(value, "value", None)
        if type(array) is np.ndarray:
            return TensorType(onnx_dtype(array.dtype), array.shape)
        return type_of_value(value)

    def constant_value(self, value: Any) -> Array | None:
        """The array, where the program text gives it: what is only computed is not constant."""
        return value.value if type(value) is ConstantTensor else None

    def weak_kind(self, value: Any) -> str | None:
        """The Python kind that a value represents."""
        return value.weak if type(value) is WeakTensor else None

    def as_weak(self, value: Any, kind: str | None) -> Any:
        """The value, marked as a Python number of `kind` or as a tensor."""
        if kind is not None:
            return tensor.weak(value.value, kind)
        return wrap(value.value) if type(value) is WeakTensor else value

    def here(self) -> Span | None:
        """The Python line that called."""
        return user_span()


def _fast_key(op: Op, inputs: Sequence[Any], attributes: Mapping[str, Any], outputs: int) -> Any:
    """What a call on tensors is known by; None for a call that has no short path."""
    if op.name == "Constant":
        return None
    key: list[Any] = [id(op), outputs]
    for x in inputs:
        if x is None:
            key.append(None)
        elif isinstance(x, Tensor):
            key.append(x.value.dtype)
        else:
            return None
    for name, value in attributes.items():
        kind = type(value)
        if kind is int or kind is str:
            shown: Any = value
        elif kind is float or (kind is list and all(type(v) in _KEY_TYPES for v in value)):
            shown = repr(value)  # which distinguishes 0.0 and -0.0
        else:
            return None
        key.append(name)
        key.append(shown)
    return tuple(key)


_KEY_TYPES = frozenset({int, float, str})


def run(
    op: Op, inputs: Sequence[Any], attributes: Mapping[str, Any], outputs: int
) -> Sequence[Any]:
    """The outputs of an op on plain values: by what the user registered, else by the evaluator.

    Args:
        op, inputs, attributes, outputs: as for `Evaluator.run_op`.

    Raises:
        EagerError: it cannot be run, or failed.
    """
    evaluator = select.current()
    if op.domain != "":
        implementation = custom.find(op)
        if implementation is not None:
            return implementation.run(evaluator, run, Request(op, inputs, attributes, outputs))
    if op.name == "Constant" and op.domain == "":
        array = node_model.constant_array(attributes)
        if array is not None:
            return [array]
    results = evaluator.run_op(op, inputs, attributes, outputs)
    return custom.checked(evaluator_name(evaluator), op, results, outputs)


def as_values(values: Sequence[Any]) -> list[Any]:
    """Several plain values as scripts see them."""
    return [wrap(v) if isinstance(v, np.ndarray) else as_value(v) for v in values]


_backends: dict[Opset, EagerBackend] = {}


def backend_for(opset: Opset) -> EagerBackend:
    """The backend of an opset; always the same one.

    Args:
        opset: a version of the standard opset.
    """
    backend = _backends.get(opset)
    return backend if backend is not None else _backends.setdefault(opset, EagerBackend(opset))


def backend_now() -> EagerBackend:
    """The backend of the script that is running, else of the default opset."""
    frame = select.running()
    return frame.backend or backend_for(frame.opset)


tensor.set_backend_source(backend_now)
