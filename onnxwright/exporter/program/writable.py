"""Give an exported model away: as a file, a `ModelProto`, Python or a picture; load its weights."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, overload

import onnx_ir as ir
from typing_extensions import Unpack

from onnxwright.exporter.capture.pipeline import Captured
from onnxwright.exporter.program import saving
from onnxwright.exporter.program.runnable import RunnableProgram
from onnxwright.exporter.program.running import hollow
from onnxwright.exporter.program.without_data import with_weights_of_module
from onnxwright.exporter.translate.building import Built, Settings
from onnxwright.exporter.weights import initializers as weights_of_program

if TYPE_CHECKING:
    import onnx

    from onnxwright.decompiler.api import ScriptTextOptions
    from onnxwright.viz.showing import Shown


class WritableProgram(RunnableProgram):
    """An exported model that can be saved, shown and written as Python.

    Args:
        built, captured, settings: as `RunnableProgram` takes them.
    """

    def __init__(self, built: Built, captured: Captured, settings: Settings) -> None:
        super().__init__(built, captured, settings)
        # Where `save` puts weights by default.
        self.external_data: bool | str | None = None

    def _repr_html_(self) -> str:
        """What a notebook shows: the model's figures and its picture."""
        return self.show()._repr_html_()

    @property
    def model_proto(self) -> onnx.ModelProto:
        """The model as a ModelProto, weights included."""
        self._check_weights()
        proto: onnx.ModelProto = ir.to_proto(self.model)
        return proto

    def show(self, *, dims: Mapping[str, int] | None = None) -> Shown:
        """The model as a typed listing, figures and a picture.

        Args:
            dims: sizes of symbolic dimensions, for the estimates.

        Returns:
            What `onnxwright.show` gives for the model.

        Example:
            >>> import torch
            >>> from onnxwright.exporter import export
            >>> program = export(torch.nn.ReLU(), (torch.ones(2),))
            >>> program.show().summary.operators
            {'Relu': 1}
        """
        from onnxwright.viz import show

        model = hollow(self.model)[0] if self._missing_weights() else self.model
        return show(model, dims=dims)

    def to_script(self, **options: Unpack[ScriptTextOptions]) -> str:
        """The model as Python that compiles to it again.

        Args:
            options: as `onnxwright.to_script` takes them; `weights="npz"` or `"external"` where
                the weights are large.

        Returns:
            The text of a module.

        Raises:
            ScriptValueError: the weights have no data, or the options do not fit.

        Example:
            >>> import torch
            >>> from onnxwright.exporter import export
            >>> program = export(torch.nn.ReLU(), (torch.ones(2),))
            >>> "op.Relu(" in program.to_script()
            True
        """
        from onnxwright.decompiler import to_script

        self._check_weights()
        return to_script(self.model, **options)

    def apply_weights(self, weights: Any) -> None:
        """Load the weights of a model exported with fake or meta tensors, or replace them.

        Args:
            weights: a state dict; the path of a `.safetensors` or `.pt` file; or a list of such
                paths.  Files are mapped into memory, not read whole.

        Raises:
            ExportValueError: a weight is unknown, or has another shape or type (OW825).

        Source:
            The safetensors format; torch.load with mmap.

        Example:
            >>> import torch
            >>> from onnxwright.exporter import export
            >>> program = export(
            ...     torch.nn.Linear(2, 1, device="meta"), (torch.ones(1, 2, device="meta"),)
            ... )
            >>> program.apply_weights({"weight": torch.ones(1, 2), "bias": torch.zeros(1)})
            >>> program(torch.ones(1, 2))
            tensor([[2.]])
        """
        weights_of_program.apply(self.model, self._built.weights, weights)
        self.release()

    @overload
    def save(
        self,
        path: str | os.PathLike[str],
        *,
        external_data: bool | str | None = None,
        location: str | None = None,
        threshold: int = 1024,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
    ) -> Path: ...
    @overload
    def save(
        self,
        path: BinaryIO,
        *,
        threshold: int = 1024,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
    ) -> None: ...
    @overload
    def save(
        self,
        *,
        destination: str | os.PathLike[str],
        external_data: bool | str | None = None,
        location: str | None = None,
        threshold: int = 1024,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
    ) -> Path: ...
    def save(
        self,
        path: Any = None,
        *,
        destination: Any = None,
        external_data: bool | str | None = None,
        location: str | None = None,
        threshold: int = 1024,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
    ) -> Path | None:
        """Write the model.

        Args:
            path: where to: a path, or a binary file object, which takes a model with its weights.
            destination: the same, as torch.onnx calls it.
            external_data: True: weights beside the model in one file `NAME.data`; "per_tensor":
                one file a weight in a folder `NAME.weights`; False: everything in the model; None:
                beside it where the model would be larger than 1.5 GB.
            location: the data file, for `external_data=True`: a name, or a path below the model's
                folder (`"weights/model.data"`), whose folders are made if needed.
            threshold: weights of fewer bytes stay in the model.
            include_initializers: write the weights at all; without them they are inputs, with
                the names and shapes that they have in the module.
            keep_initializers_as_inputs: list weights as inputs too.

        Returns:
            The path, None for a file object.  Files of an earlier save with other options stay.

        Raises:
            ExportValueError: the options contradict each other, the model does not fit in one
                file, or it was changed so that its weights are not those of the module (OW825).
            OSError: the file cannot be written; files of before are left as they were.

        Example:
            >>> import torch
            >>> from onnxwright.exporter import export
            >>> program = export(torch.nn.ReLU(), (torch.ones(2),))
            >>> program.save("relu.onnx").name
            'relu.onnx'
        """
        model = self.model if include_initializers else with_weights_of_module(self)
        if include_initializers:
            self._check_weights()
        options: dict[str, Any] = {
            "threshold": threshold,
            "include_initializers": include_initializers,
            "keep_initializers_as_inputs": keep_initializers_as_inputs,
        }
        target = saving.target_of(path, destination)
        if not isinstance(target, Path):
            saving.save_into(model, target, external_data or location, **options)
            return None
        data = self.external_data if external_data is None else external_data
        return saving.save(model, target, external_data=data, location=location, **options)
