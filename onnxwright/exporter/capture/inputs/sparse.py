"""Sparse weights are stored dense, with a warning; sparse inputs and results are refused."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export_forms as messages
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.exporter.signature import WEIGHT_KINDS, inputs_of, weight_of
from onnxwright.exporter.torch_types import is_sparse


def check_sparse(program: ExportedProgram) -> None:
    """Warn of weights that are stored dense (OW837), and refuse what has to stay sparse.

    Raises:
        ExportError: an input or result is sparse (OW838).
    """
    for entry in inputs_of(program):
        value = entry.node.meta.get("val")
        if entry.kind is InputKind.USER_INPUT and is_sparse(value):
            _raise_sparse(f"the input `{entry.node.name}`", value, _INPUT)
        if entry.kind in WEIGHT_KINDS and entry.node.users:
            tensor = weight_of(program, entry)
            if is_sparse(tensor):
                _warn_dense(entry.target, tensor)
    results = {s.arg.name for s in program.graph_signature.output_specs
               if s.kind is OutputKind.USER_OUTPUT and hasattr(s.arg, "name")}  # fmt: skip
    for node in program.graph.nodes:
        if node.name in results and is_sparse(node.meta.get("val")):
            _raise_sparse(f"the result `{node.name}`", node.meta["val"], _RESULT)


_INPUT = "take a dense tensor, and make it sparse in the module with `to_sparse()`"
_RESULT = "return `to_dense()` of it"
_COMPUTED = "PyTorch cannot capture what the module computes with it: use `to_dense()` of it there"


def raise_not_captured(module: torch.nn.Module, error: Exception) -> None:
    """Raise the user's error if a module that was not captured has sparse weights.

    Raises:
        ExportError: it has some (OW838).
    """
    for name, tensor in _weights(module):
        if is_sparse(tensor):
            try:
                _raise_sparse(f"`{name}`", tensor, _COMPUTED)
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
    fail(messages.SparseTensor(what=what, layout=_layout(tensor), hint=hint, span=user_span()))


def _warn_dense(name: str, tensor: torch.Tensor) -> None:
    parts: tuple[torch.Tensor, ...]
    if tensor.layout is torch.sparse_coo:
        parts = (tensor._indices(), tensor._values())
    elif tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        parts = (tensor.crow_indices(), tensor.col_indices(), tensor.values())
    else:
        parts = (tensor.ccol_indices(), tensor.row_indices(), tensor.values())
    warn(
        messages.SparseDensified(
            name=name,
            layout=_layout(tensor),
            dense=_size(tensor.numel() * tensor.element_size()),
            sparse=_size(sum(p.numel() * p.element_size() for p in parts)),
            span=user_span(),
        )
    )


def _layout(tensor: torch.Tensor) -> str:
    return str(tensor.layout).removeprefix("torch.")


def _size(count: int) -> str:
    """A count of bytes as text."""
    return f"{count:,} bytes" if count < 10_000_000 else f"{count / 1e6:,.0f} MB"
