"""The networks of the corpus as models: by both exporters of torch.onnx, and by ours."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from torch.utils import _pytree as pytree

import onnxwright as ow
from tests.optimizer.corpus import networks
from tests.optimizer.corpus.cases import Case

WAYS = ("ours", "torchscript", "dynamo")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without what exporters print and warn about."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            with contextlib.redirect_stderr(io.StringIO()):
                yield
    finally:
        logging.disable(before)


def exported(built: networks.Made, way: str) -> onnx.ModelProto:
    """A network as a model.

    Args:
        built: the network.
        way: one of `WAYS`.

    Returns:
        The model; what the exporter does on its own to make it smaller is part of it.
    """
    args = tuple(built.inputs.values())
    dynamic = tuple(map(built.dynamic.get, built.inputs)) if built.dynamic else None
    # Tracing without gradients would take layers as one operator that ONNX does not have.
    with quiet(), torch.set_grad_enabled(way == "torchscript"):
        if way == "ours":
            return ow.export(built.model, args, dynamic_shapes=dynamic).model_proto
        if way == "dynamo":
            program = torch.onnx.export(
                built.model, args, dynamic_shapes=dynamic, dynamo=True, verbose=False
            )
            proto: onnx.ModelProto = program.model_proto
            return proto
        file = io.BytesIO()
        axes = {
            name: {axis: str(getattr(d, "__name__", d)) for axis, d in dims.items()}
            for name, dims in built.dynamic.items()
        }
        torch.onnx.export(
            built.model, args, file, input_names=list(built.inputs), dynamic_axes=axes,
            dynamo=False, opset_version=17,
        )  # fmt: skip
        return onnx.load_from_string(file.getvalue())


def feeds_of(built: networks.Made, model: onnx.ModelProto) -> list[dict[str, Any]]:
    """Inputs of a model at two sizes: the example, and one whose dynamic axes are longer."""
    leaves = [t for t in pytree.tree_leaves(built.inputs) if isinstance(t, torch.Tensor)]
    held = {i.name for i in model.graph.initializer}
    infos = [i for i in model.graph.input if i.name not in held]
    if len(infos) != len(leaves):
        raise ValueError(f"{len(infos)} inputs for {len(leaves)} tensors")
    first = {i.name: t.detach().numpy() for i, t in zip(infos, leaves, strict=True)}
    if not built.dynamic or any(not isinstance(v, torch.Tensor) for v in built.inputs.values()):
        return [first]
    rng = np.random.default_rng(0)
    second = {}
    for info, (name, tensor) in zip(infos, built.inputs.items(), strict=True):
        array = tensor.detach().numpy()
        for n, (axis, _) in enumerate((built.dynamic.get(name) or {}).items()):
            more = array.shape[axis] + (1 if n == 0 else 4)
            array = np.take(array, np.arange(more) % array.shape[axis], axis)
        if array.dtype.kind == "f":
            array = (array + rng.normal(0, 0.1, array.shape)).astype(array.dtype)
        second[info.name] = array
    return [first, second]


def case(name: str, way: str) -> Case:
    """A network of the corpus, exported in one way."""
    built = networks.made(networks.NETWORKS[name])
    model = exported(built, way)
    return Case(f"{name}.{way}", model, feeds_of(built, model))


def write(folder: Path, names: list[str], ways: list[str]) -> dict[str, str]:
    """Export networks into a folder; what an exporter refuses, with its reason, is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    refused: dict[str, str] = {}
    for name in names:
        for way in ways:
            if (folder / f"{name}.{way}.npz").exists():
                continue
            try:
                case(name, way).save(folder)
            except Exception as error:  # noqa: BLE001 - what an exporter cannot do is a figure
                refused[f"{name}.{way}"] = f"{type(error).__name__}: {str(error)[:200]}"
    file = folder / f"refused-{'-'.join(ways)}.json"
    file.write_text(json.dumps(refused, indent=1), encoding="utf-8")
    return refused
