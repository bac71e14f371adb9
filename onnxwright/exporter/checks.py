"""Arguments of `export`, checked before anything is done."""

from __future__ import annotations

import functools
import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import torch
from typing_extensions import ParamSpec

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.exporter.report.export_report import DEFAULT_REPORT, path_of
from onnxwright.exporter.shown import shown
from onnxwright.operators.kernels_onnxruntime import OPSETS as RUNNABLE
from onnxwright.opset import DEFAULT_OPSET_VERSION
from onnxwright.opset.describe import did_you_mean
from onnxwright.versions.api import OLDEST

P = ParamSpec("P")
R = TypeVar("R")

# From the oldest version that models are converted to, to the newest that the runtime loads.
OPSETS = range(OLDEST, RUNNABLE[1] + 1)
# The oldest version that the ATen library is written for; exports to older ones are converted.
OLDEST_WRITTEN = 18


def raise_bad_argument(name: str, reason: str, hint: str) -> NoReturn:
    """Refuse an argument.

    Raises:
        ExportValueError: always (OW825).
    """
    fail(messages.BadExportArgument(name=name, reason=reason, hint=hint, span=user_span()))


# What torch.onnx.export takes, and how the same is said here.
_OF_TORCH_ONNX = {
    "f": "write the result: `export(...).save(path)`",
    "dynamic_axes": "use `dynamic_shapes`, for example `({0: 'batch'},)`",
    "export_params": "`export(...).save(path, include_initializers=False)`",
    "keep_initializers_as_inputs": "`export(...).save(path, keep_initializers_as_inputs=True)`",
    "do_constant_folding": "use `optimize`",
    "training": "call `model.eval()` or `model.train()` before",
    "verbose": "print the result, or its `report`",
    "dynamo": "leave it out: a model is always captured by torch.export",
    "profile": "use `report=True`",
    "dump_exported_program": "`torch.export.save(program.exported_program, path)`",
    "artifacts_dir": "give `report` a path",
    "operator_export_type": "leave it out: a model always holds ONNX operators",
    "custom_opsets": "leave it out: domains of custom operators come with their calls",
    "autograd_inlining": "leave it out: autograd functions are traced through",
}


