"""Example inputs beside what was captured of them."""

from __future__ import annotations

import contextlib
import dis
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import torch
from torch.export import AdditionalInputs, Dim, ExportedProgram, ShapesCollection
from torch.export.graph_signature import InputKind, OutputKind

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export_forms as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.exporter import checks
from onnxwright.exporter.capture.assumptions.guard_text import named_sums
from onnxwright.exporter.capture.assumptions.guards import Sizes
from onnxwright.exporter.capture.inputs.caches import register_caches
from onnxwright.exporter.places import is_of_user
from onnxwright.exporter.shown import shown
from onnxwright.exporter.signature import WEIGHT_KINDS, inputs_of, weight_of
from onnxwright.exporter.torch_internals import combined_arguments, mapped_with_path
from onnxwright.exporter.torch_types import is_sparse


def check_example(sizes: Sizes, axes: Sequence[Mapping[int, Any]], flat: Sequence[Any]) -> None:
    """Check that a program is right for its own example inputs.

    Where a dynamic size is 1 in the example, the program is captured with a larger one, and a
    decision may have taken the other side there.

    Args:
        sizes: what the program assumes about sizes.
        axes: for each flattened input, what was written for its dynamic axes.
        flat: the example inputs as they were given.

    Raises:
        ExportValueError: it is not (OW825).
    """
    if len(flat) != len(axes):
        return  # nothing was asked for
    reason = sizes.check(flat)
    if reason:
        checks.raise_bad_argument(
            "args",
            f"the program would refuse its own example: {reason}",
            "PyTorch takes a dynamic size for 2 or more: give example inputs with larger sizes, "
            "or leave the size fixed",
        )


def check_sums(axes: Sequence[Mapping[int, Any]], flat: Sequence[Any]) -> None:
    """Check that names of dimensions such as `past + seq` are the sums of what they name.

    Args:
        axes: for each flattened input, what was written for its dynamic axes.
        flat: the example inputs as they were given.

    Raises:
        ExportValueError: the size is not that sum in the example (OW825).
    """
    sizes: dict[str, int] = {}
    for value, named in zip(flat, axes, strict=False):
        for axis, dim in named.items() if isinstance(value, torch.Tensor) else ():
            if isinstance(dim, str):
                sizes.setdefault(dim, int(value.shape[axis]))
    for name, size in named_sums(sizes).items():
        if sizes[name] != size:
            checks.raise_bad_argument(
                "dynamic_shapes",
                f"`{name}` is {sizes[name]} in the example, and the sum is {size}",
                "a name such as `past + seq` is the sum of the sizes with these names; write "
                "another name for a size of its own",
            )


# -- sparse weights, inputs and results are refused: the values of a model are dense ---------------


def check_sparse(program: ExportedProgram) -> None:
    """Refuse what is sparse among the weights, inputs and results of a captured program.

    Raises:
        ExportError: one is (OW838).
    """
    for entry in inputs_of(program):
        value = entry.node.meta.get("val")
        if entry.kind is InputKind.USER_INPUT and is_sparse(value):
            _raise_sparse(f"the input `{entry.node.name}`", value, _INPUT)
        if entry.kind in WEIGHT_KINDS and entry.node.users:
            tensor = weight_of(program, entry)
            if is_sparse(tensor):
                _raise_sparse(f"`{entry.target}`", tensor, _WEIGHT)
    results = {s.arg.name for s in program.graph_signature.output_specs
               if s.kind is OutputKind.USER_OUTPUT and hasattr(s.arg, "name")}  # fmt: skip
    for node in program.graph.nodes:
        if node.name in results and is_sparse(node.meta.get("val")):
            _raise_sparse(f"the result `{node.name}`", node.meta["val"], _RESULT)


_INPUT = "take a dense tensor, and make it sparse in the module with `to_sparse()`"
_RESULT = "return `to_dense()` of it"
_WEIGHT = (
    "store `to_dense()` of it where the module is made, and use `x @ w` in place of `sparse.mm`"
)


def raise_not_captured(module: torch.nn.Module, error: Exception) -> None:
    """Raise the user's error if a module that was not captured has sparse weights.

    Raises:
        ExportError: it has some (OW838).
    """
    for name, tensor in _weights(module):
        if is_sparse(tensor):
            try:
                _raise_sparse(f"`{name}`", tensor, _WEIGHT)
            except Exception as found:
                raise found from error


