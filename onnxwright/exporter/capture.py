"""A model as an ExportedProgram: ways to capture, tried in a stated order, each one recorded."""

from __future__ import annotations

import importlib
import inspect
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail

Strategy = Callable[[Any, tuple[Any, ...], dict[str, Any], Any], ExportedProgram]


@dataclass(frozen=True)
class Outcome:
    """What became of one way to capture.

    Fields:
        strategy: its name.
        seconds: how long it took.
        error: why it failed; empty if it worked.
    """

    strategy: str
    seconds: float
    error: str = ""


def _non_strict(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
    return torch.export.export(model, args, kwargs, dynamic_shapes=dims, strict=False)


def _strict(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dims: Any) -> Any:
    return torch.export.export(model, args, kwargs, dynamic_shapes=dims, strict=True)


STRATEGIES: dict[str, Strategy] = {"non-strict": _non_strict, "strict": _strict}
"""The ways to capture, in the order in which `capture="auto"` tries them."""


def capture(
    model: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    dynamic_shapes: Any,
    how: str | Strategy,
    outcomes: list[Outcome],
) -> ExportedProgram:
    """Capture a model.

    Args:
        model: a module, a function or a method.
        args, kwargs: example inputs.
        dynamic_shapes: which dimensions are dynamic, in torch's form.
        how: "auto", the name of a strategy, or a function
            `(model, args, kwargs, dynamic_shapes) -> ExportedProgram`.
        outcomes: what became of each way that was tried is added here.

    Returns:
        The program.

    Raises:
        ExportError: none worked (OW821); the message has the reason of each.
        ExportValueError: there is no such strategy (OW825).
    """
    if isinstance(how, str) and how != "auto" and how not in STRATEGIES:
        known = ", ".join(repr(n) for n in ("auto", *STRATEGIES))
        fail(
            messages.BadExportArgument(
                name="capture",
                reason=f"there is no way {how!r}",
                hint=f"choose one of {known}, or give a function",
                span=user_span(),
            )
        )
    ways: dict[str, Strategy]
    if callable(how):
        ways = {getattr(how, "__name__", "given function"): how}
    else:
        ways = STRATEGIES if how == "auto" else {how: STRATEGIES[how]}
    module = as_module(model)
    _know_caches()
    last: Exception | None = None
    for name, way in ways.items():
        begun = time.perf_counter()
        try:
            program = way(module, tuple(args), dict(kwargs), dynamic_shapes)
        except Exception as error:  # noqa: BLE001 - torch raises many kinds; all are reported
            outcomes.append(Outcome(name, time.perf_counter() - begun, _reason(error)))
            last = error
            continue
        outcomes.append(Outcome(name, time.perf_counter() - begun))
        return program
    try:
        fail(
            messages.CaptureFailed(
                hint="see the reasons; torch.export.draft_export tells more about the program",
                notes=tuple(f"{o.strategy}: {o.error}" for o in outcomes),
                span=user_span(),
            )
        )
    except Exception as error:
        raise error from last


def _know_caches() -> None:
    """Let torch flatten the key-value caches of transformers, where that package is in use."""
    integration = sys.modules.get("transformers")
    if integration is None:
        return
    try:
        executorch = importlib.import_module(f"{integration.__name__}.integrations.executorch")
        executorch.register_dynamic_cache_export_support()
    except (ImportError, AttributeError, ValueError):
        # An older or newer release, or caches that are registered already.
        return


def _reason(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}".strip()
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join(lines[:12])


def as_module(model: Any) -> torch.nn.Module:
    """A function or method as a module with the same parameters; a module as itself.

    Args:
        model: what is exported.

    Returns:
        The module.

    Raises:
        ExportValueError: it is nothing that can be exported.
    """
    if isinstance(model, torch.nn.Module):
        return model
    if not callable(model):
        fail(
            messages.BadExportArgument(
                name="model",
                reason=f"a {type(model).__name__} cannot be exported",
                hint="give a torch.nn.Module, a function, an ExportedProgram or a .pt2 path",
                span=user_span(),
            )
        )
    return _FunctionModule(model)


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
        self.__signature__ = inspect.signature(function)
        object.__setattr__(self, "forward", _forward_of(function))


def _forward_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """A plain function with the parameters of another."""

    def forward(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    forward.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return forward


def load_program(path: str | Path) -> ExportedProgram:
    """An exported program from a `.pt2` file.

    Args:
        path: the file.

    Returns:
        The program.

    Raises:
        ExportValueError: the file is missing or is none.
    """
    try:
        return torch.export.load(str(path))
    except Exception as error:  # noqa: BLE001 - torch raises many kinds
        fail(
            messages.BadExportArgument(
                name="model",
                reason=f"`{path}` is not an exported program ({_reason(error).splitlines()[0]})",
                hint="give the path of a file written by torch.export.save",
                span=user_span(),
            )
        )
