"""`torch.onnx.export` with its own arguments: what call sites hold, translated for `export`."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from typing_extensions import Never

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import torch_names as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.exporter import api
from onnxwright.exporter.checks import raise_bad_argument
from onnxwright.exporter.exportable_module import ExportArguments, arguments_of
from onnxwright.exporter.program.torch_program import TorchONNXProgram
from onnxwright.exporter.shown import shown
from onnxwright.exporter.torch_internals import pytree
from onnxwright.exporter.torch_names.removed_arguments import removed_arguments
from onnxwright.exporter.torch_names.symbolics import registered, symbolic_table


def export(
    model: Any,
    args: Any = (),
    f: Any = None,
    export_params: bool = True,
    verbose: bool | None = None,
    training: Any = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    operator_export_type: Any = None,
    opset_version: int | Mapping[str, int] | None = None,
    do_constant_folding: bool = True,
    dynamic_axes: Mapping[str, Any] | None = None,
    keep_initializers_as_inputs: bool = False,
    custom_opsets: Mapping[str, int] | None = None,
    *,
    kwargs: dict[str, Any] | None = None,
    dynamo: bool = True,
    external_data: bool | None = None,
    dynamic_shapes: Any = None,
    custom_translation_table: Mapping[Any, Any] | None = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike[str] = ".",
    fallback: bool = False,
    export_modules_as_functions: Any = False,
    autograd_inlining: bool = True,
    **removed: Never,  # for type checkers: there is no other argument
) -> TorchONNXProgram:
    """Export a PyTorch model, called as `torch.onnx.export` is.

    Arguments that `onnxwright.export` has mean the same there.  An argument that has no effect
    here, given another value than its default, is answered with a located warning (OW890).

    Args:
        model: a module, an `ExportableModule`, a function, an `ExportedProgram`.
        args: example inputs: a tuple, or one tensor; a dict at its end holds inputs by name.
        f: a path or a binary file object the model is written to.
        export_params: False writes no weights: they are inputs of the file.
        verbose: print the exported program.
        training: the mode the model is exported in: `torch.onnx.TrainingMode` or None, which is
            EVAL with `dynamo=False` and the model's own otherwise.
        input_names, output_names: names of the flattened inputs and outputs.
        operator_export_type: no effect: the model has ONNX operators only.
        opset_version: the version of the standard opset, or those of domains, as `custom_opsets`:
            `{"": 20, "my.domain": 2}`.
        do_constant_folding: False leaves out `optimize`.
        dynamic_axes: input name -> {axis: name} or list of axes; as `dynamic_shapes`.
        keep_initializers_as_inputs: list weights as inputs of the file too.
        custom_opsets: versions of the domains that symbolic functions name.
        kwargs: example inputs by name.
        dynamo: no effect: a model is always captured by torch.export.
        external_data: True: weights go to one file beside `f`; False: into `f`; None: beside it
            where the model would be larger than 1.5 GB.
        dynamic_shapes, custom_translation_table, optimize, verify: as for `onnxwright.export`.
        report, profile: write a report (Markdown) into `artifacts_dir`.
        dump_exported_program: write the captured program (`.pt2`) into `artifacts_dir`.
        artifacts_dir: a folder; it is made if needed.
        fallback: no effect: there is no second exporter.
        export_modules_as_functions: as for `onnxwright.export`.
        autograd_inlining: no effect: autograd functions are traced through.
        **removed: arguments of older versions of torch.onnx; each is answered with a warning.

    Returns:
        The program, written or not; it is called as `torch.onnx.ONNXProgram` is, and gives a flat
        tuple of tensors.

    Raises:
        ExportError: as for `onnxwright.export`.
        ExportValueError: an argument cannot be used (OW825).
        TypeError: torch.onnx.export never had one of the arguments.

    Source:
        torch.onnx.export of PyTorch 2.13; the positional order of its older versions.

    Example:
        >>> import torch
        >>> from onnxwright import torch_onnx
        >>> axes = {"x": {0: "batch"}}
        >>> program = torch_onnx.export(
        ...     torch.nn.Linear(3, 2), torch.ones(1, 3), input_names=["x"], dynamic_axes=axes
        ... )
        >>> program.model.graph.inputs[0].shape
        Shape([SymbolicDim('batch'), 3])
    """
    instead = removed_arguments(removed, inspect.signature(export).parameters)
    external_data = instead.get("external_data", external_data)
    if isinstance(opset_version, Mapping):
        custom_opsets = {**opset_version, **(custom_opsets or {})}
        standard = [custom_opsets.pop(domain, None) for domain in ("", "ai.onnx")]
        opset_version = standard[0] or standard[1]
    own = arguments_of(
        model, ExportArguments(args, kwargs, dynamic_shapes, input_names, output_names)
    )
    args, dynamic_shapes = own.args, own.dynamic_shapes
    kwargs = None if own.kwargs is None else dict(own.kwargs)
    input_names, output_names = own.input_names, own.output_names
    _notes(operator_export_type, custom_opsets, autograd_inlining, fallback)
    arguments, named = _inputs(model, args, kwargs)
    input_names = _names_in_order(model, arguments, named, input_names)
    if dynamic_axes:
        if dynamic_shapes is not None:
            hint = "give `dynamic_shapes`, which says more"
            raise_bad_argument("dynamic_axes", "`dynamic_shapes` is given as well", hint)
        dynamic_shapes = shapes_of_axes(
            model, arguments, named, dynamic_axes, input_names, output_names
        )
    options: dict[str, Any] = {} if opset_version is None else {"opset_version": opset_version}
    folder = Path(artifacts_dir)
    if report or profile or dump_exported_program:
        folder.mkdir(parents=True, exist_ok=True)
    if report or profile:
        options["report"] = folder / "onnxwright_export"
    version = opset_version or api.DEFAULT_OPSET
    with _mode(model, training, dynamo), symbolic_table(version, custom_opsets) as table:
        table.update(custom_translation_table or {})
        exported = api.export(
            model,
            arguments,
            named,
            dynamic_shapes=dynamic_shapes,
            input_names=input_names,
            output_names=output_names,
            custom_translation_table=table or None,
            export_modules_as_functions=export_modules_as_functions,
            optimize=optimize and do_constant_folding and export_params,
            verify=verify,
            **options,
        )
    if not export_params and optimize and do_constant_folding:
        exported.optimize(weights=False)  # whoever reads the file knows the weights of the module
    program = TorchONNXProgram.of(exported)
    if dump_exported_program:
        torch.export.save(program.exported_program, folder / "onnxwright_export.pt2")
    if verbose:
        sys.stdout.write(f"{program}\n{program.report}\n")
    if f is not None:
        _write(program, f, external_data, export_params, keep_initializers_as_inputs)
    return program


def _notes(operators: Any, opsets: Any, inlining: bool, fallback: bool) -> None:
    """Warn about arguments that are given and change nothing."""
    plain = operators is None or getattr(operators, "name", operators) == "ONNX"
    for name, is_given, reason in (
        ("operator_export_type", not plain, "a model always holds ONNX operators"),
        (
            "custom_opsets",
            bool(opsets) and not registered(),
            "the domains of custom operators come with their calls",
        ),
        ("autograd_inlining", not inlining, "autograd functions are always traced through"),
        ("fallback", bool(fallback), "there is no second exporter to fall back to"),
    ):
        if is_given:
            warn(messages.NoEffectHere(argument=name, reason=reason, span=user_span()))


def _inputs(model: Any, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Example inputs by position and by name, from every form that call sites use."""
    if isinstance(args, (torch.Tensor, int, float, bool)):
        args = (args,)
    args = tuple(args)
    named = dict(kwargs or {})
    if not named and args and isinstance(args[-1], dict) and _are_names(model, args):
        named = args[-1]
        args = args[:-1]
    return args, named


