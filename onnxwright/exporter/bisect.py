"""`export_bisect`: the smallest submodules of a model that cannot be exported, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from typing_extensions import TypedDict, Unpack

from onnxwright.errors import ExportValueError, OnnxwrightError
from onnxwright.exporter import checks
from onnxwright.exporter.api import export
from onnxwright.exporter.capture.modules import as_module


@dataclass(frozen=True)
class FailingModule:
    """A submodule that cannot be exported, though its children can.

    Fields:
        path: its name in the model; empty for the model itself.
        kind: its class.
        error: why it cannot.
    """

    path: str
    kind: str
    error: Exception

    def __str__(self) -> str:
        name = f"`{self.path}`" if self.path else "the model itself"
        return f"{name} ({self.kind}):\n{self.error}"


@dataclass
class Bisection:
    """What a bisection found.

    Fields:
        failing: the smallest failing submodules, in the order of their first call.
        exported: how many modules were exported on their own.
        not_called: submodules that the example inputs do not reach.
    """

    failing: list[FailingModule] = field(default_factory=list)
    exported: int = 0
    not_called: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        if not self.failing:
            return f"every module can be exported ({self.exported} were tried)"
        return "\n\n".join(map(str, self.failing))


class ExportOptions(TypedDict, total=False):
    """The options of `export`, as type checkers read them."""

    dynamic_shapes: Any
    input_names: Any
    output_names: Any
    opset_version: int | None
    target: str
    custom_translation_table: Mapping[Any, Any] | None
    capture: Any
    mutations: str
    metadata: str
    fallback: Any
    export_modules_as_functions: Any
    functions: str | None
    external_data: bool | str | None
    optimize: bool
    report: bool | str | Path
    strict: bool
    size_branches: bool
    assume: Mapping[str, bool] | None
    providers: Sequence[Any] | None


def export_bisect(
    model: torch.nn.Module,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    verify: bool = False,
    **options: Unpack[ExportOptions],
) -> Bisection:
    """Find the smallest submodules that cannot be exported.

    The model is run once; each submodule is then exported with the inputs it had, from the top
    down, as long as it fails.

    Args:
        model: the model: a module, or a function that calls modules.
        args, kwargs: example inputs.
        verify: take a module whose ONNX model computes something else as failing, too.
        options: as for `export`.

    Returns:
        The failing modules, with their errors; `str()` lists all of them.

    Raises:
        ExportValueError: an argument or an option cannot be used (OW825).
        Exception: what the model itself raises on these inputs.

    Source:
        `git bisect`, on the tree of modules.

    Example:
        >>> import torch
        >>> print(export_bisect(torch.nn.Sequential(torch.nn.ReLU()), (torch.ones(2),)))
        every module can be exported (1 were tried)
    """
    model = as_module(model)
    checks.inputs(args, kwargs)
    checks.fit(model, args, kwargs or {})
    calls = _record(model, args, dict(kwargs or {}))
    bisection = Bisection(not_called=[n for n, _ in model.named_modules() if n and n not in calls])
    _visit("", model, calls, bisection, {"verify": verify, **options})
    return bisection


def _record(
    model: torch.nn.Module, args: Sequence[Any], kwargs: dict[str, Any]
) -> dict[str, tuple[tuple[Any, ...], dict[str, Any]]]:
    """The inputs of the first call of each submodule."""
    calls: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {}
    hooks = []

    def watch(name: str) -> Any:
        def hook(module: Any, positional: Any, named: Any) -> None:
            calls.setdefault(name, (positional, named))

        return hook

    for name, module in model.named_modules():
        hooks.append(module.register_forward_pre_hook(watch(name), with_kwargs=True))
    try:
        with torch.no_grad():
            model(*args, **kwargs)
    finally:
        for handle in hooks:
            handle.remove()
    return calls


def _visit(
    path: str, module: torch.nn.Module, calls: Any, bisection: Bisection, options: dict[str, Any]
) -> bool:
    """Whether a module fails; its smallest failing parts are recorded."""
    args, kwargs = calls[path]
    bisection.exported += 1
    try:
        export(module, args, kwargs, **options)
    except (OnnxwrightError, RecursionError) as error:
        if not path and isinstance(error, ExportValueError):
            raise  # of the options: no module is to blame
        parts = [
            _visit(name, child, calls, bisection, options)
            for name, child in _called_parts(path, module, calls)
        ]
        if not any(parts):
            kind = f"{type(module).__module__}.{type(module).__qualname__}"
            bisection.failing.append(FailingModule(path, kind, error))
        return True
    return False


def _called_parts(
    path: str, module: torch.nn.Module, calls: Any
) -> Iterator[tuple[str, torch.nn.Module]]:
    """The children that were called, and those of containers that are not called themselves."""
    for name, child in module.named_children():
        place = f"{path}.{name}" if path else name
        if place in calls:
            yield place, child
        else:
            yield from _called_parts(place, child, calls)
