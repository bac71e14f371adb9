"""Models on disk: weights inside, or beside the model in one file or many, never half-written."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx_ir as ir

from onnxwright.exporter import checks
from onnxwright.exporter.shown import shown
from onnxwright.ir.reading import form_of
from onnxwright.ir.saving import in_form, point_to, write_tensor, write_weights
from onnxwright.ir.serialize import to_proto
from onnxwright.ir.writing import Save, data_of

# A file of protobuf holds 2 GB; what is not weights needs some of it.
FILE_LIMIT = 1_500_000_000
_ONE_AT_A_TIME = threading.RLock()
_CHOICES = "choose True (one file beside the model), 'per_tensor', False or None"


def weight_bytes(model: ir.Model) -> int:
    """The bytes of all initializers of a model."""
    return sum(v.const_value.nbytes for v in _weights(model))


def _weights(model: ir.Model) -> Iterator[Any]:
    for graph in (model.graph, *(f.graph for f in model.functions.values())):
        for value in graph.initializers.values():
            if value.const_value is not None:
                yield value


def target_of(path: Any, destination: Any) -> Any:
    """Where a model is written: a `Path`, or a file object.

    Raises:
        TypeError: none or two are given.
    """
    targets = [x for x in (path, destination) if x is not None]
    if len(targets) != 1:
        raise TypeError("save() takes one path or file object")
    return targets[0] if hasattr(targets[0], "write") else Path(targets[0])


def save_into(model: ir.Model, file: Any, data: Any, **options: Any) -> None:
    """Write a model with its weights into a file object.

    Args:
        data: what says that weights go elsewhere.

    Raises:
        ExportValueError: weights cannot go beside a file object, or do not fit in the model.
    """
    if data:
        hint = "give a path, or leave `external_data` and `location` out"
        checks.raise_bad_argument(
            "external_data", "a file object has no place for files beside it", hint
        )
    with tempfile.TemporaryDirectory() as folder:
        path = save(model, Path(folder) / "model.onnx", external_data=False, **options)
        file.write(path.read_bytes())


def _check_location(location: Any, external_data: Any) -> None:
    if location is None:
        return
    if external_data in (False, "per_tensor"):
        checks.raise_bad_argument(
            "location",
            f"it names one data file, and `external_data` is {shown(external_data)}",
            "leave one of the two out",
        )
    if not isinstance(location, str) or not _is_below(location):
        checks.raise_bad_argument(
            "location",
            f"{shown(location)} is not the path of a file below the model's folder",
            "give a name, or a path with slashes: 'model.data', 'weights/model.data'",
        )


def _is_below(location: str) -> bool:
    """Whether every part of a path is a plain name, on any operating system."""
    return not any(part in ("", ".", "..") for part in location.split("/")) and not (
        set(location) & set("\\:\0")
    )


def save(
    model: ir.Model,
    path: Path,
    *,
    external_data: bool | str | None = None,
    location: str | None = None,
    threshold: int = 1024,
    include_initializers: bool = True,
    keep_initializers_as_inputs: bool = False,
) -> Path:
    """Write a model; the arguments are those of `ONNXProgram.save`.

    Args:
        model: the model; it is the same afterwards.
        path: where to; `.json`, `.textproto` and `.onnxtxt` are forms in text, which hold their
            weights.
        location: the path of their file below the model's folder; it replaces a file of that name.
        threshold: weights of fewer bytes stay in the model.

    Raises:
        ExportValueError: the options contradict each other, or the model does not fit in a file.
        OSError: the file cannot be written.
    """
    if external_data not in (None, True, False, "per_tensor"):
        checks.raise_bad_argument(
            "external_data",
            f"{shown(external_data)} is not a way to write weights",
            _CHOICES,
        )
    if type(threshold) is not int or threshold < 0:
        hint = "give the bytes from which on a weight is written beside the model: 1024"
        checks.raise_bad_argument(
            "threshold",
            f"{shown(threshold)} is not a number of bytes",
            hint,
        )
    _check_location(location, external_data)
    form = form_of(path)
    if form != "protobuf":
        external_data = False  # a form in text holds its weights
    elif location is not None:
        external_data = True
    size = weight_bytes(model) if include_initializers else 0
    if external_data is None:
        external_data = size > FILE_LIMIT
    if external_data is False and size > FILE_LIMIT:
        checks.raise_bad_argument(
            "external_data",
            f"the weights take {size / 1e9:.1f} GB, a model file holds 2 GB",
            _CHOICES,
        )
    # The model is changed while it is written: threads that save one program take turns.
    with _ONE_AT_A_TIME, Save(path) as files:
        kept = [(v, v.const_value) for v in _weights(model)]
        inputs = list(model.graph.inputs)
        try:
            if not include_initializers:
                _leave_out(model)
            elif external_data:
                _write_weights(model, threshold, external_data == "per_tensor", files, location)
            if keep_initializers_as_inputs:
                model.graph.inputs.extend(model.graph.initializers.values())
            data = in_form(to_proto(model), form)
        finally:
            _restore(model, kept, inputs)
        files.commit(data, keep=data_of(tensor for _, tensor in kept))
    return path


def _leave_out(model: ir.Model) -> None:
    """Weights become inputs of the graph, without numbers; constants of the code stay."""
    for name, value in list(model.graph.initializers.items()):
        if type(value.const_value) is not ir.Tensor:
            model.graph.inputs.append(value)
            del model.graph.initializers[name]


def _restore(model: ir.Model, kept: list[tuple[Any, Any]], inputs: list[Any]) -> None:
    for value, tensor in kept:
        value.const_value = tensor
        if value.name not in value.graph.initializers if value.graph is not None else False:
            value.graph.initializers[value.name] = value
    if list(model.graph.inputs) != inputs:
        model.graph.inputs.clear()
        model.graph.inputs.extend(inputs)


def _write_weights(
    model: ir.Model, threshold: int, per_tensor: bool, files: Save, name: str | None
) -> None:
    """Write large weights to temporary files, and let the model point where they will be."""
    large = [v for v in _weights(model) if _goes_out(v.const_value, threshold)]
    if not large:
        return
    if per_tensor:
        _one_file_each(large, files)
        return
    write_weights(large, files, name)


def _goes_out(tensor: Any, threshold: int) -> bool:
    """Whether a tensor is written beside the model; what shapes are read from stays inside."""
    of_shapes = tensor.dtype == ir.DataType.INT64 and tensor.nbytes <= 1024
    return tensor.nbytes >= threshold and tensor.nbytes > 0 and not of_shapes


def _one_file_each(large: list[Any], files: Save) -> None:
    folder, names = files.data_folder(), []
    for n, value in enumerate(large):
        safe = "".join(c if c.isalnum() or c in "._-" else "_" for c in str(value.name))
        name = f"{n:05d}_{safe.encode()[:100].decode(errors='ignore')}.bin"
        with (folder / name).open("wb") as file:
            write_tensor(value.const_value, file)
        names.append(name)
    location = files.location(folder)
    for value, name in zip(large, names, strict=True):
        point_to(value, f"{location}/{name}", 0, files)
