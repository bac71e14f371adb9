"""Messages about models that cannot be read: damaged, contradictory or too large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onnxwright.diagnostics.diagnostic import Diagnostic
from onnxwright.errors import ModelError, ModelTypeError, OnnxwrightError


@dataclass(frozen=True, kw_only=True)
class ModelNotReadable(Diagnostic):
    """A model file is missing, or does not hold a model."""

    code: ClassVar[str] = "OW741"
    title: ClassVar[str] = "{path} is not an ONNX model that can be read"
    label: ClassVar[str] = "given here"
    help: ClassVar[str] = "{reason}"
    error: ClassVar[type[OnnxwrightError]] = ModelError
    path: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class DamagedModel(Diagnostic):
    """The base of messages about one part of a model."""

    label: ClassVar[str] = "given here"
    help: ClassVar[str] = "{advice}"
    error: ClassVar[type[OnnxwrightError]] = ModelError
    where: str
    what: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class ExternalDataNotReadable(DamagedModel):
    """The file with a tensor's data is missing, too short, or not inside the model's folder."""

    code: ClassVar[str] = "OW743"
    title: ClassVar[str] = "tensor data cannot be read: {where}: {what}"


@dataclass(frozen=True, kw_only=True)
class InvalidModel(DamagedModel):
    """A model contradicts itself: a value is defined twice or never, or nodes form a cycle."""

    code: ClassVar[str] = "OW744"
    title: ClassVar[str] = "invalid model: {where}: {what}"


@dataclass(frozen=True, kw_only=True)
class InvalidTensor(DamagedModel):
    """The data of a tensor does not fit its element type and shape."""

    code: ClassVar[str] = "OW750"
    title: ClassVar[str] = "invalid tensor: {where}: {what}"


@dataclass(frozen=True, kw_only=True)
class ModelTooLarge(DamagedModel):
    """A model is nested too deeply, or grows without limit when its functions are inlined."""

    code: ClassVar[str] = "OW751"
    title: ClassVar[str] = "model too large: {where}: {what}"


@dataclass(frozen=True, kw_only=True)
class TrainingLeftOut(Diagnostic):
    """The training information of a model (`training_info`) is not in what a tool makes of it."""

    code: ClassVar[str] = "OW884"
    severity: ClassVar[str] = "warning"
    title: ClassVar[str] = "the training information of the model is left out"
    label: ClassVar[str] = "changed here"
    help: ClassVar[str] = (
        "inference is not affected; keep the original model for its `training_info`, the graphs "
        "of its initialization and training algorithm"
    )
    error: ClassVar[type[OnnxwrightError]] = ModelError


TAKEN = (
    "give the path of a model, its bytes, a file opened in binary mode, a ModelProto, an "
    "onnx_ir.Model, an ONNXProgram (that of torch.onnx too), a @script function or a GraphBuilder"
)
"""The kinds of models that every function takes which takes a model."""


@dataclass(frozen=True, kw_only=True)
class NotAModel(Diagnostic):
    """An object that is neither a model nor the path or the bytes of one."""

    code: ClassVar[str] = "OW752"
    title: ClassVar[str] = "{expected} is expected, not {what}"
    label: ClassVar[str] = "given here"
    help: ClassVar[str] = "{taken}\n{advice}"
    error: ClassVar[type[OnnxwrightError]] = ModelTypeError
    what: str
    expected: str = "a model"
    taken: str = TAKEN
    advice: str | None = None
