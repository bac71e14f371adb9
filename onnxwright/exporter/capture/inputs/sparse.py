"""Sparse weights, inputs and results are refused: the values of a model are dense."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export_forms as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.exporter.signature import WEIGHT_KINDS, inputs_of, weight_of
from onnxwright.exporter.torch_types import is_sparse


def check_sparse(program: ExportedProgram) -> None:
    """Refuse what is sparse among the weights, inputs and results of a captured program.

    Raises:
        ExportError: one is (OW838).
    """
    for entry in inputs_of(program):
        value = entry.node.meta.get("val")
        if entry.kind is InputKind.USER_INPUT and is_sparse(value):
            _raise_sparse(f"the input `{entry.node.name}`", value, _INPUT)
        if entry.kind in WEIGHT_KINDS and entry.node.users:
            tensor = weight_of(program, entry)
            if is_sparse(tensor):
                _raise_sparse(f"`{entry.target}`", tensor, _WEIGHT)
    results = {s.arg.name for s in program.graph_signature.output_specs
               if s.kind is OutputKind.USER_OUTPUT and hasattr(s.arg, "name")}  # fmt: skip
    for node in program.graph.nodes:
        if node.name in results and is_sparse(node.meta.get("val")):
            _raise_sparse(f"the result `{node.name}`", node.meta["val"], _RESULT)


_INPUT = "take a dense tensor, and make it sparse in the module with `to_sparse()`"
_RESULT = "return `to_dense()` of it"
_WEIGHT = (
    "store `to_dense()` of it where the module is made, and use `x @ w` in place of `sparse.mm`"
)


def raise_not_captured(module: torch.nn.Module, error: Exception) -> None:
    """Raise the user's error if a module that was not captured has sparse weights.

    Raises:
        ExportError: it has some (OW838).
    """
    for name, tensor in _weights(module):
        if is_sparse(tensor):
            try:
                _raise_sparse(f"`{name}`", tensor, _WEIGHT)
            except Exception as found:
                raise found from error


def _weights(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    yield from module.named_parameters()
    yield from module.named_buffers()
    for path, inner in module.named_modules():
        for name, value in vars(inner).items():
            if isinstance(value, torch.Tensor):
                yield ".".join(filter(None, (path, name))), value


def _raise_sparse(what: str, tensor: torch.Tensor, hint: str) -> None:
    layout = str(tensor.layout).removeprefix("torch.")
    fail(messages.SparseTensor(what=what, layout=layout, hint=hint, span=user_span()))
