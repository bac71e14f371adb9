"""Methods of values as numpy's arrays have them, and numpy's functions called with values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onnxwright.semantics.backend import Backend, is_value
from onnxwright.semantics.literals import emit1
from onnxwright.semantics.numpy_functions.table import (
    FUNCTIONS,
    METHODS,
    call_function,
    call_method,
    call_ufunc,
)
from onnxwright.semantics.shared_memory import as_views

# Functions that ask for what a value has as an attribute.
_ASKED = {np.shape: "shape", np.ndim: "ndim", np.size: "size"}


class ArrayMethods:
    """The methods of numpy's arrays, with numpy's meaning; each makes a new value.

    `semantics.numpy_functions.table` says what each means; compiled code asks it, too.
    """

    __slots__ = ()

    def _backend(self) -> Backend[Any]:
        raise AssertionError(f"{type(self).__name__} does not say which backend it belongs to")

    def _numpy(self, name: str, *args: object, **kwargs: object) -> Any:
        result = call_method(self._backend(), name, self, args, kwargs)
        return as_views(result, self) if METHODS[name].is_view else result

    # -- reductions --------------------------------------------------------------------------------

    def sum(self, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
        """The sum over axes; of BOOL and small integers as INT64 or UINT64."""
        return self._numpy("sum", axis, dtype, keepdims=keepdims)

    def prod(self, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
        """The product over axes, in the types of `sum`."""
        return self._numpy("prod", axis, dtype, keepdims=keepdims)

    def mean(self, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
        """The mean over axes; of BOOL and integers as DOUBLE."""
        return self._numpy("mean", axis, dtype, keepdims=keepdims)

    def var(
        self, axis: Any = None, dtype: Any = None, *, ddof: int = 0, keepdims: bool = False
    ) -> Any:
        """The variance over axes: the sum of squares over `N - ddof`."""
        return self._numpy("var", axis, dtype, ddof=ddof, keepdims=keepdims)

    def std(
        self, axis: Any = None, dtype: Any = None, *, ddof: int = 0, keepdims: bool = False
    ) -> Any:
        """The standard deviation over axes."""
        return self._numpy("std", axis, dtype, ddof=ddof, keepdims=keepdims)

    def max(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        """The largest element over axes; NaN where there is one."""
        return self._numpy("max", axis, keepdims=keepdims)

    def min(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        """The smallest element over axes; NaN where there is one."""
        return self._numpy("min", axis, keepdims=keepdims)

    def any(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        """Whether one element is true."""
        return self._numpy("any", axis, keepdims=keepdims)

    def all(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        """Whether all elements are true."""
        return self._numpy("all", axis, keepdims=keepdims)

    def argmax(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        """The place of the first largest element, as INT64; in the flat tensor without `axis`."""
        return self._numpy("argmax", axis, keepdims=keepdims)

    def argmin(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        """The place of the first smallest element, as INT64; in the flat tensor without `axis`."""
        return self._numpy("argmin", axis, keepdims=keepdims)

    def cumsum(self, axis: Any = None, dtype: Any = None) -> Any:
        """Sums of the elements so far; of the flat tensor without `axis`."""
        return self._numpy("cumsum", axis, dtype)

    def cumprod(self, axis: Any = None, dtype: Any = None) -> Any:
        """Products of the elements so far (opset 26)."""
        return self._numpy("cumprod", axis, dtype)

    # -- shape -------------------------------------------------------------------------------------

    @property
    def T(self) -> Any:  # noqa: N802 - numpy's name
        """The transpose: all axes reversed (ONNX Transpose without `perm`)."""
        return as_views(emit1(self._backend(), "Transpose", (self,)), self)

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """The elements in another shape; one size may be -1."""
        return self._numpy("reshape", *shape, order=order)

    def transpose(self, *axes: Any) -> Any:
        """The axes in another order; reversed where none is given."""
        return self._numpy("transpose", *axes)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        """Two axes in each other's place."""
        return self._numpy("swapaxes", axis1, axis2)

    def flatten(self, order: str = "C") -> Any:
        """The elements along one axis."""
        return self._numpy("flatten", order)

    def ravel(self, order: str = "C") -> Any:
        """The elements along one axis."""
        return self._numpy("ravel", order)

    def squeeze(self, axis: Any = None) -> Any:
        """Without axes of size one."""
        return self._numpy("squeeze", axis)

    # -- elements ----------------------------------------------------------------------------------

    def astype(self, dtype: Any, *, copy: bool = True) -> Any:
        """The elements as another type: a numpy dtype, or a type such as `FLOAT`."""
        return self._numpy("astype", dtype, copy=copy)

    def copy(self, order: str = "C") -> Any:
        """The same elements, in a value of their own."""
        return self._numpy("copy", order)

    def clip(self, min: Any = None, max: Any = None) -> Any:  # noqa: A002 - numpy's names
        """The elements within bounds."""
        return self._numpy("clip", min, max)

    def round(self, decimals: int = 0) -> Any:
        """The elements rounded, ties to even."""
        return self._numpy("round", decimals)

    def repeat(self, repeats: Any, axis: Any = None) -> Any:
        """Each element repeated along `axis`, or in the flattened tensor without `axis`."""
        return self._numpy("repeat", repeats, axis)

    def take(self, indices: Any, axis: Any = None) -> Any:
        """Elements, or slices along an axis, at given places."""
        return self._numpy("take", indices, axis)

    def dot(self, other: Any) -> Any:
        """The product of numbers, vectors and matrices, as in `np.dot`."""
        return self._numpy("dot", other)

    def nonzero(self) -> Any:
        """The indices of elements that are not zero, a vector for each axis."""
        return self._numpy("nonzero")

    def argsort(self, axis: Any = -1) -> Any:
        """The places that elements in ascending order come from."""
        return self._numpy("argsort", axis)

    # -- numpy's functions -------------------------------------------------------------------------

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any
    ) -> Any:
        if out is not None and not (len(out) == 1 and out[0] is inputs[0]):
            kwargs["out"] = out
        # NOTE: with an array on the left, `a += x` comes as `out=(a,)`: the name is bound anew.
        return call_ufunc(self._backend(), ufunc, method, inputs, kwargs)

    def __array_function__(
        self, function: Any, types: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        if function in _ASKED and len(args) == 1 and not kwargs:
            return getattr(args[0], _ASKED[function])
        result = call_function(self._backend(), function, args, kwargs)
        if FUNCTIONS[function].is_view and args and is_value(args[0]):
            return as_views(result, args[0])
        return result
