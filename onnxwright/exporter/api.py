"""`export`: a PyTorch model as an ONNX program, a straight list of steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch.export import ExportedProgram

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.exporter import capture as capturing
from onnxwright.exporter import shapes
from onnxwright.exporter.building import Settings, build
from onnxwright.exporter.capture import Strategy, load_program
from onnxwright.exporter.lowerings import Lowerings
from onnxwright.exporter.program import ONNXProgram

DEFAULT_OPSET = 23
_OPSETS = range(18, 27)


def export(
    model: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int = DEFAULT_OPSET,
    custom_translation_table: Mapping[Any, Any] | None = None,
    capture: str | Strategy = "auto",
    mutations: str = "outputs",
    metadata: str = "full",
    fallback: Callable[[str], Any] | None = None,
    strict: bool = False,
) -> ONNXProgram:
    """Export a PyTorch model.

    Args:
        model: a `torch.nn.Module`, a function or method, an `ExportedProgram`, or the path of a
            `.pt2` file.
        args, kwargs: example inputs; not needed for an exported program.
        dynamic_shapes: which dimensions may change, in any form torch takes; a string names one.
        input_names, output_names: names for the flattened inputs and outputs, the first ones at
            least.
        opset_version: the version of the standard opset, 18 to 26.
        custom_translation_table: torch operator -> function that builds it.
        capture: "auto", "non-strict", "strict", or a function `(model, args, kwargs,
            dynamic_shapes) -> ExportedProgram`.
        mutations: "outputs": new values of buffers and inputs become further outputs; "drop".
        metadata: "full", "short" or "off": what is noted on nodes and values.
        fallback: asked for a lowering where neither the table nor the library has one; it takes
            the full name of an operator.
        strict: make a result of another type or shape than torch's an error.

    Returns:
        The program.

    Raises:
        ExportError: the model cannot be captured (OW821), or something in it has no ONNX (OW822,
            OW823).
        ExportValueError: an argument cannot be used (OW825).

    Example:
        >>> import torch
        >>> program = export(torch.nn.Linear(3, 2), (torch.ones(1, 3),))
        >>> [node.op_type for node in program.model.graph]
        ['Gemm']
        >>> program(torch.zeros(1, 3)).shape
        torch.Size([1, 2])
    """
    _check("opset_version", opset_version, _OPSETS, "18 to 26")
    _check("mutations", mutations, ("outputs", "drop"), "'outputs' or 'drop'")
    _check("metadata", metadata, ("full", "short", "off"), "'full', 'short' or 'off'")
    if isinstance(model, (str, Path)):
        model = load_program(model)
    names: dict[str, str] = {}
    if isinstance(model, ExportedProgram):
        program = model
    else:
        wanted = shapes.read(model, args, dict(kwargs or {}), dynamic_shapes)
        program, _ = capturing.capture(
            model, wanted.args, wanted.kwargs, wanted.dynamic_shapes, capture
        )
        names = shapes.names_of(program, wanted)
    settings = Settings(
        opset_version,
        Lowerings(custom_translation_table, fallback),
        input_names,
        output_names,
        names,
        mutations,
        metadata,
        strict,
    )
    built = build(program, settings)
    return ONNXProgram(built, program, None)


def _check(name: str, value: Any, allowed: Any, words: str) -> None:
    if value not in allowed:
        fail(
            messages.BadExportArgument(
                name=name,
                reason=f"{value!r} is not possible",
                hint=f"choose {words}",
                span=user_span(),
            )
        )
