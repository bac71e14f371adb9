"""Weights of an exported program: which initializer holds which, and numbers given later."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
import torch

from onnxwright.exporter import checks
from onnxwright.exporter.torch_types import onnx_tensor
from onnxwright.exporter.weights.wrappers import all_inner_tensors
from onnxwright.optimizer import weight_sources
from onnxwright.optimizer.weight_sources import is_missing

_SAFETENSORS_DTYPES = {
    "F64": "DOUBLE",
    "F32": "FLOAT",
    "F16": "FLOAT16",
    "BF16": "BFLOAT16",
    "I64": "INT64",
    "I32": "INT32",
    "I16": "INT16",
    "I8": "INT8",
    "U8": "UINT8",
    "BOOL": "BOOL",
    "F8_E4M3": "FLOAT8E4M3FN",
    "F8_E5M2": "FLOAT8E5M2",
}


def missing_weights(model: ir.Model) -> list[str]:
    """The names of the weights that have no numbers yet."""
    return [name for name, tensor in weight_sources.sources(model).items() if is_missing(tensor)]


def apply(model: ir.Model, names: Mapping[str, str], weights: Any) -> None:
    """Put numbers into the initializers of a model, and into those that are made of them.

    Args:
        names: the name of a weight in the state dict -> the name of its initializer.
        weights: a state dict, the path of a `.safetensors` or `.pt` file, or a list of paths;
            files are mapped into memory, never read whole.

    Raises:
        ExportValueError: a weight is unknown, or has another shape or type.
    """
    sources = weight_sources.sources(model)
    arrays: dict[str, Any] = {}
    for name, tensor in _entries(weights):
        target = names.get(name)
        if target is None:
            checks.raise_bad_argument(
                "weights",
                f"the model has no weight `{name}`",
                _near(name, names),
            )
        old = sources.get(target)
        if old is None:
            continue  # nothing in the model uses it
        if tuple(tensor.shape) != tuple(old.shape):
            checks.raise_bad_argument(
                "weights",
                f"`{name}` has shape {list(tensor.shape)}, the model has {list(old.shape)}",
                "give the weights of the model that was exported",
            )
        if tensor.dtype != old.dtype:
            checks.raise_bad_argument(
                "weights",
                f"`{name}` is {tensor.dtype.name}, the model has {old.dtype.name}",
                "convert the weights, or export the model in their type",
            )
        arrays[target] = tensor
    # Only when all of them fit: an error leaves the model as it was.
    weight_sources.load_weights(model, arrays)


def _near(name: str, names: Iterable[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, list(names), 1)
    return f"did you mean `{near[0]}`?" if near else "give the state dict of the exported model"


def _entries(weights: Any) -> Iterator[tuple[str, Any]]:
    """Names and onnx_ir tensors, one file after another."""
    if isinstance(weights, Mapping):
        is_known = False
        for name, tensor in weights.items():
            if isinstance(tensor, np.ndarray):
                tensor = torch.from_numpy(tensor)
            if isinstance(tensor, torch.Tensor):
                is_known = True
                for part, inner in all_inner_tensors(name, tensor):
                    yield part, _held(inner, part)
        if weights and not is_known:
            keys = ", ".join(f"`{k}`" for k in list(weights)[:4])
            checks.raise_bad_argument(
                "weights",
                f"there is no tensor under {keys}",
                "give the state dict that is inside",
            )
        return
    if isinstance(weights, (str, Path)):
        weights = [weights]
    if not isinstance(weights, (list, tuple)):
        checks.raise_bad_argument(
            "weights",
            f"an object of type {type(weights).__name__}",
            "give a state dict (`module.state_dict()`), the path of a file, or a list of paths",
        )
    for path in weights:
        yield from _file(Path(path))


def _held(tensor: torch.Tensor, name: str) -> Any:
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    return onnx_tensor(tensor, name)


def _file(path: Path) -> Iterator[tuple[str, Any]]:
    if not path.is_file():
        checks.raise_bad_argument(
            "weights",
            f"there is no file `{path}`",
            "give the path of a .safetensors or .pt file",
        )
    if path.suffix == ".safetensors":
        yield from _safetensors(path)
        return
    try:
        tensors = torch.load(path, map_location="cpu", mmap=True, weights_only=True)
    except Exception as error:  # noqa: BLE001 - torch raises many kinds
        reason = str(error).strip().splitlines()[:1]
        checks.raise_bad_argument(
            "weights",
            f"`{path}` cannot be read ({''.join(reason)})",
            "write it with `torch.save`",
        )
    yield from _entries(tensors)


def _safetensors(path: Path) -> Iterator[tuple[str, Any]]:
    """Tensors of a safetensors file, by their place in it.

    Source: the safetensors format: 8 bytes of length, a JSON header, the data.
    """
    with path.open("rb") as file:
        start = file.read(8)
        (length,) = struct.unpack("<Q", start) if len(start) == 8 else (0,)
        if not 0 < length <= path.stat().st_size - 8:
            checks.raise_bad_argument(
                "weights",
                f"`{path}` is not a safetensors file",
                "the header is broken",
            )
        header = json.loads(file.read(length))
    base = 8 + length
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        dtype = _SAFETENSORS_DTYPES.get(entry["dtype"])
        if dtype is None:
            checks.raise_bad_argument(
                "weights",
                f"`{name}` has the type {entry['dtype']}",
                "ONNX has no such type",
            )
        yield (
            name,
            ir.ExternalTensor(
                path.name,
                base + begin,
                end - begin,
                ir.DataType[str(dtype)],
                shape=ir.Shape(entry["shape"]),
                name=name,
                base_dir=str(path.resolve().parent),
            ),
        )
