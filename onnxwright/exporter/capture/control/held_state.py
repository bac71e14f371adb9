"""What a module holds beside its buffers: kept as it is while the module is captured.

What it changes beside buffers is reported; tensors that are buffers under another name are the
buffers in the program.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import GraphModule

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.catalogue import export_changes
from onnxwright.diagnostics.diagnostic import fail, warn
from onnxwright.exporter.capture.control.keeping import Change, Reading, held_state_kept
from onnxwright.exporter.capture.graphs.writes import memory_of, written_arguments
from onnxwright.exporter.places import line_of, span_of
from onnxwright.exporter.torch_internals import pytree


def run_unchanged(module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Run a module, and undo what that does to the module, to its inputs and to random numbers."""
    buffers = [(b, b.detach().clone()) for b in module.buffers()]
    leaves, spec = pytree.tree_flatten((tuple(args), dict(kwargs)))
    copies = [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in leaves]
    with torch.random.fork_rng(devices=()), torch.no_grad(), held_state_kept(module, []):
        own, named = pytree.tree_unflatten(copies, spec)
        try:
            module(*own, **named)
        finally:
            for buffer, value in buffers:
                buffer.copy_(value)


def warn_changes(changes: Sequence[Change | Reading]) -> None:
    """Warn of what a module changed while it was captured (OW839), and of clocks (OW903)."""
    for one in changes:
        span = line_of(*one.line) if one.line[0] else user_span()
        if isinstance(one, Reading):
            warn(export_changes.ReadsOutside(name=one.name, span=span))
            continue
        warn(messages.StateInPython(name=one.name, before=one.before, after=one.after, span=span))


def with_buffers_joined(program: ExportedProgram) -> ExportedProgram:
    """The program, in which buffers and constants that are one tensor are one input.

    A module that reaches a buffer by another way, as one that holds a cache and registers its
    tensors, or that has a part by two names, is captured with the same tensor twice: what is
    written to one is not seen in the other.

    Returns:
        A new program; the one that was given if there is nothing to join.

    Raises:
        ExportError: the program writes to a tensor that shares memory with another one (OW843).
    """
    signature = program.graph_signature
    inputs = {spec.arg.name: spec for spec in signature.input_specs}
    nodes = [n for n in program.graph.nodes if n.name in inputs]
    homes = {memory_of(n): n.name for n in nodes if memory_of(n)}
    writes = [
        (homes[memory_of(written)], node)
        for node in program.graph.nodes
        for written in written_arguments(node)
        if memory_of(written) in homes
    ]
    changed = {s.target for s in signature.output_specs if s.kind is OutputKind.BUFFER_MUTATION}
    memory = {name: _memory(program, spec.target) for name, spec in inputs.items()}
    names = {name for name, _ in writes} | {n for n in inputs if inputs[n].target in changed}
    written = {memory[name] for name in names} - {None}

    def rank(name: str) -> tuple[bool, bool]:
        spec = inputs[name]
        return spec.target not in changed, spec.kind is InputKind.CONSTANT_TENSOR

    first: dict[Any, str] = {}
    for name in sorted(inputs, key=rank) if written else ():
        if memory[name] in written:
            first.setdefault(memory[name], name)
    other = {
        name: first[key] for name, key in memory.items()
        if key in first and name != first[key] and inputs[name].target not in changed
    }  # fmt: skip
    writes = [(other.get(name, name), node) for name, node in writes]
    _check_writes(writes, {n: key for n, key in memory.items() if key and n not in other})
    return _joined(program, other) if other else program


def _check_writes(writes: list[tuple[str, Any]], memory: dict[str, Any]) -> None:
    """Refuse a write to a tensor of the model of which another one has a part."""
    parts = {}
    for name, (start, dtype, shape, strides) in memory.items():
        last = sum((size - 1) * step for size, step in zip(shape, strides))
        parts[name] = (start, start + (last + 1) * dtype.itemsize)
    for name, node in writes:
        start, end = parts.get(name, (0, 0))
        if any(b < end and start < e for other, (b, e) in parts.items() if other != name):
            fail(
                messages.SharedWrite(what="this line", marked="written to here", span=span_of(node))
            )


def _memory(program: ExportedProgram, target: str | None) -> Any:
    """Where the elements of a tensor of a program are; None where that is not known."""
    tensor = program.state_dict.get(target, program.constants.get(target))
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
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
    joined_module = GraphModule(program.graph_module, graph)
    joined_module.meta = dict(program.graph_module.meta)
    with warnings.catch_warnings():
        # PyTorch's own class of specifications says this of each copy.
        warnings.filterwarnings("ignore", ".*LeafSpec.*", FutureWarning)
        updated: ExportedProgram = program._update(joined_module, signature)
    return updated
