"""`Ops`: the `op` handed to a function that is traced or run, one opset on one backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onnxwright.opset.op import Op
from onnxwright.opset.opsets import Opset
from onnxwright.semantics import calls
from onnxwright.semantics.backend import Backend
from onnxwright.semantics.unpacking import is_open, unpacked_into, wanted_outputs


class OpsBase:
    """What the operators of an opset on a backend have beside the operators themselves.

    Args:
        backend: what runs or builds the operators.
        opset: where the operators come from; the backend's own by default.
    """

    def __init__(self, backend: Backend[Any], opset: Opset | None = None) -> None:
        self.backend = backend
        self.opset = opset or backend.opset

    @property
    def version(self) -> int:
        """The version of the opset."""
        return self.opset.version

    def constant(self, array: Any) -> Any:
        """A value that holds an array."""
        return self.backend.constant(array)

    def __repr__(self) -> str:
        return f"<operators of {self.opset!r}>"


class Ops(OpsBase):
    """The operators of an opset on a backend, so that one body serves every mode.

    Args:
        backend: what runs or builds the operators.
        opset: where the operators come from; the backend's own by default.

    Attributes:
        backend: the backend.
        opset: the opset.

    Example:
        >>> import numpy as np
        >>> from onnxwright.eager.backend import EagerBackend
        >>> from onnxwright.opset import opset18
        >>> op = Ops(EagerBackend(opset18))
        >>> op.Max(op.backend.constant(np.array([1, 5])), 3), op.version
        (Tensor([3, 5], INT64[2]), 18)
    """

    def __getattr__(self, name: str) -> Callable[..., Any]:
        # Only reached for a name that has not been asked for: calls stay in __dict__.
        if name.startswith("__"):
            raise AttributeError(name)
        bound = self._bound(getattr(self.opset, name))
        self.__dict__[name] = bound
        return bound

    def _bound(self, op: Op) -> Callable[..., Any]:
        backend, signature = self.backend, op.signature
        open_ended = is_open(signature)

        def apply(*args: Any, **kwargs: Any) -> Any:
            output_count = wanted_outputs(signature, unpacked_into(1)) if open_ended else None
            return calls.call(backend, op, args, kwargs, output_count)

        apply.__name__ = apply.__qualname__ = op.name
        return apply
