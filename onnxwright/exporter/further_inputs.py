"""Inputs of the user beside the examples: given to `verify`, added, or observed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import torch

from onnxwright.exporter.checks import raise_bad_argument

Inputs = tuple[tuple[Any, ...], dict[str, Any]]


class ObservedShapes(dict[str, Any]):
    """Dynamic shapes by argument, with the inputs of the calls that they were read from.

    Attributes:
        calls: the arguments of those calls, by position and by name.
    """

    calls: tuple[Inputs, ...] = ()


def further_inputs(verify: Any, dynamic_shapes: Any = None) -> list[Inputs]:
    """The inputs that a program is verified on beside the examples.

    Args:
        verify: True or False, or a list of inputs: a tuple by position, a dict by name, or one
            tensor; a `torch.export.AdditionalInputs`.
        dynamic_shapes: as `export` takes them; torch's `AdditionalInputs` and what `observe`
            proposed hold inputs.

    Returns:
        Each by position and by name.

    Raises:
        ExportValueError: `verify` is something else (OW825).
    """
    inputs: list[Inputs] = []
    for source in (verify, dynamic_shapes):
        if isinstance(source, torch.export.AdditionalInputs):
            inputs += [(tuple(args), dict(kwargs or {})) for args, kwargs in source._examples]
        elif isinstance(source, ObservedShapes):
            inputs += source.calls
    if isinstance(verify, (list, tuple)):
        inputs += [_inputs(item) for item in verify]
    elif not isinstance(verify, (bool, torch.export.AdditionalInputs)):
        _refuse(verify)
    return inputs


def _inputs(item: Any) -> Inputs:
    if isinstance(item, torch.Tensor):
        return (item,), {}
    if isinstance(item, Mapping) and all(isinstance(key, str) for key in item):
        return (), dict(item)
    if isinstance(item, Sequence) and not isinstance(item, (str, bytes)):
        return tuple(item), {}
    _refuse(item)


def _refuse(item: Any) -> NoReturn:
    raise_bad_argument(
        "verify",
        f"an object of type {type(item).__name__}",
        "give True, or a list of inputs: a tuple for those by position, a dict for those by name",
    )