def hints_for_torch_onnx(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function say what its argument is that torch.onnx.export calls otherwise.

    Type checkers see the parameters of the function alone, and find such an argument, too.

    Args:
        function: the function.

    Returns:
        The function; an argument of torch.onnx.export that it does not have is an
        ExportValueError (OW825), any other a TypeError.
    """
    parameters = frozenset(inspect.signature(function).parameters)

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        _refuse_unknown(function.__name__, [n for n in kwargs if n not in parameters], parameters)
        return function(*args, **kwargs)

    return checked


def _refuse_unknown(function: str, names: Sequence[str], parameters: frozenset[str]) -> None:
    for name in names:
        if name in _OF_TORCH_ONNX:
            hint = (
                f"{_OF_TORCH_ONNX[name]}; `onnxwright.torch_onnx.export` takes every argument of "
                "`torch.onnx.export`"
            )
            raise_bad_argument(name, "this is an argument of `torch.onnx.export`", hint)
        raise unknown_keyword(function, name, parameters)


def warn_deprecated(name: str, instead: str) -> None:
    """Warn of an argument of `export` that goes in a later version.

    Args:
        name: the argument.
        instead: what to write instead.
    """
    text = f"`{name}` of `export` is deprecated: {instead}"
    warnings.warn(text, DeprecationWarning, stacklevel=4)


def unknown_keyword(function: str, name: str, parameters: Iterable[str]) -> TypeError:
    """The error of an unknown keyword, as Python 3.13 words it: with the one that was meant."""
    near = did_you_mean(name, sorted(parameters))
    words = f"; did you mean {near!r}?" if near else ""
    return TypeError(f"{function}() got an unexpected keyword argument {name!r}{words}")


def inputs(args: Any, kwargs: Any) -> None:
    """Refuse a single tensor, which would be taken apart into its rows, and a path in its place.

    Raises:
        ExportValueError: they are not a tuple and a dict (OW825).
    """
    for name, value, accepted_types, words in (
        ("args", args, (tuple, list), "a tuple of the example inputs: `(x,)` for one"),
        ("kwargs", kwargs, (Mapping, type(None)), "a dict of the example inputs by name"),
    ):
        if not isinstance(value, accepted_types):
            if isinstance(value, (str, Path)):
                words += f"; the model is written by `export(...).save({str(value)!r})`"
            raise_bad_argument(name, f"an object of type {type(value).__name__}", f"give {words}")


def autocast(model: Any) -> None:
    """Refuse an export inside `torch.autocast`, whose casts are not in the captured program.

    Raises:
        ExportValueError: it is enabled for the CPU or a device of the model (OW825).
    """
    held = model.parameters() if isinstance(model, torch.nn.Module) else ()
    kinds = {"cpu", *(tensor.device.type for tensor in held)}
    if not isinstance(model, torch.export.ExportedProgram) and any(
        torch.is_autocast_enabled(kind) for kind in kinds - {"meta"}
    ):
        raise_bad_argument(
            "model",
            "it is exported inside `torch.autocast`, which the captured program would not have",
            "put `with torch.autocast(...):` into `forward`, and export outside of it",
        )


def opset(version: Any, oldest: int = OPSETS[0]) -> int:
    """The version of the standard opset that is asked for.

    Args:
        oldest: the oldest that is possible here.

    Raises:
        ExportValueError: it is none of `OPSETS` (OW825).
    """
    if version is None:
        return DEFAULT_OPSET_VERSION
    possible = range(oldest, OPSETS[-1] + 1)
    if isinstance(version, int) and not isinstance(version, bool) and version in possible:
        return version
    words = f"choose {possible[0]} to {possible[-1]}, the newest runnable opset"
    if isinstance(version, Mapping):
        words += "; versions of other domains come with `ow.Opset(domain, version)`"
    raise_bad_argument("opset_version", f"{shown(version)} is not possible", words)


def one_of(name: str, value: Any, allowed: Sequence[Any]) -> None:
    """Refuse a value that is not in a list.

    Raises:
        ExportValueError: it is not (OW825).
    """
    if not any(value is a or (type(value) is type(a) and value == a) for a in allowed):
        words = [repr(a) for a in allowed]
        hint = f"choose {', '.join(words[:-1])} or {words[-1]}"
        raise_bad_argument(name, f"{shown(value)} is not possible", hint)


def modules(selection: Any) -> None:
    """Refuse what is neither a boolean nor classes, with a name for each or without.

    Raises:
        ExportValueError: it is something else (OW825).
    """
    classes = selection if isinstance(selection, (list, tuple, set, frozenset, dict)) else ()
    wrong = [c for c in classes if not isinstance(c, type)]
    if not wrong and isinstance(selection, dict):
        for kind, name in selection.items():
            if name is not True and function_name(name) is None:
                raise_bad_argument(
                    "export_modules_as_functions",
                    f"{shown(name)} is not the name of a function for {kind.__name__}",
                    "give a domain and a name, `('my.domain', 'Linear')` or 'my.domain::Linear', "
                    "or True for the name of the class",
                )
        return
    if wrong or (not isinstance(selection, bool) and selection is not classes):
        raise_bad_argument(
            "export_modules_as_functions",
            f"{shown((wrong or [selection])[0])} is not a class",
            "give True, a list of classes: `[torch.nn.Linear]`, or a dict with a domain and a name "
            "for each: `{torch.nn.Linear: 'my.domain::Linear'}`",
        )


def function_name(qualified_name: Any) -> tuple[str, str] | None:
    """The domain and name of a function, as a caller writes them.

    Args:
        qualified_name: a pair of texts, or one with `::` between them.

    Example:
        >>> function_name("my.domain::Linear"), function_name(("d", "n")), function_name("n")
        (('my.domain', 'Linear'), ('d', 'n'), None)
    """
    parts = qualified_name.split("::") if isinstance(qualified_name, str) else qualified_name
    if not isinstance(parts, (list, tuple)) or len(parts) != 2:
        return None
    domain, name = parts
    texts = isinstance(domain, str) and isinstance(name, str)
    return (domain, name) if texts and domain.strip() and name.strip() else None


def report(destination: Any) -> None:
    """Refuse a path for the report that cannot be written, before the work is done.

    Raises:
        ExportValueError: it is not a path, or no file can be made there (OW825).
    """
    if not isinstance(destination, (bool, str, Path)) or destination == "":
        raise_bad_argument(
            "report",
            f"{shown(destination)} is not a path",
            "give True, or a path without an ending",
        )
    if destination is False:
        return
    path = path_of(DEFAULT_REPORT if destination is True else destination)
    folder = path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise_bad_argument("report", f"nothing can be written in `{folder}`", "give another path")
    if path.is_dir():
        raise_bad_argument("report", f"`{path}` is a folder", "give the path of a file in it")


def captured_already(dynamic_shapes: Any, how: Any) -> None:
    """Refuse arguments that say how to capture, beside a program that is captured.

    Raises:
        ExportValueError: one is given (OW825).
    """
    for name, argument in (("dynamic_shapes", dynamic_shapes), ("capture", how != "auto")):
        if argument:
            raise_bad_argument(
                name,
                "the program is captured already",
                f"give `{name}` with the module, or to `torch.export.export`"
                if name == "dynamic_shapes"
                else "give it with the module",
            )


def fit(module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Refuse example inputs that do not fit the parameters of a module.

    Raises:
        ExportValueError: one is missing, or there are too many (OW825).
    """
    try:
        signature = inspect.signature(module.forward)
    except (TypeError, ValueError):  # torch says what it says
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
        raise_bad_argument(
            "kwargs" if kwargs and "keyword" in str(error) else "args",
            f"{error} for `forward{inspect.Signature(plain)}`",
            "give example inputs for all arguments without a default: "
            "`export(model, args, kwargs)`",
        )
