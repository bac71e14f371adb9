"""Functions and methods as modules, which is what torch.export takes."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch.export import ExportedProgram
from torch.nn.modules.lazy import LazyModuleMixin

from onnxwright.exporter import checks
from onnxwright.exporter.capture.capture_errors import reason_of
from onnxwright.exporter.capture.control.functions import bound
from onnxwright.exporter.capture.torch_output import capture_torch_output
from onnxwright.exporter.torch_lock import TORCH_LOCK


def as_module(model: Any) -> torch.nn.Module:
    """A function or method as a module with the same parameters; a module as itself.

    Raises:
        ExportValueError: it is nothing that can be exported.
    """
    if isinstance(model, torch.jit.ScriptFunction):
        _raise_scripted("the function")
    if isinstance(model, torch.nn.Module):
        for name, part in model.named_modules():
            if isinstance(part, torch.jit.ScriptModule):
                _raise_scripted(f"`{name}`" if name else "the module")
        return model
    if isinstance(model, type) and issubclass(model, torch.nn.Module):
        checks.raise_bad_argument(
            "model",
            f"`{model.__name__}` is a class",
            f"give a module: `{model.__name__}(...)`",
        )
    if not callable(model):
        checks.raise_bad_argument(
            "model",
            f"an object of type {type(model).__name__} cannot be exported",
            "give a torch.nn.Module, a function, an ExportedProgram or a .pt2 path",
        )
    return _FunctionModule(model)


def _raise_scripted(what: str) -> NoReturn:
    checks.raise_bad_argument(
        "model",
        f"{what} is code of TorchScript, which torch.export does not capture",
        "export the Python that `torch.jit.script` or `torch.jit.trace` was given; of a file that "
        "`torch.jit.load` reads, load the state dict into a module that is written in Python",
    )


def initialize_lazy_modules(
    module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Let lazy modules take the shapes of their weights from the inputs, as their first call does.

    This is the one change of a module that stays after an export: without weights there is nothing
    to export.

    Source:
        torch.nn.modules.lazy.LazyModuleMixin, whose first call initializes the parameters.
    """
    lazy = (m for m in module.modules() if isinstance(m, LazyModuleMixin))
    if any(m.has_uninitialized_params() for m in lazy):
        with torch.no_grad():
            module(*copy.deepcopy(args), **copy.deepcopy(dict(kwargs)))


def spelled_out(
    module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
) -> tuple[torch.nn.Module, Any]:
    """A module and dynamic shapes where `*args` and `**kwargs` collect single arguments.

    Torch takes the shapes of `*args` as one tuple, and none of `**kwargs`.

    Args:
        dynamic_shapes: as the user wrote them: with an entry for each argument, or one for all of
            `*args` and one for all of `**kwargs`.

    Returns:
        A module whose parameters are the keywords given, and the shapes of these.
    """
    try:
        signature = inspect.signature(module.forward)
        bound = signature.bind(*args, **kwargs).arguments
    except (TypeError, ValueError):  # torch reports what is wrong with the arguments
        return module, dynamic_shapes
    kinds = {p.kind: p.name for p in signature.parameters.values()}
    several = kinds.get(inspect.Parameter.VAR_POSITIONAL)
    if several in bound and isinstance(dynamic_shapes, (list, tuple)):
        dynamic_shapes = _grouped(dynamic_shapes, bound, str(several))
    keywords = kinds.get(inspect.Parameter.VAR_KEYWORD)
    if keywords is None or keywords not in bound:
        return module, dynamic_shapes
    names = list(bound[keywords])
    if isinstance(dynamic_shapes, Mapping):
        flat = {n: spec for n, spec in dynamic_shapes.items() if n != keywords or n in names}
        nested = dynamic_shapes.get(keywords) if keywords not in names else None
        dynamic_shapes = flat | dict(nested or {})
    new_module = copy.copy(module)
    forward = _forward_of(module.forward)
    plain = [p for p in signature.parameters.values() if p.name != keywords]
    own = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY) for n in names]
    forward.__signature__ = signature.replace(parameters=[*plain, *own])  # type: ignore[attr-defined]
    object.__setattr__(new_module, "forward", forward)
    return new_module, dynamic_shapes


def _grouped(specs: Sequence[Any], bound: Mapping[str, Any], several: str) -> Sequence[Any]:
    """Specs by position, those of `*args` as one tuple."""
    place, count = list(bound).index(several), len(bound[several])
    if len(specs) != len(bound) - 1 + count:
        return specs
    first = specs[place]
    if count == 1 and isinstance(first, (list, tuple)) and len(first) == 1:
        if first[0] is None or isinstance(first[0], (Mapping, list, tuple)):
            return specs
    return [*specs[:place], tuple(specs[place : place + count]), *specs[place + count :]]


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
        # A function has no mode of its own.
        object.__setattr__(self, "training", any(m.training for m in self.children()))
        self._function = function
        self.__signature__ = _signature_of(function)
        object.__setattr__(self, "forward", _forward_of(function))


def _forward_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """A plain function with the parameters of another."""

    def forward(*args: Any, **kwargs: Any) -> Any:
        return bound(function)(*args, **kwargs)

    forward.__signature__ = _signature_of(function)  # type: ignore[attr-defined]
    return forward


def _signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The parameters of a function; `*args, **kwargs` where Python does not know them."""
    try:
        return inspect.signature(function)
    except ValueError:  # a function written in C, such as torch.sin
        return inspect.signature(lambda *args, **kwargs: None)


# -- programs that torch exported before, from their files -----------------------------------------


def load_program(path: str | Path) -> ExportedProgram:
    """An exported program from a `.pt2` file.

    Raises:
        ExportValueError: the file is missing or is none.
    """
    reason = "the file does not exist"
    if Path(path).exists():
        try:
            with TORCH_LOCK, capture_torch_output():
                return torch.export.load(str(path))
        except Exception as error:  # noqa: BLE001 - torch raises many kinds
            reason = reason_of(error).splitlines()[0]
    checks.raise_bad_argument(
        "model",
        f"`{path}` is not an exported program: {reason}",
        "give a module, or the path of a file written by torch.export.save",
    )