def _weights(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    yield from module.named_parameters()
    yield from module.named_buffers()
    for path, inner in module.named_modules():
        for name, value in vars(inner).items():
            if isinstance(value, torch.Tensor):
                yield ".".join(filter(None, (path, name))), value


def _raise_sparse(what: str, tensor: torch.Tensor, hint: str) -> None:
    layout = str(tensor.layout).removeprefix("torch.")
    fail(messages.SparseTensor(what=what, layout=layout, hint=hint, span=user_span()))


# -- modules that `forward` imports, imported before a capture -------------------------------------
# A module that is imported while PyTorch traces makes its constants of tensors without numbers.


def import_what_forward_imports(model: torch.nn.Module) -> None:
    """Import what the `forward` of the user's modules imports; what is missing is left out."""
    for kind in {type(module): None for module in model.modules()}:
        forward = getattr(kind, "forward", None)
        if isinstance(forward, FunctionType) and is_of_user(forward.__code__.co_filename):
            for name in _imported(forward):
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)


def _imported(function: FunctionType) -> list[str]:
    """The names of the modules that a function imports; not of relative imports."""
    instructions = list(dis.get_instructions(function))
    module_names = []
    for n, instruction in enumerate(instructions):
        if instruction.opname == "IMPORT_NAME" and instructions[n - 2].argval == 0:
            module_names.append(str(instruction.argval))
    return module_names


# -- proposed shapes -------------------------------------------------------------------------------
# `dynamic_shapes` that are not written out: True, "auto", and torch's collections of examples.


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
    module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
) -> Proposed:
    """The dynamic shapes that an argument stands for.

    Args:
        module: what is exported.
        args, kwargs: the example inputs.
        dynamic_shapes: True (every axis of every tensor), "auto" (the same, without a warning for
            what the model fixes), a `ShapesCollection` or `AdditionalInputs` of torch.export; any
            other value stands for itself.

    Returns:
        The shapes.

    Raises:
        ExportValueError: they cannot be found for these inputs (OW825).
    """
    if dynamic_shapes is None or dynamic_shapes is False:
        return Proposed(None)
    if dynamic_shapes is True or isinstance(dynamic_shapes, str):
        if isinstance(dynamic_shapes, str) and dynamic_shapes != "auto":
            checks.raise_bad_argument(
                "dynamic_shapes",
                f"{shown(dynamic_shapes)} is not the name of a way to find them",
                'give "auto", True, or the shapes by argument name or by position',
            )
        register_caches()
        shapes = mapped_with_path(_every_axis, combined_arguments(module, args, kwargs))
        return Proposed(shapes, quiet=dynamic_shapes == "auto")
    if not isinstance(dynamic_shapes, (ShapesCollection, AdditionalInputs)):
        return Proposed(dynamic_shapes)
    register_caches()
    try:
        shapes = dynamic_shapes.dynamic_shapes(module, args, kwargs)
    except Exception as error:  # noqa: BLE001 - torch says in its own way what does not fit
        reason = str(error).splitlines()[0]
        hint = "the tensors in it are those of `args` and `kwargs` themselves"
        if isinstance(dynamic_shapes, AdditionalInputs):
            hint = "every example has the structure and the types of `args` and `kwargs`"
        checks.raise_bad_argument("dynamic_shapes", reason, hint)
    if isinstance(dynamic_shapes, ShapesCollection):
        return Proposed(shapes)

    def verify(program: ExportedProgram) -> None:
        try:
            dynamic_shapes.verify(program)
        except Exception as error:  # noqa: BLE001 - torch says in its own way what does not fit
            checks.raise_bad_argument(
                "dynamic_shapes",
                f"an additional input does not fit the program ({str(error).splitlines()[0]})",
                "the model fixes or bounds a size of it: see the report, or leave the example out",
            )

    return Proposed(shapes, verify=verify)


def _every_axis(path: Any, leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor) or leaf.ndim == 0:
        return None
    return dict.fromkeys(range(leaf.ndim), Dim.AUTO)
