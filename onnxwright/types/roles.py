"""Base classes by which a package recognises objects whose classes are defined above it.

`isinstance` on one of them replaces an import upwards: the compiler knows a decorated function
without importing `dsl`, the operators know a tensor without importing `eager`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from onnxwright.types.kinds import AttrKind


class BackendValue:
    """A value of a backend: an eager tensor, a sequence or map, a value of a graph."""

    __slots__ = ()


class SymbolicValue(BackendValue):
    """A value of a graph under construction: it has no data."""

    __slots__ = ()

    def _backend(self) -> Any:
        """The backend that builds the graph."""
        raise NotImplementedError


class CallRecorder:
    """A value that takes the calls of operators with it, such as those of a rule's pattern."""

    __slots__ = ()

    def record_call(
        self, domain: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What a call of an operator gives.

        Args:
            domain: the operator's domain.
            args: the arguments by position.
            kwargs: the arguments by name, attributes too.
        """
        raise NotImplementedError


class EagerTensorBase(BackendValue):
    """The class of eager tensors; as an annotation it means a tensor of any type."""

    __slots__ = ()

    value: Any  # the array; a property or a slot of the subclass


class Script:
    """A function decorated with `@script`."""

    __slots__ = ()


class AttributeReference:
    """An attribute whose value is a parameter of the enclosing function.

    Args:
        name: the parameter.
        kind: the kind of the attribute.
    """

    __slots__ = ("kind", "name")

    def __init__(self, name: str, kind: AttrKind) -> None:
        self.name = name
        self.kind = kind

    def __repr__(self) -> str:
        return f"<attribute {self.name}>"


_MARKS = "_ow_marks_function"
F = TypeVar("F", bound=Callable[..., Any])


def function_marker(decorator: F) -> F:
    """Note that a decorator leaves what its function computes as it is (`script`, `graph`)."""
    setattr(decorator, _MARKS, True)
    return decorator


def marks_function(decorator: object) -> bool:
    """Whether a decorator was noted with `function_marker`."""
    return getattr(decorator, _MARKS, False) is True