def _are_names(model: Any, args: tuple[Any, ...]) -> bool:
    """Whether a dict at the end holds inputs by name: not if only the dict itself is an input."""
    forward = model.forward if isinstance(model, torch.nn.Module) else model
    try:
        signature = inspect.signature(forward)
        signature.bind(*args)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*args[:-1], **args[-1])
    except TypeError:
        return False
    return True


def _names_in_order(
    model: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    names: Sequence[str] | None,
) -> Sequence[str] | None:
    """The names of inputs in the order of the parameters.

    torch.onnx counts inputs in the order in which they are given; its older exporter, in that of
    the parameters, which is taken where the other gives an input the name of another parameter.
    Call sites also name inputs that are None.
    """
    if not names or isinstance(names, str):
        return names
    bound = _by_parameter(model, args, kwargs)
    order = [key for key in bound if key not in kwargs] + [key for key in kwargs if key in bound]
    if len(order) != len(bound):  # `**kwargs` of the model's own
        order = list(bound)
    counts = {key: pytree.tree_leaves(bound[key]) for key in bound}
    for keys in (order, list(bound)):
        leaves = [(key, n) for key in keys for n in range(len(counts[key]))]
        present = [(key, n) for key, n in leaves if counts[key][n] is not None]
        places = leaves if len(names) == len(leaves) else present
        by_place = dict(zip(places, names, strict=False))
        ordered = [
            by_place.get((key, n))
            for key in bound
            for n in range(len(counts[key]))
            if counts[key][n] is not None
        ]
        wrong = [
            (key, name) for (key, _), name in by_place.items() if name in bound and name != key
        ]
        if not wrong:
            break
    else:
        key, name = wrong[0]
        raise_bad_argument(
            "input_names",
            f"`{name}` is given to the input `{key}`, and another input has that name",
            f"the inputs are, in this order: {', '.join(_leaf_names(bound))}",
        )
    if len(names) > len(places) or None in ordered[: len(names)]:
        return names
    return [name for name in ordered if name is not None]


