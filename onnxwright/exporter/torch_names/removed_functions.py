"""Names that torch.onnx had once: what a call of them says to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import torch_names as messages
from onnxwright.diagnostics.diagnostic import fail

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
