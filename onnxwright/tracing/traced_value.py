"""`TracedValue`: a value of a traced graph, which Python may ask for what is known of it now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np
import onnx_ir as ir

from onnxwright.diagnostics.catalogue import ops as messages
from onnxwright.diagnostics.catalogue.numpy_functions import WrittenElsewhere
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.numpy_functions.table import FUNCTIONS

_ADVICE = "use `op.Loop`, `op.If` or tensor operators, or write the function with `@script`"


class TracedValue(GraphValue):
    """A value of a traced graph.

    One that is known to hold a number is that number where Python needs one; one with a known
    first dimension has a length and can be iterated.
    """

    backend: Any
    # The name asked for by a call that gave a value which was there already.
    __slots__ = ("asked",)
    asked: str

    @property
    def constant(self) -> np.ndarray[Any, Any] | None:
        """The array it is known to hold; that of a weight too, by which nothing is simplified."""
        array = self.backend.constant_value(self)
        return array if array is not None else self.backend.weight_value(self)  # type: ignore[no-any-return]

    def _number(self, what: str) -> Any:
        array = self.constant
        if array is None or array.size != 1:
            self._needed(f"{what} of `{self.value.name or 'a constant'}`")
        return array.item()

    def _forget(self, written: Any) -> None:  # noqa: ARG002 - the graph does not know names
        self.__class__ = StaleValue

    def _needed(self, what: str) -> NoReturn:
        fail(messages.ValueNeededNow(what=what, advice=_ADVICE, span=self.backend.here()))

    def __bool__(self) -> bool:
        array = self.constant
        if array is None or array.size != 1:
            name = str(self.value.name)
            fail(messages.NoTruthWhileBuilding(name=name, span=self.backend.here()))
        return bool(array.item())

    def __index__(self) -> int:
        number = self._number("the number")
        if not isinstance(number, int):
            raise TypeError(f"{type(number).__name__} cannot be an index")
        return number

    def __int__(self) -> int:
        return int(self._number("the number"))

    def __float__(self) -> float:
        return float(self._number("the number"))

    def __len__(self) -> int:
        shape = self.shape
        if shape == ():
            raise TypeError("a scalar has no length")
        if shape is None or not isinstance(shape[0], int):
            self._needed(f"the length of `{self.value.name}`")
        return shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[n] for n in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.constant
        if array is None:
            self._needed(f"the array of `{self.value.name}`")
        return np.array(array, dtype=dtype) if copy or dtype is not None else array

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function not in FUNCTIONS:
            # What ONNX does not have can be computed where all arrays are known.
            with suppress(_NotKnownError):
                return function(*_arrays(args), **_arrays(kwargs))
        return super().__array_function__(function, types, args, kwargs)


class StaleValue(TracedValue):
    """A view of memory that was written into: reading it is an error."""

    __slots__ = ()

    @property
    def value(self) -> ir.Value:  # type: ignore[override]
        """There is none.

        Raises:
            ScriptValueError: always (OW868).
        """
        here = self.backend.here()
        fail(WrittenElsewhere(name="this value", written="another value", span=here))


class _NotKnownError(Exception):
    """An array is known only when the model runs."""


def _arrays(x: Any) -> Any:
    if isinstance(x, TracedValue):
        if x.constant is None:
            raise _NotKnownError
        return x.constant
    if isinstance(x, dict):
        return {key: _arrays(item) for key, item in x.items()}
    return type(x)(map(_arrays, x)) if type(x) in (list, tuple) else x
