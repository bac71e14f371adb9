"""`dynamic_shapes` that are not written out: True, "auto", and torch's collections of examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import AdditionalInputs, Dim, ExportedProgram, ShapesCollection

from onnxwright.exporter import checks
from onnxwright.exporter.capture.inputs.caches import register_caches
from onnxwright.exporter.shown import shown
from onnxwright.exporter.torch_internals import combined_arguments, mapped_with_path


@dataclass(frozen=True)
class Proposed:
    """Dynamic shapes as they are written out.

    Fields:
        shapes: by argument, nested as the inputs.
        quiet: a dimension that the model fixes is not reported.
        verify: what checks the captured program.
    """

    shapes: Any
    quiet: bool = False
    verify: Callable[[ExportedProgram], None] = lambda program: None


def written_out(
    module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], given: Any
) -> Proposed:
    """The dynamic shapes that an argument stands for.

    Args:
        module: what is exported.
        args, kwargs: the example inputs.
        given: True (every dimension of every tensor), "auto" (the same, without a warning for
            what the model fixes), a `ShapesCollection` or `AdditionalInputs` of torch.export; any
            other value stands for itself.

    Returns:
        The shapes.

    Raises:
        ExportValueError: they cannot be found for these inputs (OW825).
    """
    if given is None or given is False:
        return Proposed(None)
    if given is True or isinstance(given, str):
        if isinstance(given, str) and given != "auto":
            checks.raise_bad_argument(
                "dynamic_shapes",
                f"{shown(given)} is not the name of a way to find them",
                'give "auto", True, or the shapes by argument name or by position',
            )
        register_caches()
        found = mapped_with_path(_every_axis, combined_arguments(module, args, kwargs))
        return Proposed(found, quiet=given == "auto")
    if not isinstance(given, (ShapesCollection, AdditionalInputs)):
        return Proposed(given)
    register_caches()
    try:
        found = given.dynamic_shapes(module, args, kwargs)
    except Exception as error:  # noqa: BLE001 - torch says in its own way what does not fit
        reason = str(error).splitlines()[0]
        hint = "the tensors in it are those of `args` and `kwargs` themselves"
        if isinstance(given, AdditionalInputs):
            hint = "every example has the structure and the types of `args` and `kwargs`"
        checks.raise_bad_argument("dynamic_shapes", reason, hint)
    if isinstance(given, ShapesCollection):
        return Proposed(found)

    def verify(program: ExportedProgram) -> None:
        try:
            given.verify(program)
        except Exception as error:  # noqa: BLE001 - torch says in its own way what does not fit
            checks.raise_bad_argument(
                "dynamic_shapes",
                f"an additional input does not fit the program ({str(error).splitlines()[0]})",
                "the model fixes or bounds a size of it: see the report, or leave the example out",
            )

    return Proposed(found, verify=verify)


def _every_axis(path: Any, leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor) or leaf.ndim == 0:
        return None
    return dict.fromkeys(range(leaf.ndim), Dim.AUTO)
