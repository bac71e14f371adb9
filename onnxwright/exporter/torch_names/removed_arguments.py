"""Arguments that torch.onnx.export had once, and what they are here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import torch_names as messages
from onnxwright.diagnostics.diagnostic import fail, warn
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
            warn(
                messages.NoEffectHere(
                    argument=name,
                    effect="is read as `external_data=`",
                    reason="torch.onnx renamed it",
                    hint="write the new argument",
                    span=user_span(),
                )
            )
            # False was its default: files above 2 GB need their weights outside all the same.
            instead["external_data"] = True if value else None
        elif name in ARGUMENTS:
            warn(messages.NoEffectHere(argument=name, reason=ARGUMENTS[name], span=user_span()))
        else:
            raise unknown_keyword("export", name, supported)
    return instead


# -- names that torch.onnx had once: what a call of them says to write instead ---------------------

_TABLE = "`custom_translation_table={'aten::relu': function}` of `torch_onnx.export`"
# Until PyTorch 2.8, or earlier.
_INSTEAD = {
    "dynamo_export": "`torch_onnx.export(model, args, kwargs=..., dynamic_shapes=...)`",
    "ExportOptions": f"`dynamic_shapes='auto'`, and {_TABLE}",
    "OnnxRegistry": _TABLE,
    "enable_fake_mode": '`with torch.device("meta"):`',
    "_export": "`torch_onnx.export(model, args, f)`, and `model(*args)` for the outputs",
    "export_to_pretty_string": "`str(torch_onnx.export(model, args).model)`",
}


def removed(name: str) -> Callable[..., NoReturn]:
    """A function whose call is refused with what replaced it (OW891).

    Args:
        name: a name that torch.onnx had.
    """

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        fail(messages.RemovedFromTorchOnnx(name=name, instead=_INSTEAD[name], span=user_span()))

    refuse.__name__ = refuse.__qualname__ = name
    return refuse
