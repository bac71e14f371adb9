"""What a module holds beside its buffers: kept as it is while the module is captured.

Numbers of Python that it counts up, texts and modules that it replaces are reported; tensors that
are buffers under another name are the buffers in the program.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram, _trace
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule
from torch.utils import _pytree as pytree

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.exporter.capture.new_attributes import new_attributes_removed

# What is looked through: a bound for modules that hold large data sets in Python lists.
_MOST = 20_000
# Elements of a tensor that is kept: a bound for data sets that are held as tensors.
_MOST_ELEMENTS = 1 << 24
# Objects inside each other whose numbers are looked at.
_DEPTH = 3
_LEAVES = (str, bytes, int, float, complex, type, types.ModuleType, torch.Tensor)


@dataclass(frozen=True)
class Change:
    """A number of Python, a text or a module that a module changes when it is run."""

    name: str
    before: Any
    after: Any


@contextmanager
def held_state_kept(
    module: torch.nn.Module, changes: list[Change], *, writes_buffers: bool = False
) -> Iterator[None]:
    """Undo what capturing a module does to what it holds beside parameters and buffers.

    These are numbers, texts, the modules in it, tensors that are not its buffers, and attributes
    that it sets for the first time.  PyTorch computes with such tensors, so that
    `self.count.add_(1)` would have happened once before the program runs for the first time.

    Args:
        module: what is captured.
        changes: the numbers, texts and modules that changed are added here.
        writes_buffers: leave what is written into buffers.
    """
    own = {id(buffer) for buffer in module.buffers()} if writes_buffers else ()
    tensors = [(t, t.detach().clone()) for t in _held_tensors(module) if id(t) not in own]
    slots = [(slot, slot.get()) for slot in _slots(module)]
    found: dict[int, Any] = {}
    try:
        with new_attributes_removed(module), _looked_at_after_forward(slots, found):
            yield
    finally:
        for tensor, value in tensors:
            if not torch.equal(tensor, value):
                with torch.no_grad():
                    tensor.copy_(value)
        for n, (slot, number) in enumerate(slots):
            now = slot.get()
            if not isinstance(number, torch.nn.Module):
                now = found.get(n, now)
            if now is not number and (type(now) is not type(number) or now != number):
                slot.put(number)
                if type(now) in _NUMBERS or type(now) is str or isinstance(now, torch.nn.Module):
                    changes.append(Change(slot.name, number, now))


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


@contextmanager
def _looked_at_after_forward(
    slots: Sequence[tuple[_Slot, Any]], found: dict[int, Any]
) -> Iterator[None]:
    """Read the numbers before PyTorch itself sets attributes back, as its capture does."""
    name = "_detect_attribute_assignment"
    original = getattr(_trace, name, None)
    if original is None:
        yield
        return

    @contextmanager
    def watched(module: Any) -> Iterator[None]:
        with original(module):
            try:
                yield
            finally:
                found.update({n: slot.get() for n, (slot, _) in enumerate(slots)})

    setattr(_trace, name, watched)
    try:
        yield
    finally:
        setattr(_trace, name, original)


def warn_changes(changes: Sequence[Change]) -> None:
    """Warn of the numbers, texts and modules that a module changed while it was captured (OW839).

    Args:
        changes: the changes.
    """
    for one in changes:
        before, after = _described(one.before), _described(one.after)
        warn(messages.StateInPython(name=one.name, before=before, after=after, span=user_span()))


def _described(value: Any) -> str:
    """A value as text: of a module, its class."""
    return type(value).__name__ if isinstance(value, torch.nn.Module) else repr(value)


_NUMBERS = (int, float, bool)


@dataclass(frozen=True)
class _Slot:
    """A place that holds a number of Python, a text or a module."""

    name: str
    get: Callable[[], Any]
    put: Callable[[Any], Any]


def _slots(module: torch.nn.Module) -> Iterator[_Slot]:
    """The numbers of a module: attributes, items of its lists and dicts, its classes, closures.

    Those of plain objects that it holds, too: `self.settings.count`.  Texts that are attributes,
    and the modules in it: some replace both where an input is short.
    """
    classes: set[type] = set()
    seen: set[int] = set()
    for path, one in module.named_modules():
        begin = f"{path}." if path else ""
        for name, value in list(vars(one).items()):
            if type(value) is str:
                yield _item(f"{begin}{name}", vars(one), name)
            elif name != "training":
                yield from _held_numbers(f"{begin}{name}", vars(one), name, value, seen)
        children = one._modules if type(one._modules) is dict else {}  # TorchScript has others
        for name, child in children.items():
            if child is not None:
                yield _item(f"{begin}{name}", children, name)
        for kind in type(one).__mro__:
            if not kind.__module__.startswith("torch.") and kind not in classes:
                classes.add(kind)
                yield from _attributes(kind)


def _held_numbers(
    path: str, holder: Any, key: Any, value: Any, seen: set[int], depth: int = 0
) -> Iterator[_Slot]:
    """A number, or those in a list, a dict, a closure, or a plain object."""
    if type(value) in _NUMBERS:
        yield _item(path, holder, key)
    elif type(value) in (dict, list) and len(value) < _MOST:
        keys = list(value) if type(value) is dict else list(range(len(value)))
        for inner in keys:
            if type(value[inner]) in _NUMBERS:
                yield _item(f"{path}[{inner!r}]", value, inner)
            elif _is_plain(value[inner]):
                place = f"{path}[{inner!r}]"
                yield from _held_numbers(place, value, inner, value[inner], seen, depth)
    elif isinstance(value, types.FunctionType):
        yield from _cells(value)
    elif depth < _DEPTH and id(value) not in seen and len(seen) < _MOST and _is_plain(value):
        seen.add(id(value))
        for name, inner in list(vars(value).items()):
            yield from _held_numbers(f"{path}.{name}", vars(value), name, inner, seen, depth + 1)


def _is_plain(value: Any) -> bool:
    """Whether a value is an instance of a class written in Python, and not of PyTorch's own."""
    return (
        isinstance(getattr(value, "__dict__", None), dict)
        and not isinstance(value, (torch.nn.Module, types.FunctionType, *_LEAVES))
        and not type(value).__module__.startswith("torch.")
    )


def _item(name: str, holder: Any, key: Any) -> _Slot:
    def get() -> Any:
        try:
            return holder[key]
        except (KeyError, IndexError):
            return None

    return _Slot(name, get, partial(_put, holder, key))


def _put(holder: Any, key: Any, value: Any) -> None:
    if isinstance(holder, dict) or key < len(holder):
        holder[key] = value


def _attributes(kind: type) -> Iterator[_Slot]:
    for name, value in list(vars(kind).items()):
        if type(value) in _NUMBERS and not name.startswith("__"):
            get, put = partial(getattr, kind, name), partial(setattr, kind, name)
            yield _Slot(f"{kind.__name__}.{name}", get, put)


def _cells(function: types.FunctionType) -> Iterator[_Slot]:
    names = function.__code__.co_freevars
    for name, cell in zip(names, function.__closure__ or (), strict=True):
        if type(getattr(cell, "cell_contents", None)) in _NUMBERS:
            get, put = (
                partial(getattr, cell, "cell_contents"),
                partial(setattr, cell, "cell_contents"),
            )
            yield _Slot(name, get, put)


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
