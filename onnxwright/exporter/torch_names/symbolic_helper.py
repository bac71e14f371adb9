"""What symbolic functions call of torch.onnx's `symbolic_helper`, under its names.

Arguments of an operator that are not tensors arrive here as Python numbers, strings and lists, so
that most of these functions give back what they are given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import torch_names as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.exporter.torch_names.symbolics import SymbolicValue

_KINDS = frozenset({"v", "i", "is", "f", "fs", "b", "s", "t", "none"})


def parse_args(*arg_descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say of each argument of a symbolic function what it is; here they arrive so.

    Args:
        *arg_descriptors: "v" for a value, "i", "f", "b", "s", "t" for a constant, "is", "fs" for
            lists, "none" for an argument that must be None.

    Returns:
        A decorator.

    Raises:
        ExportError: a descriptor is not one of these (OW893).
    """
    wrong = [kind for kind in arg_descriptors if kind not in _KINDS]
    if wrong:
        kinds = ", ".join(sorted(_KINDS))
        _fail(f"the descriptor {wrong[0]!r}", f"choose from {kinds}")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    return decorate


def _get_const(value: Any, desc: str, arg_name: str) -> Any:
    """The number, string or list of a constant argument."""
    constant = _maybe_get_const(value, desc)
    if isinstance(constant, SymbolicValue):
        hint = "the symbolic function needs a constant: give `custom_translation_table=`"
        _fail(f"reading `{arg_name}`, which is computed when the model runs,", hint)
    return constant


def _maybe_get_const(value: Any, descriptor: str) -> Any:
    """The number, string or list of an argument; a value that is not constant as it is."""
    if not isinstance(value, SymbolicValue):
        return value
    array = getattr(value.value, "constant", None)
    if array is None:
        return value
    array = np.asarray(array)
    return array.tolist() if descriptor != "t" else array


def _maybe_get_scalar(value: Any) -> Any:
    """The number of a constant with one element; else the value."""
    constant = _maybe_get_const(value, "t")
    return constant.item() if isinstance(constant, np.ndarray) and constant.size == 1 else value


def _is_none(value: Any) -> bool:
    return value is None


def _is_value(value: Any) -> bool:
    return isinstance(value, SymbolicValue)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, SymbolicValue)


def _unpack_list(value: Any) -> list[Any]:
    return list(value)


def _get_tensor_rank(value: Any) -> int | None:
    rank: int | None = value.dim()
    return rank


def _get_tensor_sizes(value: Any, allow_nonstatic: bool = True) -> list[int | None] | None:
    sizes: list[int | None] | None = value.sizes()
    return sizes if allow_nonstatic or not sizes or None not in sizes else None


def _get_tensor_dim_size(value: Any, dim: int) -> int | None:
    sizes = value.sizes()
    return None if sizes is None else sizes[dim]


def _unimplemented(op: str, msg: str, value: Any = None) -> NoReturn:
    """A symbolic function says that it does not handle a call."""
    _fail(f"`{op}` ({msg})", "the symbolic function says so: give `custom_translation_table=`")


def _fail(what: str, hint: str) -> NoReturn:
    fail(messages.SymbolicNotPossible(what=what, hint=hint, span=user_span()))
