"""Backends that compute in a wider type where ONNX Runtime's CPU has no kernel for one.

Every body is written for any element type; an operator without a kernel for, say, BFLOAT16 is
given FLOAT by a Cast before and a Cast after it.  FLOAT16 needs none: the runtime puts such casts
in by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from onnxwright.eager.backend import EagerBackend
from onnxwright.ir.builder import Recorder
from onnxwright.operators import facts
from onnxwright.opset.op import Op
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.ops import Ops
from onnxwright.tracing.backend import TracingBackend
from onnxwright.tracing.graph_backend import ConvertCall
from onnxwright.types.dtypes import DType
from onnxwright.versions.one_call import converted_call

# Where to go from a type, nearest first; each step holds every value of the type.
_WIDER = {
    DType.BFLOAT16: (DType.FLOAT,),
    DType.BOOL: (DType.UINT8, DType.INT32, DType.FLOAT),
    DType.INT8: (DType.INT32, DType.INT64, DType.FLOAT),
    DType.UINT8: (DType.INT32, DType.INT64, DType.FLOAT),
    DType.INT16: (DType.INT32, DType.INT64, DType.FLOAT),
    DType.UINT16: (DType.INT32, DType.INT64, DType.FLOAT),
    DType.INT32: (DType.INT64, DType.DOUBLE),
}


def wider_type(name: str, variable: str, dtype: DType, version: int | None = None) -> DType | None:
    """The type to compute an operator in.

    Args:
        name: an operator of the standard domain.
        variable: the type variable of its schema, `T`.
        version: the opset version, the newest if not given.

    Returns:
        The nearest type with a kernel; None where the given one will do, or nothing will.

    Example:
        >>> wider_type("Add", "T", DType.BFLOAT16).name, wider_type("Add", "T", DType.INT8)
        ('FLOAT', None)
    """
    lacking = facts(name).missing_kernels(version=version).get(variable)
    if lacking is None or dtype.name not in lacking:
        return None
    for wider in _WIDER.get(dtype, ()):
        if wider.name not in lacking:
            return wider
    return None


class _Widening:
    """Mixed into a backend: `emit` with casts around what has no kernel."""

    # What bodies ask by `helpers.runtime.is_for_onnxruntime`.
    for_onnxruntime = True

    def emit(
        self,
        op: Op,
        inputs: Sequence[Any],
        attributes: Mapping[str, object],
        outputs: int,
    ) -> tuple[Any, ...]:
        """As the backend's own, in types that have kernels."""
        if not facts(op.name, op.domain).missing_kernels(version=op.version) or not inputs:
            return super().emit(op, inputs, attributes, outputs)  # type: ignore[misc,no-any-return]
        signature = op.signature
        assert signature is not None
        wide: dict[str, tuple[DType, DType]] = {}
        values = list(inputs)
        for n, value in enumerate(inputs):
            dtype = getattr(value, "onnx_dtype", None)
            if dtype is None:
                continue
            variable = signature.inputs[min(n, len(signature.inputs) - 1)].type_str
            wider = wider_type(op.name, variable, dtype, op.version)
            if wider is not None:
                wide[variable] = (dtype, wider)
                values[n] = self._cast(op, value, wider)
        results = super().emit(op, values, attributes, outputs)  # type: ignore[misc]
        if not wide:
            return results  # type: ignore[no-any-return]
        typed_back = []
        for n, result in enumerate(results):
            variable = signature.outputs[min(n, len(signature.outputs) - 1)].type_str
            back = wide.get(variable)
            typed_back.append(result if back is None else self._cast(op, result, back[0]))
        return tuple(typed_back)

    def _cast(self, op: Op, value: Any, dtype: DType) -> Any:
        cast = op.opset["Cast"]
        return super().emit(cast, [value], {"to": dtype}, 1)[0]  # type: ignore[misc]


class AtenEagerBackend(_Widening, EagerBackend):
    """The eager backend, in types that have kernels."""

    __slots__ = ()


class AtenTracingBackend(_Widening, TracingBackend):
    """The tracing backend, in types that have kernels."""

    def __init__(
        self, recorder: Recorder, opset: Opset, convert_call: ConvertCall = converted_call
    ) -> None:
        super().__init__(recorder, opset, convert_call)


class AtenOps(Ops):
    """The operators handed to bodies: a type that a schema does not have yet is widened.

    `Conv` takes BFLOAT16 from opset 22 on; before, it is given FLOAT, and its result is cast back.

    Example:
        >>> import ml_dtypes
        >>> import numpy as np
        >>> from onnxwright.opset import opset18
        >>> op = AtenOps(AtenEagerBackend(opset18))
        >>> x = op.constant(np.ones((1, 1, 2), ml_dtypes.bfloat16))
        >>> op.Conv(x, x).onnx_dtype.name
        'BFLOAT16'
    """

    def _bound(self, op: Op) -> Callable[..., Any]:
        plain = super()._bound(op)
        signature = op.signature
        if signature is None or op.domain != "" or op.name in ("Cast", "CastLike"):
            return plain
        name = DType.BFLOAT16.onnx_name
        floats = [p for p in signature.inputs if DType.FLOAT.onnx_name in p.types]
        if not floats or all(name in p.types for p in floats):
            return plain

        def apply(*args: Any, **kwargs: Any) -> Any:
            if not any(getattr(x, "onnx_dtype", None) is DType.BFLOAT16 for x in args):
                return plain(*args, **kwargs)
            wide = [
                self.Cast(x, to=DType.FLOAT)
                if getattr(x, "onnx_dtype", None) is DType.BFLOAT16
                else x
                for x in args
            ]
            result = plain(*wide, **kwargs)
            several = result if isinstance(result, tuple) else (result,)
            back = tuple(
                self.Cast(r, to=DType.BFLOAT16) if r.onnx_dtype is DType.FLOAT else r
                for r in several
            )
            return back if isinstance(result, tuple) else back[0]

        return apply
