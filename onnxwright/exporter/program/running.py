"""An ONNX Runtime session over a model whose weights stay where they are."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir
import torch

from onnxwright.eager.ort.compiled_models import CompiledModel
from onnxwright.eager.ort.sessions import model_options
from onnxwright.exporter.program import saving
from onnxwright.optimizer.weight_sources import is_missing
from onnxwright.types.dtypes import DType

# Initializers of at least so many bytes are handed to the runtime as memory, not as text.
_LARGE = 1024
# So many bytes of weights that would have to be copied in memory go through a file instead.
_MANY = 64 * 1024 * 1024
_ALIGNMENT = 4096
# Where a model that is given as bytes has its external data.
_FOLDER = "session.model_external_initializers_file_folder_path"


class Session:
    """A session for a model; the runtime reads large weights from the memory they are in.

    Weights that would have to be copied for that (those stored transposed, those made of others)
    go through a file of their own instead where they are many: the runtime maps it, packs one
    weight after the other, and lets go of each.  With options of the user's all large weights do.

    Args:
        model: the model; it is the same afterwards.
        providers: execution providers; the CPU if not given.
        session_options: an `onnxruntime.SessionOptions`.
        initializer: makes the session of the bytes of the model, or of its path where the weights
            do not fit in one file; no options are given beside it.
    """

    def __init__(
        self,
        model: ir.Model,
        *,
        providers: Sequence[Any] | None = None,
        session_options: Any = None,
        initializer: Callable[[Any], Any] | None = None,
    ) -> None:
        if initializer is not None:
            self._initialize(model, initializer)
            return
        proto, taken = hollow(model)
        copied = {name: t for name, t in taken.items() if not _is_shared(t)}
        # The runtime takes initializers of less than a byte from files only.
        packed = {name: t for name, t in taken.items() if t.dtype.bitwidth < 8}
        if session_options is not None:
            # Options keep what is added to them: those of the user may serve other models, too.
            copied = taken
        elif sum(t.nbytes for t in copied.values()) < _MANY:
            copied = packed
        else:
            copied |= packed
        weights = {n: (t.numpy(), _dtype(t)) for n, t in taken.items() if n not in copied}
        source: Any = proto
        options = session_options if session_options is not None else model_options()
        folder: tempfile.TemporaryDirectory[str] | None = None
        if copied:
            folder = tempfile.TemporaryDirectory(
                prefix="onnxwright-", ignore_cleanup_errors=os.name == "nt"
            )
        try:
            if folder is not None:
                _write(proto, copied, Path(folder.name))
                if session_options is None:
                    options.add_session_config_entry(_FOLDER, folder.name)
                else:
                    source = Path(folder.name) / "model.onnx"
                    source.write_bytes(proto.SerializeToString())
            self.compiled = CompiledModel(
                source, providers=providers, session_options=options, weights=weights
            )
        finally:
            _let_go(folder)
            self._folder = folder

    def _initialize(self, model: ir.Model, initializer: Callable[[Any], Any]) -> None:
        """Let a function of the user's make the session."""
        self._folder = None
        if saving.weight_bytes(model) <= saving.FILE_LIMIT:
            data = ir.to_proto(model).SerializeToString()
            self.compiled = CompiledModel.of_session(initializer(data), data)
            return
        folder = tempfile.TemporaryDirectory(
            prefix="onnxwright-", ignore_cleanup_errors=os.name == "nt"
        )
        try:
            path = saving.save(model, Path(folder.name) / "model.onnx", external_data=True)
            self.compiled = CompiledModel.of_session(initializer(str(path)), path)
        finally:
            _let_go(folder)
        self._folder = folder

    @property
    def session(self) -> Any:
        """The `onnxruntime.InferenceSession`."""
        return self.compiled.session

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """Run the model."""
        return self.compiled.run(self.compiled._bind((), feeds))


def _let_go(folder: tempfile.TemporaryDirectory[str] | None) -> None:
    """Remove a folder: a mapped file can be read after it is unlinked, except on Windows."""
    if folder is not None and os.name != "nt":
        folder.cleanup()


def _dtype(tensor: Any) -> DType:
    return DType(int(tensor.dtype))


def _is_shared(tensor: Any) -> bool:
    """Whether a tensor can be read from the memory it is in."""
    raw = getattr(tensor, "raw", None)
    if isinstance(raw, torch.Tensor):
        return bool(raw.is_contiguous()) and raw.device.type == "cpu"
    return not isinstance(tensor, ir.LazyTensor)


def _write(proto: onnx.ModelProto, tensors: Mapping[str, Any], folder: Path) -> None:
    """Write tensors to a file, and say in a model where each of them is."""
    entries = {i.name: i.external_data for i in proto.graph.initializer}
    with (folder / "weights").open("wb") as file:
        for name, tensor in tensors.items():
            file.seek(-(-file.tell() // _ALIGNMENT) * _ALIGNMENT)
            for entry in entries[name]:
                if entry.key == "offset":
                    entry.value = str(file.tell())
            tensor.tofile(file)


def hollow(model: ir.Model) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """A model as a proto that only names large initializers, and their tensors; none is read."""
    taken: dict[str, Any] = {}
    kept: list[tuple[Any, Any]] = []
    for name, value in model.graph.initializers.items():
        tensor = value.const_value
        if tensor is None or tensor.dtype == ir.DataType.STRING:
            continue
        held = tensor.nbytes < _LARGE and not isinstance(tensor, ir.ExternalTensor)
        if held and not is_missing(tensor):
            continue
        taken[str(name)] = tensor
        kept.append((value, tensor))
        value.const_value = ir.ExternalTensor(
            "weights",
            0,
            tensor.nbytes,
            tensor.dtype,
            shape=ir.Shape(list(value.shape or ())),
            name=str(name),
        )
    try:
        return ir.to_proto(model), taken
    finally:
        for value, tensor in kept:
            value.const_value = tensor
