"""Messages about models that cannot be read: damaged, contradictory or too large."""

from __future__ import annotations

from onnxwright.diagnostics.diagnostic import Advised, Diagnostic
from onnxwright.errors import ModelError, ModelTypeError


class ModelNotReadable(Diagnostic):
    """A model file is missing, or does not hold a model."""

    code = "OW741"
    title = "{path} is not an ONNX model that can be read"
    label = "given here"
    help = "{reason}"
    error = ModelError
    path: str
    reason: str


class DamagedModel(Advised):
    """The base of messages about one part of a model."""

    label = "given here"
    error = ModelError
    where: str
    what: str


class ExternalDataNotReadable(DamagedModel):
    """The file with a tensor's data is missing, too short, or not inside the model's folder."""

    code = "OW743"
    title = "tensor data cannot be read: {where}: {what}"


class InvalidModel(DamagedModel):
    """A model contradicts itself: a value is defined twice or never, or nodes form a cycle."""

    code = "OW744"
    title = "invalid model: {where}: {what}"


class InvalidTensor(DamagedModel):
    """The data of a tensor does not fit its element type and shape."""

    code = "OW750"
    title = "invalid tensor: {where}: {what}"


class ModelTooLarge(DamagedModel):
    """A model is nested too deeply, or grows without limit when its functions are inlined."""

    code = "OW751"
    title = "model too large: {where}: {what}"


class TrainingLeftOut(Diagnostic):
    """The training information of a model (`training_info`) is not in what a tool makes of it."""

    code = "OW884"
    severity = "warning"
    title = "the training information of the model is left out"
    label = "changed here"
    help = (
        "inference is not affected; keep the original model for its `training_info`, the graphs "
        "of its initialization and training algorithm"
    )
    error = ModelError


class DataFileMissing(Diagnostic):
    """A model was saved that names a file of weights which does not exist."""

    code = "OW753"
    severity = "warning"
    title = "the saved model names a data file that does not exist: {files}"
    label = "saved here"
    help = (
        "{tensors} stored there: put the file beside the model; no runtime reads the model without "
        "it"
    )
    error = ModelError
    files: str
    tensors: str


class TextNotExact(Diagnostic):
    """A model cannot be written in ONNX's text form, because the text would be another model."""

    code = "OW754"
    title = "the model cannot be written as `.onnxtxt`: {where}: {what}"
    label = "saved here"
    help = (
        "save it as `.onnx`, which holds every model, or as `.json` or `.textproto` to read it; "
        "before 1.23, onnx writes six digits of a number as text"
    )
    error = ModelError
    where: str
    what: str


TAKEN = (
    "give the path of a model, its bytes, a file opened in binary mode, a ModelProto, an "
    "onnx_ir.Model, an ONNXProgram (that of torch.onnx too), a @script function or a GraphBuilder"
)
"""The kinds of models that every function takes which takes a model."""


class NotAModel(Diagnostic):
    """An object that is neither a model nor the path or the bytes of one."""

    code = "OW752"
    title = "{expected} is expected, not {what}"
    label = "given here"
    help = "{taken}\n{advice}"
    error = ModelTypeError
    what: str
    expected: str = "a model"
    taken: str = TAKEN
    advice: str | None = None
