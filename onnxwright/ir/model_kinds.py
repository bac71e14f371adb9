"""The kinds of objects that hold a model and are defined above this package.

The module of such a class registers it, so that the loader opens it without importing upwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class ModelKind:
    """A kind of object that holds a model.

    Fields:
        words: what messages call it.
        model: the model of an object: a ModelProto or an `onnx_ir.Model`.
        function: an object as a FunctionProto; None where the kind cannot be one.
        restored: an object like a given one, for another model with the same inputs and outputs;
            None where the kind cannot be made from a model: then a ModelProto is returned.
        trusted: whether the model of an object needs no check before it is changed: it was built
            by this package, and its weights may be missing.
    """

    words: str
    model: Callable[[Any], Any]
    function: Callable[[Any], Any] | None = None
    restored: Callable[[Any, Any], Any] | None = None
    trusted: bool = False


_KINDS: dict[tuple[str, str], ModelKind] = {}


def register(package: str, name: str, kind: ModelKind) -> None:
    """Let objects of a class, and of its subclasses, be taken where a model is expected.

    Args:
        package: the top-level package of the class.
    """
    _KINDS[package, name] = kind


def kind_of(source: object) -> ModelKind | None:
    """The registered kind of an object; None for files, bytes, protos and objects of `onnx_ir`.

    Example:
        >>> kind_of(b"") is None
        True
    """
    for base in type(source).__mro__:
        kind = _KINDS.get((base.__module__.partition(".")[0], base.__name__))
        if kind is not None:
            return kind
    return None


def registered() -> tuple[ModelKind, ...]:
    """The kinds that are registered so far."""
    return tuple(_KINDS.values())


# PyTorch's own exporter: torch is not imported for it.
register(
    "torch",
    "ONNXProgram",
    ModelKind(
        words="an ONNXProgram (that of torch.onnx too)",
        model=lambda program: program.model,
        restored=lambda program, model: type(program)(model, program.exported_program),
    ),
)