def shapes_of_axes(
    model: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    axes: Mapping[str, Any],
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> Any:
    """`dynamic_axes` as `dynamic_shapes`.

    Args:
        axes: input name -> {axis: name}, or a list of axes; entries of outputs are passed over.
        input_names: names of the flattened inputs that are not None, the first ones at least.

    Returns:
        A dict from parameters to specifications of the same structure as their values.

    Raises:
        ExportValueError: an entry is neither a dict nor a list of axes, or is not of an input or
            output (OW825).

    Source:
        torch.onnx.export: names of axes that are given as a list follow its older exporter.
    """
    bound = _by_parameter(model, args, kwargs)
    leaves, structure = pytree.tree_flatten(bound)
    own = _leaf_names(bound)
    remaining = iter(input_names or ())
    names = [
        name if leaf is None else next(remaining, name)
        for name, leaf in zip(own, leaves, strict=True)
    ]
    ranks = {
        *names,
        *own,
        *([output_names] if isinstance(output_names, str) else output_names or ()),
    }
    for key in axes:
        if key not in ranks:
            raise_bad_argument(
                "dynamic_axes",
                f"`{key}` is not the name of an input or output",
                f"the inputs are {', '.join(names)}; an output needs its name in `output_names`",
            )
    specs = []
    for leaf, name, plain in zip(leaves, names, own, strict=True):
        key = name if name in axes or plain in names else plain
        spec = _axes_of(key, axes)
        specs.append(spec if isinstance(leaf, torch.Tensor) and spec else None)
    return pytree.tree_unflatten(specs, structure)


def _by_parameter(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs by the names of the parameters; those of `*args` as a tuple."""
    forward = model.forward if isinstance(model, torch.nn.Module) else model
    if isinstance(model, torch.export.ExportedProgram):
        forward = model.module().forward
    bound = inspect.signature(forward).bind(*args, **kwargs)
    return dict(bound.arguments)


def _leaf_names(bound: Mapping[str, Any]) -> list[str]:
    """The name of each flattened input: that of its parameter, numbered if it has several."""
    names = []
    for parameter, value in bound.items():
        count = len(pytree.tree_leaves(value))
        names += [parameter] if count == 1 else [f"{parameter}_{n}" for n in range(count)]
    return names


def _axes_of(name: str, axes: Mapping[str, Any]) -> dict[int, str] | None:
    entry = axes.get(name)
    if entry is None:
        return None
    if isinstance(entry, Mapping):
        return {int(axis): str(label) for axis, label in entry.items()}
    if isinstance(entry, (list, tuple)):
        return {int(axis): f"{name}_dynamic_axes_{n}" for n, axis in enumerate(entry, 1)}
    hint = "give a dict from axes to names, or a list of axes"
    raise_bad_argument("dynamic_axes", f"the axes of `{name}` are {shown(entry)}", hint)


@contextmanager
def select_model_mode_for_export(model: Any, mode: Any) -> Iterator[None]:
    """Put a model into the mode it is exported in; every module has its own mode back after.

    Args:
        model: a module; anything else is left alone.
        mode: a `torch.onnx.TrainingMode`; PRESERVE and None change nothing.

    Raises:
        ExportValueError: it is not a mode (OW825).

    Source:
        torch.onnx.select_model_mode_for_export of PyTorch 2.13.
    """
    with _mode(model, mode, dynamo=True):
        yield


@contextmanager
def _mode(model: Any, training: Any, dynamo: bool) -> Iterator[None]:
    """Export in the mode that is asked for; every module has its own mode back after."""
    word = getattr(training, "name", training)
    if training is None:
        word = "PRESERVE" if dynamo else "EVAL"
    if word not in ("EVAL", "TRAINING", "PRESERVE"):
        hint = "give a `torch.onnx.TrainingMode`, or None"
        raise_bad_argument("training", f"{shown(training)} is not a mode", hint)
    if word == "PRESERVE" or not isinstance(model, torch.nn.Module):
        yield
        return
    before = [(module, module.training) for module in model.modules()]
    model.train(word == "TRAINING")
    try:
        yield
    finally:
        for module, mode in before:
            module.training = mode


def _write(
    program: TorchONNXProgram,
    f: Any,
    external_data: bool | None,
    export_params: bool,
    as_inputs: bool,
) -> None:
    options: dict[str, Any] = {
        "include_initializers": export_params,
        "keep_initializers_as_inputs": as_inputs,
    }
    if not hasattr(f, "write"):
        options["external_data"] = external_data
    program.save(f, **options)


@functools.cache
def _exportable_module() -> Any:
    """PyTorch's class, whose `to_onnx` is an export by this package."""

    class ExportableModule(torch.onnx.ExportableModule):  # type: ignore[misc] # abstract there
        __doc__ = torch.onnx.ExportableModule.__doc__

        def to_onnx(self, **options: Any) -> Any:
            """Export the module on its own example arguments.

            Args:
                options: as for `torch_onnx.export`.
            """
            return export(self, **options)

    return ExportableModule


def of_torch(name: str) -> Any:
    """What torch.onnx has under a name."""
    if name == "ExportableModule":
        return _exportable_module()
    if name in ("testing", "verification"):  # modules that `import torch` does not load
        return importlib.import_module(f"torch.onnx.{name}")
    return getattr(torch.onnx, name)
