"""Symbolic functions: lowerings written for `torch.onnx.register_custom_op_symbolic`.

They build nodes with `g.op("Relu", x)` or `g.op("my.domain::Twist", x, by_f=0.5)`.  Here they are
lowerings as those of `custom_translation_table=`: `g` calls operators of the exported version.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import torch_names as messages
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.exporter.checks import raise_bad_argument
from onnxwright.exporter.shown import shown
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.backend import is_value

_ATTRIBUTE = re.compile(r"(?P<name>.+)_(?:[ifstgz]|is|fs|ss)")
_TABLE = "give a function over `op` in `custom_translation_table=`"


@dataclass(frozen=True)
class _Registered:
    """A symbolic function, and the opset version from which on it is used."""

    function: Callable[..., Any]
    opset_version: int


# What register_custom_op_symbolic was called with, by the full name of the operator, and the names
# of those that a warning was given for.
_REGISTERED: dict[str, _Registered] = {}
_WARNED: set[str] = set()


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Register a symbolic function: how an operator of PyTorch becomes ONNX operators.

    It is used by `torch_onnx.export` from an opset version on.  For new code the argument
    `custom_translation_table=` of one export is the better form.

    Args:
        symbolic_name: the operator, such as "my::twist"; "::twist" is "aten::twist".
        symbolic_fn: a function of `g` and the operator's arguments.
        opset_version: the first version it is for.

    Raises:
        ExportValueError: the name is not one of an operator, or the function not callable (OW825).

    Source:
        torch.onnx.register_custom_op_symbolic of PyTorch 2.13.

    Example:
        >>> import torch
        >>> from onnxwright import torch_onnx
        >>> torch_onnx.register_custom_op_symbolic(
        ...     "aten::relu", lambda g, x: g.op("my.domain::Ramp", x, slope_f=0.5), 9
        ... )
        >>> torch_onnx.export(torch.nn.ReLU(), torch.ones(2)).model.graph[0].op_type
        'Ramp'
        >>> torch_onnx.unregister_custom_op_symbolic("aten::relu", 9)
    """
    if not callable(symbolic_fn):
        hint = "give a function of `g` and the operator's arguments"
        raise_bad_argument("symbolic_fn", f"{shown(symbolic_fn)} is not a function", hint)
    name = _full_name(symbolic_name)
    _WARNED.discard(name)
    _REGISTERED[name] = _Registered(symbolic_fn, opset_version)


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Forget a symbolic function.

    Args:
        symbolic_name: as it was registered.
        opset_version: the version it was registered for.
    """
    name = _full_name(symbolic_name)
    if name in _REGISTERED and _REGISTERED[name].opset_version == opset_version:
        del _REGISTERED[name]


def registered() -> bool:
    """Whether there is any symbolic function."""
    return bool(_REGISTERED)


def _full_name(name: str) -> str:
    space, _, rest = name.partition("::")
    if not re.fullmatch(r"[a-zA-Z0-9_.]*::[a-zA-Z_]\w*(\.\w+)?", name):
        hint = "write it as `namespace::operator`"
        raise_bad_argument("symbolic_name", f"`{name}` is not a name of an operator", hint)
    return f"{space or 'aten'}::{rest}"


@contextmanager
def symbolic_table(version: int, domains: Mapping[str, int] | None) -> Iterator[dict[str, Any]]:
    """The registered functions as a `custom_translation_table`, during one export.

    Args:
        domains: the version of each custom domain that is not 1.

    Yields:
        The table; a warning (OW892) afterwards names functions that were not called, once.
    """
    called: set[str] = set()
    chosen = {n: r for n, r in _REGISTERED.items() if r.opset_version <= version and _exists(n)}
    yield {
        name: _lowering(name, versions.function, version, domains or {}, called)
        for name, versions in chosen.items()
    }
    for name, versions in _REGISTERED.items():
        if name not in called and name not in _WARNED:
            _WARNED.add(name)
            old = versions.opset_version
            hint = (
                f"it is for opset versions from {old} on: the export has {version}"
                if old > version
                else "torch.export captures other operators than TorchScript; see "
                "`program.report.torch_ops` for their names"
            )
            warn(messages.SymbolicNotCalled(name=name, hint=hint, span=user_span()))


def _exists(name: str) -> bool:
    space, _, packet = name.partition("::")
    return hasattr(getattr(torch.ops, space), packet.partition(".")[0])


def _lowering(
    name: str,
    function: Callable[..., Any],
    version: int,
    domains: Mapping[str, int],
    called: set[str],
) -> Callable[..., Any]:
    """A symbolic function as a function over `op`."""

    def lowering(op: Any, *args: Any, **kwargs: Any) -> Any:
        called.add(name)
        graph = SymbolicGraph(op, version, domains)
        named = {k: _wrapped(op, v) for k, v in kwargs.items()}
        return _unwrapped(function(graph, *(_wrapped(op, a) for a in args), **named))

    lowering.__name__ = getattr(function, "__name__", "symbolic")
    return lowering


class SymbolicValue:
    """A value as symbolic functions see it: what it is may be asked for, not computed with."""

    def __init__(self, op: Any, value: Any) -> None:
        self.op = op
        self.value = value

    def type(self) -> SymbolicValue:
        """Its type; its own methods answer."""
        return self

    def setType(self, kind: Any) -> SymbolicValue:  # noqa: N802 - torch's name
        """The type is that of the captured program, whatever is said here."""
        return self

    def sizes(self) -> list[int | None] | None:
        """The size of each axis, None where it is decided at run time; None for an unknown rank."""
        shape = self.value.shape
        return None if shape is None else [d if isinstance(d, int) else None for d in shape]

    def dim(self) -> int | None:
        """How many axes there are; None where that is not known."""
        shape = self.value.shape
        return None if shape is None else len(shape)

    def scalarType(self) -> str | None:  # noqa: N802 - torch's name
        """The element type by its name in TorchScript, such as "Float"."""
        dtype = self.value.dtype
        return None if dtype is None else _SCALAR_TYPES.get(dtype.name, dtype.name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        hint = f"a value has `type()`, `setType()`, `sizes()`; {_TABLE}"
        what = f"`{name}` of a value"
        fail(messages.SymbolicNotPossible(what=what, hint=hint, span=user_span()))


_SCALAR_TYPES = {
    "FLOAT": "Float",
    "DOUBLE": "Double",
    "FLOAT16": "Half",
    "BFLOAT16": "BFloat16",
    "INT64": "Long",
    "INT32": "Int",
    "INT16": "Short",
    "INT8": "Char",
    "UINT8": "Byte",
    "BOOL": "Bool",
}


class SymbolicGraph:
    """`g` of a symbolic function: `g.op(name, *inputs, **attributes)` calls an operator.

    Args:
        version: the version of the standard opset that the function is written for.
        domains: the version of each custom domain that is not 1.
    """

    def __init__(self, op: Any, version: int, domains: Mapping[str, int]) -> None:
        self._op = op
        self.opset = version
        self._domains = domains

    def op(self, opname: str, *raw_args: Any, outputs: int = 1, **kwargs: Any) -> Any:
        """Call an operator.

        Args:
            opname: "Relu" for a standard one, "domain::Name" for any other.
            *raw_args: values, tensors, or numbers.
            outputs: how many values it gives.
            **kwargs: attributes; `alpha_f=0.5` is the attribute `alpha`.

        Returns:
            A value, or a tuple of `outputs` values.
        """
        domain, _, name = opname.rpartition("::")
        if domain in ("prim", "aten"):
            what = f"the operator `{opname}`"
            hint = f"write ONNX operators; {_TABLE}"
            fail(messages.SymbolicNotPossible(what=what, hint=hint, span=user_span()))
        standard = domain in ("", "onnx")
        opset = Opset("" if standard else domain, self._version(domain, standard=standard))
        attributes = {_attribute_name(k): v for k, v in kwargs.items() if v is not None}
        inputs = [_unwrapped(a) for a in raw_args]
        if outputs > 1 and not standard:
            attributes["_outputs"] = outputs
        result = getattr(opset, name)(*inputs, **attributes)
        return _wrapped(self._op, result)

    def _version(self, domain: str, *, standard: bool) -> int:
        return self.opset if standard else self._domains.get(domain, 1)


def _attribute_name(key: str) -> str:
    match = _ATTRIBUTE.fullmatch(key)
    return match["name"] if match else key


def _wrapped(op: Any, value: Any) -> Any:
    if is_value(value):
        return SymbolicValue(op, value)
    if isinstance(value, (list, tuple)):
        return type(value)([_wrapped(op, v) for v in value])
    return value


def _unwrapped(value: Any) -> Any:
    if isinstance(value, SymbolicValue):
        return value.value
    if isinstance(value, (list, tuple)):
        return type(value)([_unwrapped(v) for v in value])
    if isinstance(value, torch.Tensor):
        return value.detach().numpy()
    return value
