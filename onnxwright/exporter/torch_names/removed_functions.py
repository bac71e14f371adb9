"""Functions that torch.onnx had once; a warning (OW891) says what replaced them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import torch_names as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.exporter.program.torch_program import TorchONNXProgram
from onnxwright.exporter.torch_names.export import export
from onnxwright.exporter.torch_names.removed_arguments import of_options


def dynamo_export(
    model: Any, /, *model_args: Any, export_options: Any = None, **model_kwargs: Any
) -> TorchONNXProgram:
    """Export a model as `torch.onnx.dynamo_export` did; a warning (OW891) says what replaced it.

    Args:
        model: a module or a function.
        *model_args, **model_kwargs: its example inputs.
        export_options: an `ExportOptions`.

    Returns:
        The program.

    Raises:
        ExportError: as for `onnxwright.export`.

    Source:
        torch.onnx.dynamo_export of PyTorch 2.1 to 2.8.
    """
    _replaced("dynamo_export", "`torch_onnx.export(model, args, kwargs=..., dynamic_shapes=...)`")
    return export(model, model_args, kwargs=model_kwargs or None, **of_options(export_options))


def export_with_outputs(model: Any, args: Any = (), f: Any = None, **arguments: Any) -> Any:
    """Export a model as `torch.onnx._export` did; a warning (OW891) says what replaced it.

    Args:
        model, args, f, **arguments: as for `export`.

    Returns:
        The outputs of the model for the example inputs.
    """
    _replaced("_export", "`torch_onnx.export(model, args, f)`, and `model(*args)` for the outputs")
    export(model, args, f, **arguments)
    with torch.no_grad():
        return model(*(args if isinstance(args, tuple) else (args,)))


def export_to_pretty_string(model: Any, args: Any = (), **arguments: Any) -> str:
    """A model as text; a warning (OW891) says what replaced it.

    Args:
        model, args, **arguments: as for `export`.

    Returns:
        The listing of the exported model.
    """
    _replaced("export_to_pretty_string", "`str(torch_onnx.export(model, args).model)`")
    return str(export(model, args, **arguments).model)


@contextmanager
def enable_fake_mode() -> Iterator[Any]:
    """Modules made here have weights without data, as torch.onnx had it for `dynamo_export`.

    Returns:
        The mode, for `ExportOptions(fake_context=...)`.
    """
    _replaced("enable_fake_mode", '`with torch.device("meta"):`')
    with torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True) as mode:
        yield mode


def _replaced(name: str, instead: str) -> None:
    warn(messages.RemovedFromTorchOnnx(name=name, instead=instead, span=user_span()))
