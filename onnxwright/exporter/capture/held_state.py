"""What a module holds beside its buffers: kept as it is while the module is captured.

What it changes beside buffers is reported; tensors that are buffers under another name are the
buffers in the program.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.exporter.capture.control.keeping import Change, RepeatedRuns, process_kept
from onnxwright.exporter.places import line_of
from onnxwright.exporter.torch_internals import FakeTensor, pytree

# What is looked through: a bound for modules that hold large data sets in Python lists.
_MOST = 20_000
# Elements of a tensor that is kept: a bound for data sets that are held as tensors.
_MOST_ELEMENTS = 1 << 24
_LEAVES = (str, bytes, int, float, complex, type, types.ModuleType, torch.Tensor)


@contextmanager
def held_state_kept(
    module: torch.nn.Module,
    changes: list[Change],
    *,
    writes_buffers: bool = False,
    converts: bool = True,
) -> Iterator[None]:
    """Undo what running a module does to what it and its functions hold.

    These are attributes, items, variables and tensors, but for parameters and inputs.  PyTorch
    computes with tensors that are not buffers, so that `self.count.add_(1)` would have happened
    once before the program runs for the first time.

    Args:
        module: what is captured.
        changes: what changed is added here.
        writes_buffers: leave what is written into buffers.
        converts: whether functions run as converted copies, which tell of their writes.
    """
    own = {id(buffer) for buffer in module.buffers()} if writes_buffers else ()
    tensors = [(t, t.detach().clone()) for t in _held_tensors(module) if id(t) not in own]
    kept = process_kept(module, changes, writes_buffers=writes_buffers, converts=converts)
    try:
        with kept:
            yield
    finally:
        _give_values(tensors)


class HeldStateRuns:
    """Runs of one module, each of which begins with what the module and its functions held first.

    The same as `held_state_kept` for each run, for many of them.

    Args:
        module: what is run.
    """

    def __init__(self, module: torch.nn.Module) -> None:
        self._runs = RepeatedRuns(module)
        self._tensors = [(t, t.detach().clone()) for t in _held_tensors(module)]

    @contextmanager
    def one(self) -> Iterator[None]:
        """Undo at the end what a run does; its results are taken before."""
        try:
            with self._runs.one():
                yield
        finally:
            _give_values(self._tensors)


def _give_values(tensors: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> None:
    for tensor, value in tensors:
        if not torch.equal(tensor, value):
            with torch.no_grad():
                tensor.copy_(value)


def run_unchanged(module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Run a module, and undo what that does to the module, to its inputs and to random numbers.

    Args:
        module: the module.
        args, kwargs: what it is called with.
    """
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
    """Warn of what a module changed while it was captured (OW839).

    Args:
        changes: the changes.
    """
    for one in changes:
        span = line_of(*one.line) if one.line[0] else user_span()
        warn(messages.StateInPython(name=one.name, before=one.before, after=one.after, span=span))


def _held_tensors(module: torch.nn.Module) -> Iterator[torch.Tensor]:
    """Real tensors in the attributes, containers and closures of a module.

    Of tensors that are registered, or share memory with one that is, those of one element.
    """
    registered = {_start(t) for t in (*module.parameters(), *module.buffers())}
    seen: set[int] = set()
    waiting: list[Any] = [module]
    while waiting and len(seen) < _MOST:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, torch.Tensor):
            is_real = type(one) is torch.Tensor and one.device.type == "cpu"
            if is_real and one.layout is torch.strided and one.numel() <= _MOST_ELEMENTS:
                if one.numel() == 1 or _start(one) not in registered:
                    yield one
        elif isinstance(one, dict):
            waiting += [v for v in one.values() if _may_hold(v)]
        elif isinstance(one, list | tuple | set):
            waiting += [v for v in one if _may_hold(v)]
        elif isinstance(one, types.FunctionType):
            waiting += [c.cell_contents for c in one.__closure__ or () if _is_filled(c)]
        elif isinstance(one, types.MethodType):
            waiting += [one.__self__, one.__func__]
        else:
            waiting += [v for v in getattr(one, "__dict__", {}).values() if _may_hold(v)]


def _start(tensor: torch.Tensor) -> int | None:
    """Where the memory of a tensor is; None where it has none."""
    if isinstance(tensor, FakeTensor) or tensor.layout is not torch.strided:
        return None
    try:
        return tensor.untyped_storage().data_ptr() or None
    except (RuntimeError, ValueError):  # a subclass that wraps tensors; a lazy parameter
        return None


def _may_hold(value: Any) -> bool:
    return isinstance(value, torch.Tensor) or not isinstance(value, _LEAVES)


def _is_filled(cell: Any) -> bool:
    try:
        return bool(_may_hold(cell.cell_contents))
    except ValueError:  # a name that is not bound yet
        return False


def with_buffers_joined(program: ExportedProgram) -> ExportedProgram:
    """The program, in which constants that are buffers under another name are the buffers.

    A module that reaches a buffer by another way, as one that holds a cache and registers its
    tensors, is captured with the same tensor twice: what is written to one is not seen in the
    other.

    Args:
        program: an exported program.

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
