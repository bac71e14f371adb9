"""What ONNX Runtime reads of a model: bytes or a path, and the weights that are elsewhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
import onnx.inliner

from onnxwright.eager.ort import values as ort_values
from onnxwright.eager.ort.function_names import with_own_names
from onnxwright.eager.ort.model_failures import model_failed
from onnxwright.eager.ort.rank_guards import UnreadableError, with_rank_guards
from onnxwright.ir.loading import checked_for_runtime, held_by, open_light, open_model
from onnxwright.ir.reading import form_of, serialized
from onnxwright.ir.validation.functions import expanded_calls
from onnxwright.types.dtypes import DType

# Above this many bytes of weights in memory, a model does not go to the runtime as one message.
LIMIT = 1_500_000_000
# With more calls of functions, counted once all are expanded, they are inlined before.
_MANY_CALLS = 8192
_FOLDER = "session.model_external_initializers_file_folder_path"


@dataclass(frozen=True)
class ModelSource:
    """What a session is made of.

    Fields:
        proto: the model, to find which node failed; None where it is not kept.
        data: its bytes, or the path of its file.
        folder: where the external data of bytes is.
        weights: arrays of initializers that the bytes only name.
    """

    proto: Any
    data: bytes | str
    folder: Path | None = None
    weights: Mapping[str, tuple[Any, DType]] = field(default_factory=dict)

    def configure(self, options: Any) -> object:
        """Let a session find the weights that are not in the bytes.

        Args:
            options: the `SessionOptions`; they are changed.

        Returns:
            What must stay alive as long as the session.
        """
        if self.folder is not None:
            options.add_session_config_entry(_FOLDER, utf8_path(self.folder))
        return ort_values.add_initializers(options, self.weights) if self.weights else None


def source_of(model: Any, external: str = "needed", *, more_operators: bool = False) -> ModelSource:
    """What a session of a model is made of; large weights of an `onnx_ir.Model` are not copied.

    Args:
        model: a model of any kind (see `ow.load`).
        external: how data in other files is checked, as for `open_model`.
        more_operators: whether a library gives the runtime more operators.

    Raises:
        ModelError: the model is damaged.
        EagerError: the runtime would end the process for it (OW622).
    """
    model = held_by(model)
    if isinstance(model, (str, os.PathLike)) and os.fsdecode(model).endswith(".ort"):
        return ModelSource(None, os.fsdecode(model))  # a format that only the runtime reads
    graph = getattr(model, "graph", None)
    held = getattr(graph, "initializers", None)
    tensors = [v.const_value for v in held.values()] if held is not None else []
    if sum(t.nbytes for t in tensors if t is not None and not hasattr(t, "base_dir")) > LIMIT:
        opened, named = open_light(model)
        checked_for_runtime(opened.proto, more_operators=more_operators)
        weights = {k: (t.numpy(), DType(int(t.dtype))) for k, t in named.items()}
        guarded = _guarded(opened.proto)
        return ModelSource(opened.proto, serialized(guarded), opened.base, weights)
    opened = open_model(model, external=external)
    checked_for_runtime(opened.proto, more_operators=more_operators)
    guarded = _guarded(opened.proto)
    if guarded is not opened.proto:
        kept = None if opened.path is not None or isinstance(model, bytes) else opened.proto
        base = opened.base if opened.path is None else opened.path.parent
        return ModelSource(kept, serialized(guarded), base)
    if opened.path is not None and form_of(opened.path) == "protobuf":
        return ModelSource(None, utf8_path(opened.path))
    if opened.path is not None:  # a form in text, which the runtime does not read
        return ModelSource(None, serialized(opened.proto), opened.path.parent)
    if isinstance(model, bytes):
        return ModelSource(None, model)
    return ModelSource(opened.proto, serialized(opened.proto), opened.base)


def _guarded(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model as the runtime takes it, or one that fails where the runtime would end."""
    try:
        return with_rank_guards(_flat(model))
    except UnreadableError as error:
        model_failed("ONNX Runtime", "cannot run", model, error)


def _flat(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model, or one without functions: the runtime takes the square of their number in time."""
    if not model.functions or expanded_calls(model) <= _MANY_CALLS:
        return with_own_names(model)
    return onnx.inliner.inline_local_functions(model)


def utf8_path(path: Path) -> str:
    """A path as the runtime takes it: in UTF-8, whatever the locale is."""
    try:
        return os.fsencode(path).decode("utf-8")
    except UnicodeDecodeError:
        return str(path)
