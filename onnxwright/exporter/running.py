"""An ONNX Runtime session over a model whose weights stay where they are."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx_ir as ir

from onnxwright.eager.models import CompiledModel
from onnxwright.exporter import saving

# Weights together up to this go to the runtime inside the model's bytes.
_SMALL = 256 * 1024 * 1024


class Session:
    """A session for a model; one with large weights is read from a temporary file.

    Args:
        model: the model.
        providers: execution providers; the CPU if not given.
        session_options: an `onnxruntime.SessionOptions`.
    """

    def __init__(
        self,
        model: ir.Model,
        *,
        providers: Sequence[Any] | None = None,
        session_options: Any = None,
    ) -> None:
        options: dict[str, Any] = {"providers": providers, "session_options": session_options}
        if saving.weight_bytes(model) <= _SMALL:
            self.compiled = CompiledModel(ir.to_proto(model), **options)
        else:
            with tempfile.TemporaryDirectory(prefix="onnxwright-") as folder:
                path = saving.save(model, Path(folder) / "model.onnx", external_data=True)
                self.compiled = CompiledModel(str(path), **options)

    @property
    def session(self) -> Any:
        """The `onnxruntime.InferenceSession`."""
        return self.compiled.session

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """Run the model.

        Args:
            feeds: an array for each input.

        Returns:
            The outputs in the model's order.
        """
        return self.compiled.run(self.compiled._bind((), feeds))
