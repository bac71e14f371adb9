"""`fn.compile()`: a script as one ONNX Runtime session, one for each set of argument types."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.converter.lower.calls.scripts import bind_arguments
from onnxwright.converter.lower.context import Script
from onnxwright.converter.lower.functions import input_type
from onnxwright.dsl.model import to_model_proto
from onnxwright.dsl.model_types import ModelOptions
from onnxwright.eager import foreign
from onnxwright.eager.ort.compiled_models import CompiledModel
from onnxwright.eager.select import other_evaluator
from onnxwright.eager.tensor import Tensor
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, SequenceType, TensorType
from onnxwright.types.signature import Param


class CompiledScript:
    """A callable that compiles a script for the types it is given and keeps the sessions.

    Under another evaluator (`with evaluator("reference"):`) the models run on that.

    Args:
        script: the function.
        options: as for `to_model_proto`; `providers` and `session_options` for the session.

    Example:
        >>> from onnxwright import FLOAT, script
        >>> @script
        ... def negate(x: FLOAT) -> FLOAT:
        ...     return -x
        >>> run = negate.compile()
        >>> run(np.array([1.0], np.float32)), len(run.sessions)
        (array([-1.], dtype=float32), 1)
    """

    def __init__(self, script: Script, options: dict[str, Any]) -> None:
        self.script = script
        self.options = dict(options)
        self.runtime = {
            name: self.options.pop(name)
            for name in ("providers", "session_options")
            if name in self.options
        }
        self.sessions: dict[Any, CompiledModel] = {}

    def __getstate__(self) -> dict[str, Any]:
        # Sessions cannot be pickled; they are made again at the first call of each kind.
        return {**self.__dict__, "sessions": {}}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the session for these arguments, made at the first call of their types."""
        signature = self.script.signature
        arguments = bind_arguments(self.script.name, signature, list(args), kwargs, None)
        kind = foreign.kind_of([v for v in arguments.values() if v is not None], inside=False)
        inputs: dict[str, Any] = {}
        attributes: dict[str, Any] = {}
        types: dict[str, OnnxType] = {}
        for p in signature.params:
            value = arguments[p.name]
            if p.is_attribute:
                attributes[p.name] = value
            elif value is not None:
                inputs[p.name], types[p.name] = _typed(p, value)
        key = (tuple(types.items()), repr(sorted(attributes.items())), other_evaluator())
        session = self.sessions.get(key)
        if session is None:
            options = {"input_types": types, "attributes": attributes, **self.options}
            model = to_model_proto(self.script, ModelOptions(**options))
            session = self.sessions[key] = CompiledModel(model, **self.runtime)
        result = session(**inputs)
        if kind is foreign.NUMPY or not any(_is_array(v) for v in arguments.values()):
            return result
        if isinstance(result, tuple):
            return tuple(foreign.give_back(_wrapped(r), kind) for r in result)
        return foreign.give_back(_wrapped(result), kind)


def _is_array(value: Any) -> bool:
    return isinstance(value, (Tensor, np.ndarray)) or foreign.to_array(value) is not None


def _wrapped(value: Any) -> Any:
    return Tensor(value) if isinstance(value, np.ndarray) else value


def _typed(p: Param, value: Any) -> tuple[Any, OnnxType]:
    """An argument as the session takes it, and its type without sizes."""
    kind = input_type(p)
    if isinstance(value, (list, tuple)) and isinstance(kind, SequenceType):
        return list(value), kind
    if isinstance(value, Tensor):
        value = value.value
    array = foreign.to_array(value)
    value = value if array is None else array
    if not isinstance(value, (np.ndarray, np.generic)):
        dtype = kind.dtype if isinstance(kind, TensorType) else None
        if dtype is None:
            array = np.asarray(value)
            value = array.astype(np.float32) if array.dtype == np.float64 else array
        else:
            value = np.asarray(value, dtype=dtype.numpy)
    array = np.asarray(value)
    dtype = DType.STRING if array.dtype.kind in "OUS" else DType.from_numpy(array.dtype)
    shape = (None,) * array.ndim
    if isinstance(kind, TensorType) and kind.shape is not None:
        if len(kind.shape) == array.ndim:
            shape = kind.shape  # type: ignore[assignment]
    return array, TensorType(dtype, shape)
