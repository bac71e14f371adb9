"""A share of the corpus that needs no exporter: models without weights, in one file.

    python -m tests.optimizer.corpus.stored FOLDER

writes it from a folder that `python -m tests.optimizer.corpus FOLDER` wrote.  Weights are drawn
anew when a model is loaded, and so are inputs that are not integers.
"""

from __future__ import annotations

import argparse
import io
import math
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from tests.optimizer.corpus.cases import Case, load

FILE = Path(__file__).with_name("stored.zip")
_FEW = 16  # numbers that are part of the program, not weights
_FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE)


def stripped(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model without the numbers of its weights and without notes."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.metadata_props[:]
    copy.ClearField("doc_string")
    copy.graph.ClearField("doc_string")
    del copy.graph.metadata_props[:]
    for node in (*copy.graph.node, *(n for f in copy.functions for n in f.node)):
        del node.metadata_props[:]
        node.ClearField("doc_string")
    for value in (*copy.graph.value_info, *copy.graph.input, *copy.graph.output):
        del value.metadata_props[:]
        value.ClearField("doc_string")
    for tensor in copy.graph.initializer:
        del tensor.metadata_props[:]
        tensor.ClearField("doc_string")
        if tensor.data_type in _FLOATS and math.prod(tensor.dims) > _FEW and _is_drawn(tensor):
            tensor.ClearField("raw_data")
            tensor.ClearField("float_data")
    return copy


def _is_drawn(tensor: onnx.TensorProto) -> bool:
    """Whether a tensor holds weights: not masks, nor tables of few or whole numbers."""
    array = numpy_helper.to_array(tensor)
    return len(np.unique(array)) > array.size // 2 and not np.all(array == np.round(array))


def filled(model: onnx.ModelProto) -> onnx.ModelProto:
    """A stripped model with weights."""
    for tensor in model.graph.initializer:
        size = math.prod(tensor.dims)
        if tensor.data_type not in _FLOATS or size <= _FEW:
            continue
        if tensor.HasField("raw_data") or tensor.float_data:
            continue
        rng = np.random.default_rng(zlib.crc32(tensor.name.encode()))
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        if len(tensor.dims) == 1:
            array = rng.uniform(0.5, 1.5, tensor.dims)  # scales and variances are not negative
        else:
            array = rng.normal(0, 1 / math.sqrt(size / tensor.dims[0]), tensor.dims)
        tensor.raw_data = array.astype(dtype).tobytes()
    return model


def write(folder: Path, names: list[str]) -> None:
    """Write the file."""
    with zipfile.ZipFile(FILE, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in names:
            case = load(folder / f"{name}.onnx")
            _add(
                archive, f"{name}.onnx", stripped(case.model).SerializeToString(deterministic=True)
            )
            arrays: dict[str, Any] = {}
            for n, feeds in enumerate(case.feeds):
                for key, array in feeds.items():
                    drawn = array.dtype.kind == "f"
                    arrays[f"{n}/{key}"] = np.array(array.shape) if drawn else array
                    if drawn:
                        arrays[f"{n}/{key}/drawn"] = np.zeros(0, array.dtype)
            file = io.BytesIO()
            np.savez(file, **arrays)
            _add(archive, f"{name}.npz", file.getvalue())


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED, 9)


def names() -> list[str]:
    """The models of the file."""
    with zipfile.ZipFile(FILE) as archive:
        return [n[: -len(".onnx")] for n in archive.namelist() if n.endswith(".onnx")]


def stored(name: str) -> Case:
    """A model of the file, with weights and inputs."""
    with zipfile.ZipFile(FILE) as archive:
        model = filled(onnx.ModelProto.FromString(archive.read(f"{name}.onnx")))
        with np.load(io.BytesIO(archive.read(f"{name}.npz"))) as arrays:
            feeds = list(_feeds({key: arrays[key] for key in arrays.files}))
    return Case(name, model, feeds)


def _feeds(arrays: dict[str, Any]) -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(0)
    for n in range(1 + max(int(key.split("/")[0]) for key in arrays)):
        feeds = {}
        for key, array in arrays.items():
            size, name = key.split("/", 1)
            if int(size) != n or key.endswith("/drawn"):
                continue
            kind = arrays.get(f"{key}/drawn")
            feeds[name] = array if kind is None else rng.normal(size=array).astype(kind.dtype)
        yield feeds


def main() -> None:
    """Write the file from a folder of the corpus."""
    parser = argparse.ArgumentParser(description="Write the stored share of the corpus.")
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    files = sorted(args.folder.glob("*.onnx"))
    # Every fourth network, so that each kind and each exporter is there.
    networks = sorted({f.name.split(".")[0] for f in files})[::4]
    chosen = [f.stem for f in files if f.name.split(".")[0] in networks]
    write(args.folder, chosen)
    print(f"{len(chosen)} models, {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
