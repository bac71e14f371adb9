"""Functions and methods as modules, which is what torch.export takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NoReturn

import torch

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail


def as_module(model: Any) -> torch.nn.Module:
    """A function or method as a module with the same parameters; a module as itself.

    Args:
        model: what is exported.

    Returns:
        The module.

    Raises:
        ExportValueError: it is nothing that can be exported.
    """
    if isinstance(model, torch.jit.ScriptModule):
        _refuse("a TorchScript module cannot be exported", "give the module it was made from")
    if isinstance(model, torch.nn.Module):
        return model
    if isinstance(model, type) and issubclass(model, torch.nn.Module):
        _refuse(f"`{model.__name__}` is a class", f"give a module: `{model.__name__}(...)`")
    if not callable(model):
        _refuse(
            f"an object of type {type(model).__name__} cannot be exported",
            "give a torch.nn.Module, a function, an ExportedProgram or a .pt2 path",
        )
    return _FunctionModule(model)


def _refuse(reason: str, hint: str) -> NoReturn:
    fail(messages.BadExportArgument(name="model", reason=reason, hint=hint, span=user_span()))


class _FunctionModule(torch.nn.Module):  # type: ignore[misc]
    """A module whose forward is a function; the modules it refers to are its children."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        owner = getattr(function, "__self__", None)
        if isinstance(owner, torch.nn.Module):
            self.owner = owner
            self.train(owner.training)
        closure = getattr(function, "__closure__", None) or ()
        names = getattr(getattr(function, "__code__", None), "co_freevars", ())
        for name, cell in zip(names, closure, strict=False):
            if isinstance(cell.cell_contents, torch.nn.Module):
                self.add_module(name, cell.cell_contents)
        self._function = function
        self.__signature__ = _signature_of(function)
        object.__setattr__(self, "forward", _forward_of(function))


def _forward_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """A plain function with the parameters of another."""

    def forward(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    forward.__signature__ = _signature_of(function)  # type: ignore[attr-defined]
    return forward


def _signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The parameters of a function; `*args, **kwargs` where Python does not know them."""
    try:
        return inspect.signature(function)
    except ValueError:  # a function written in C, such as torch.sin
        return inspect.signature(lambda *args, **kwargs: None)
