"""`export`: a PyTorch model as an ONNX program, a straight list of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from contextvars import copy_context
from pathlib import Path
from typing import Any

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.catalogue.export_forms import NotDecided
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.eager.ort.sessions import check_providers
from onnxwright.exporter import checks, progress
from onnxwright.exporter.asked_sizes import warn_lost_sizes
from onnxwright.exporter.capture.pipeline import capture_model
from onnxwright.exporter.capture.strategies import Strategy
from onnxwright.exporter.dataclass_inputs import check_registered, register_missing_keys
from onnxwright.exporter.exportable_module import ExportArguments, arguments_of
from onnxwright.exporter.further_inputs import ObservedShapes, further_inputs
from onnxwright.exporter.program.onnx_program import ONNXProgram
from onnxwright.exporter.random_draws import warn_random_draws
from onnxwright.exporter.report import recording
from onnxwright.exporter.report.export_report import TARGETS, Report
from onnxwright.exporter.shown import shown
from onnxwright.exporter.signature import Names
from onnxwright.exporter.torch_lock import shapes_computed_anew
from onnxwright.exporter.translate.building import Settings, build
from onnxwright.exporter.translate.lowerings import Lowerings
from onnxwright.opset import DEFAULT_OPSET_VERSION
from onnxwright.versions.api import convert_in_place

DEFAULT_OPSET = DEFAULT_OPSET_VERSION


@checks.hints_for_torch_onnx
def export(
    model: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    input_names: Names = None,
    output_names: Names = None,
    opset_version: int | None = DEFAULT_OPSET,
    target: str = TARGETS[0],
    custom_translation_table: Mapping[Any, Any] | None = None,
    capture: str | Strategy = "auto",
    mutations: str = "outputs",
    metadata: str = "full",
    fallback: Callable[[str], Any] | None = None,
    export_modules_as_functions: bool | Iterable[Any] | Mapping[Any, Any] = False,
    functions: str | None = None,
    external_data: bool | str | None = None,
    optimize: bool = True,
    verify: bool | Sequence[Any] = False,
    report: bool | str | Path = False,
    strict: bool = False,
    size_branches: bool = False,
    assume: Mapping[str, bool] | None = None,
    providers: Sequence[Any] | None = None,
) -> ONNXProgram:
    """Export a PyTorch model.

    Args:
        model: a `torch.nn.Module`, a function or method, an `ExportedProgram`, or the path of a
            `.pt2` file.
        args, kwargs: example inputs; not needed for an exported program, nor for a
            `torch.onnx.ExportableModule`, which has its own, with names and dynamic shapes.
        dynamic_shapes: which dimensions may change, in any form torch takes; a string names one,
            `"past + length"` is the sum of two.  `{0: "batch", 2: "past"}` for a nested argument,
            such as a cache, is that of each tensor in it.
            True: all of every tensor, with a warning for those that the model fixes; "auto": all
            that the model does not fix; a `torch.export.ShapesCollection` or `AdditionalInputs`.
        input_names, output_names: names for the flattened inputs and outputs, the first ones at
            least; or a dict from the names there would be to others.  Tensors of caches are called
            `past_key_values.0.key` and `present.0.key` (`.decoder.key` and `.encoder.key` in an
            `EncoderDecoderCache`), by layer and part.
        opset_version: the version of the standard opset, from 7 to the newest that ONNX Runtime
            loads (26); None is the default. The model is built for 18 or newer, and converted to
            an older one (`convert_version`).
        target: "onnxruntime-cpu": where ONNX Runtime's CPU has no kernel for an element type
            (BFLOAT16 most of all), nodes compute in a wider one, with Cast nodes around them;
            "any": no such Cast nodes, for runtimes that have the kernels.
        custom_translation_table: torch operator -> function that builds it.
        capture: "auto" ("source"; then "non-strict" where that refuses the model), "source"
            (decisions by values and sizes in the Python source become If and Loop), "non-strict"
            (torch runs the Python as it is), "strict" (TorchDynamo), "substitutes" (non-strict;
            functions that look at values are replaced), "draft" (assumes what holds for the example
            inputs, with a warning), or a function
            `(model, args, kwargs, dynamic_shapes) -> ExportedProgram`.
        mutations: "outputs": new values of buffers and inputs become further outputs; "drop".
        metadata: "full", "short" or "off": what is recorded on nodes and values.
        fallback: asked for a lowering where neither the table nor the library has one; it takes
            the full name of an operator.
        export_modules_as_functions: True, or classes of modules: each call of such a module
            becomes a model-local function; equal ones are shared. A dict has the domain and name
            of the function for each class: `{torch.nn.Linear: "my.domain::Linear"}`.
        functions: "aten": each operator becomes a model-local function.
        external_data: where `save` puts weights by default: see `ONNXProgram.save`.
        optimize: remove repeated nodes, what nothing reads and what the weights settle: see
            `ONNXProgram.optimize`.
        verify: run the model and PyTorch on the example inputs, and on others where sizes are
            dynamic; a difference is an error. A list of inputs (a tuple by position, a dict by
            name): on these as well; so it is done with those of `AdditionalInputs` and `observe`.
        report: write `onnxwright_export.md` (or the file of the path given) about the steps,
            operators and verification, also when the export fails; the error names it.
        strict: make a result of another type or shape than torch's an error, and a decision by
            sizes that the model takes as it was for the example inputs.
        size_branches: deprecated: both sides of decisions by sizes are exported without it.
        assume: answers to decisions that Python makes by values of tensors, by place
            (`"model.py:12"`) or by the text of the condition (`"mask.any()"`); the program is
            right where they hold.
        providers: execution providers of ONNX Runtime in order of preference, on which the program
            runs and is verified; the CPU if not given. The model is the same.

    Returns:
        The program.

    Raises:
        ExportError: the model cannot be captured (OW821), or something in it has no ONNX (OW822,
            OW823, OW824), or the model computes something else (OW828, with `verify`).  Its
            `report` is the report of the export.
        ExportValueError: an argument cannot be used (OW825).
        EagerValueError: the installed runtime does not have a provider (OW625).
        ConversionError: operators have no equivalent in an opset older than 18 (OW870).

    Source:
        torch.export; what torch.onnx.export offers.

    Example:
        >>> import torch
        >>> program = export(torch.nn.Linear(3, 2), (torch.ones(1, 3),))
        >>> [node.op_type for node in program.model.graph]
        ['Gemm']
        >>> program(torch.zeros(1, 3)).shape
        torch.Size([1, 2])
    """
    export_arguments = ExportArguments(args, kwargs, dynamic_shapes, input_names, output_names)
    own = arguments_of(model, export_arguments)
    args, kwargs, dynamic_shapes = own.args, own.kwargs, own.dynamic_shapes
    checks.inputs(args, kwargs)
    checks.autocast(model)
    register_missing_keys()
    check_registered(args, kwargs)
    opset_version = checks.opset(opset_version)
    check_providers(providers)
    for name, value, allowed in (
        ("mutations", mutations, ("outputs", "drop")),
        ("metadata", metadata, ("full", "short", "off")),
        ("functions", functions, (None, "aten")),
        ("target", target, TARGETS),
        ("external_data", external_data, (None, True, False, "per_tensor")),
    ):
        checks.one_of(name, value, allowed)
    if not isinstance(assume, (Mapping, type(None))):
        checks.raise_bad_argument(
            "assume",
            f"{shown(assume)} is not a dict",
            "give answers by place or text: `{'model.py:12': True}`",
        )
    if size_branches:
        checks.warn_deprecated(
            "size_branches",
            "both sides of a decision are exported; leave it out",
        )
    checks.report(report)
    further = further_inputs(verify, dynamic_shapes)
    if isinstance(dynamic_shapes, ObservedShapes):
        dynamic_shapes = dict(dynamic_shapes)
    if isinstance(export_modules_as_functions, type):
        export_modules_as_functions = [export_modules_as_functions]
    checks.modules(export_modules_as_functions)
    recorded = Report(opset_version, target, versions=recording.versions())
    with recording.report_on_exit(recorded, report), progress.step("export"):
        with shapes_computed_anew() if dynamic_shapes else nullcontext():
            # What the model sets of context variables ends with the capture.
            captured = copy_context().run(
                capture_model,
                model,
                tuple(args),
                dict(kwargs or {}),
                dynamic_shapes,
                capture,
                recorded,
                strict=strict,
                assume=assume,
            )
        settings = Settings(
            max(opset_version, checks.OLDEST_WRITTEN),
            Lowerings(custom_translation_table, fallback),
            own.input_names,
            own.output_names,
            captured.names,
            mutations,
            metadata,
            strict,
            export_modules_as_functions,
            functions,
            target,
        )
        recorded.torch_ops.update(recording.operators(captured.program))
        with progress.step("translate"):
            built = build(captured.program, settings, recorded)
        recorded.seconds.update(built.seconds)
        with recording.warnings_recorded(recorded):
            warn_lost_sizes(captured, built)
        result = ONNXProgram(built, captured, recorded, settings)
        result.external_data = external_data
        result.providers = providers
        result.further_inputs = further
        if optimize:
            with recording.timed(recorded, "optimize"):
                result.optimize()
        if opset_version < checks.OLDEST_WRITTEN:
            with recording.timed(recorded, "convert"):
                # torch.export gives a dynamic dimension at least two elements by default.
                convert_in_place(result.model, opset_version, ("nonempty",))
        with recording.warnings_recorded(recorded):
            warn_random_draws(captured.program, result)
        recording.record_model(recorded, result.model, built.outputs)
        if verify is not False:
            with recording.timed(recorded, "verify"):
                _verify(result, args, kwargs, recorded)
    return result


def _verify(program: ONNXProgram, args: Any, kwargs: Any, recorded: Report) -> None:
    if not args and not kwargs and program.exported_program.example_inputs is not None:
        args, kwargs = program.exported_program.example_inputs
    verification = program.verify(args, kwargs, more=program.further_inputs)
    recorded.verification = verification
    if verification.wrong:
        fail(
            messages.VerifyFailed(
                summary=verification.summary(), notes=(str(verification),), span=user_span()
            )
        )
    with recording.warnings_recorded(recorded):
        for reason in [*verification.undecided, verification.refused]:
            if reason:
                warn(NotDecided(reason=reason, span=user_span()))
