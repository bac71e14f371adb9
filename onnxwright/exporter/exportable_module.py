"""`torch.onnx.ExportableModule`: modules that bring their example inputs and names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class ExportArguments:
    """Arguments of an export that a module may bring; those that are given come first."""

    args: Any
    kwargs: Mapping[str, Any] | None
    dynamic_shapes: Any
    input_names: Any
    output_names: Any


def arguments_of(model: Any, arguments: ExportArguments) -> ExportArguments:
    """The arguments of an export, with those that the module brings.

    Returns:
        The same where inputs are given, or the model is not an `ExportableModule`.

    Source:
        torch.onnx.export of PyTorch 2.13: a module is asked only where no inputs are given.
    """
    kind = getattr(torch.onnx, "ExportableModule", None)
    if kind is None or not isinstance(model, kind):
        return arguments
    if arguments.kwargs or not isinstance(arguments.args, (tuple, list)) or arguments.args:
        return arguments
    args, kwargs = model.example_arguments()
    own = arguments.dynamic_shapes, arguments.input_names, arguments.output_names
    asked = model.dynamic_shapes, model.input_names, model.output_names
    shapes, inputs, outputs = (
        ask() if value is None else value for value, ask in zip(own, asked, strict=True)
    )
    return ExportArguments(args, kwargs, shapes, inputs, outputs)
