"""Arguments and options that torch.onnx.export had once, and what they are here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import torch_names as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.exporter.checks import unknown_keyword

_ONE_FILE = "a model is one file; see `external_data=` for its weights"
# Arguments of older versions of torch.onnx.export: why they have no effect here.
ARGUMENTS: Mapping[str, str] = {
    "example_outputs": "the outputs are found by capturing the module",
    "strip_doc_string": "doc strings hold no source lines; these are metadata of the nodes",
    "enable_onnx_checker": "every model is checked",
    "_retain_param_name": "weights have the names of the module's parameters",
    "aten": "a model always holds ONNX operators",
    "export_raw_ir": "a model always holds ONNX operators",
    "export_type": _ONE_FILE,
    "propagate": "the types of all values are always inferred",
    "onnx_shape_inference": "the types of all values are always inferred",
    "add_node_names": "nodes always have names",
    "fixed_batch_size": "sizes are fixed but for those that `dynamic_shapes=` names",
    "google_printer": "`print(program)` shows the program",
    "defer_weight_export": "`export_params=False` leaves the weights out",
    "use_tensorboard_tags": "nodes have the names of the captured program",
}


def removed_arguments(arguments: Mapping[str, Any], supported: Iterable[str]) -> dict[str, Any]:
    """Answer arguments that torch.onnx.export had once.

    Args:
        arguments: arguments that `export` has no parameter for.

    Returns:
        Arguments of `export` that say the same.

    Raises:
        TypeError: torch.onnx.export never had one of them.
    """
    instead: dict[str, Any] = {}
    for name, value in arguments.items():
        if name == "use_external_data_format":
            _changed(name, "is read as `external_data=`", "torch.onnx renamed it")
            # False was its default: files above 2 GB need their weights outside all the same.
            instead["external_data"] = True if value else None
        elif name == "export_options":
            hint = "is read as `dynamic_shapes=` and `custom_translation_table=`"
            _changed(name, hint, "torch.onnx removed it")
            instead.update(of_options(value))
        elif name in ARGUMENTS:
            warn(messages.NoEffectHere(argument=name, reason=ARGUMENTS[name], span=user_span()))
        else:
            raise unknown_keyword("export", name, supported)
    return instead


def _changed(name: str, effect: str, reason: str) -> None:
    hint = "write the new argument"
    warning = messages.NoEffectHere(
        argument=name, effect=effect, reason=reason, hint=hint, span=user_span()
    )
    warn(warning)


@dataclass
class OnnxRegistry:
    """Functions for operators of PyTorch, as torch.onnx had it beside `dynamo_export`.

    Fields:
        opset_version: the version of the standard opset.
        table: full name of an operator -> functions.
    """

    opset_version: int = 18
    table: dict[str, list[Callable[..., Any]]] = field(default_factory=dict)

    def register_op(
        self,
        function: Callable[..., Any],
        namespace: str,
        op_name: str,
        overload: str | None = None,
        is_complex: bool = False,
    ) -> None:
        """Register a function for an operator.

        Args:
            function: as a value of `custom_translation_table`.
            namespace, op_name, overload: its name, such as "aten", "add", "Tensor".
            is_complex: whether it is for complex tensors; those are not registered.
        """
        if is_complex:
            return
        ending = f".{overload}" if overload and overload != "default" else ""
        self.table.setdefault(f"{namespace}::{op_name}{ending}", []).append(function)

    def is_registered_op(self, namespace: str, op_name: str, overload: str | None = None) -> bool:
        """Whether a function was registered for an operator here."""
        ending = f".{overload}" if overload and overload != "default" else ""
        return f"{namespace}::{op_name}{ending}" in self.table


@dataclass
class ExportOptions:
    """Options of `dynamo_export`, as torch.onnx had them.

    Fields:
        dynamic_shapes: whether every axis may have another size at run time.
        op_level_debug, diagnostic_options: no effect.
        fake_context: no effect: modules with fake weights are exported as they are.
        onnx_registry: functions for operators.
    """

    dynamic_shapes: bool | None = None
    op_level_debug: bool | None = None
    fake_context: Any = None
    onnx_registry: OnnxRegistry | None = None
    diagnostic_options: Any = None


def of_options(options: Any) -> dict[str, Any]:
    """`ExportOptions` as arguments of `export`.

    Returns:
        Arguments by name.
    """
    arguments: dict[str, Any] = {}
    if getattr(options, "dynamic_shapes", None):
        arguments["dynamic_shapes"] = "auto"
    registry = getattr(options, "onnx_registry", None)
    if registry is not None:
        arguments["custom_translation_table"] = dict(registry.table)
        arguments["opset_version"] = registry.opset_version
    return arguments
