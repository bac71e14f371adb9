"""What a module holds beside its buffers: kept as it is while the module is captured.

What it changes beside buffers is reported; tensors that are buffers under another name are the
buffers in the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.exporter.capture.control.keeping import Change, held_state_kept
from onnxwright.exporter.places import line_of
from onnxwright.exporter.torch_internals import FakeTensor, pytree


def run_unchanged(module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Run a module, and undo what that does to the module, to its inputs and to random numbers."""
    buffers = [(b, b.detach().clone()) for b in module.buffers()]
    given, spec = pytree.tree_flatten((tuple(args), dict(kwargs)))
    copies = [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in given]
    own, named = pytree.tree_unflatten(copies, spec)
    with torch.random.fork_rng(devices=()), torch.no_grad(), held_state_kept(module, []):
        try:
            module(*own, **named)
        finally:
            for buffer, value in buffers:
                buffer.copy_(value)


def warn_changes(changes: Sequence[Change]) -> None:
    """Warn of what a module changed while it was captured (OW839)."""
    for one in changes:
        span = line_of(*one.line) if one.line[0] else user_span()
        warn(messages.StateInPython(name=one.name, before=one.before, after=one.after, span=span))


def with_buffers_joined(program: ExportedProgram) -> ExportedProgram:
    """The program, in which constants that are buffers under another name are the buffers.

    A module that reaches a buffer by another way, as one that holds a cache and registers its
    tensors, is captured with the same tensor twice: what is written to one is not seen in the
    other.

    Returns:
        A new program; the one that was given if no constant is a buffer.
    """
    signature = program.graph_signature
    if not any(s.kind is InputKind.CONSTANT_TENSOR for s in signature.input_specs):
        return program
    buffers: dict[Any, str] = {}
    for spec in signature.input_specs:
        if spec.kind is InputKind.BUFFER:
            key = _memory(program, spec.target)
            if key is not None:
                buffers.setdefault(key, spec.arg.name)
    other = {}
    for spec in signature.input_specs:
        if spec.kind is InputKind.CONSTANT_TENSOR:
            buffer = buffers.get(_memory(program, spec.target))
            if buffer is not None:
                other[spec.arg.name] = buffer
    return _joined(program, other) if other else program


def _memory(program: ExportedProgram, target: str | None) -> Any:
    """Where the elements of a tensor of a program are; None where that is not known."""
    tensor = program.state_dict.get(target, program.constants.get(target))
    if not isinstance(tensor, torch.Tensor) or isinstance(tensor, FakeTensor):
        return None
    if tensor.device.type == "meta" or tensor.layout is not torch.strided or not tensor.numel():
        return None
    return tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride()


def _joined(program: ExportedProgram, other: dict[str, str]) -> ExportedProgram:
    """The program with some of its inputs replaced by others, by the names of their nodes."""
    graph = torch.fx.Graph()
    results = graph.graph_copy(program.graph, {})
    graph.output(results)
    places = {node.name: node for node in graph.nodes if node.op == "placeholder"}
    for name, buffer in other.items():
        places[name].replace_all_uses_with(places[buffer])
        graph.erase_node(places[name])
    old = program.graph_signature
    kept = [s for s in old.input_specs if s.arg.name not in other]
    signature = type(old)(input_specs=kept, output_specs=list(old.output_specs))
    made = GraphModule(program.graph_module, graph)
    made.meta = dict(program.graph_module.meta)
    updated: ExportedProgram = program._update(made, signature)
    return updated
