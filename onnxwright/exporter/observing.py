"""`observe`: the calls that a program makes of a model, and the dynamic shapes they show."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any

import torch
from torch.export import Dim
from typing_extensions import Self

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.exporter import checks
from onnxwright.exporter.capture.inputs.cache_names import leaf_names
from onnxwright.exporter.capture.inputs.caches import register_caches
from onnxwright.exporter.further_inputs import ObservedShapes
from onnxwright.exporter.shown import shown
from onnxwright.exporter.torch_internals import pytree

# -- dimensions of observed calls with caches: batch, past and length, by what caches are ----------

# Axes of the keys and values of a layer: batch, heads, tokens, size of a head.
_RANK, _TOKENS = 4, 2
_Column = tuple[int, ...]


def cache_dimensions(
    arguments: Mapping[str, Any], sizes: Sequence[Sequence[Any]]
) -> dict[tuple[int, int], str]:
    """The names of dimensions of calls that take a cache.

    The first axis of a cache is the batch, and so is each first axis of that size; the tokens in
    it are `past`, those read from an encoder `source`.  Where the rows of one tensor of integers
    are longer by `past` than those of another, they are `past + length` and `length`; where the
    rows of all of them are equally long, they are `length`.  These dimensions are dynamic even if
    all calls have one size: text is generated one token at a time.

    Args:
        arguments: the inputs of one call, by name.
        sizes: for each call, the shapes of the flattened inputs.

    Returns:
        (flattened input, axis) -> name; nothing where no input is a cache.
    """
    leaves, spec = pytree.tree_flatten(dict(arguments))
    cached = leaf_names(spec)
    dimension_names: dict[tuple[int, int], str] = {}
    tensors = [n for n, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    columns = {
        (n, axis): tuple(call[n][axis] for call in sizes)
        for n in tensors
        for axis in range(leaves[n].ndim)
    }
    keys = [n for n in tensors if n in cached and leaves[n].ndim == _RANK]
    if not keys:
        return {}
    tokens: dict[str, _Column] = {}
    for n in keys:
        word = "source" if ".encoder." in cached[n] else "past"
        name, column, count = word, columns[n, _TOKENS], 0
        while tokens.setdefault(name, column) != column:
            count += 1
            name = f"{word}_{count}"
        dimension_names[n, _TOKENS] = name
    batches = {columns[n, 0] for n in keys}
    rows = [n for n in tensors if n not in cached and _is_of_tokens(leaves[n])]
    dimension_names |= {
        (n, 0): "batch"
        for n in tensors
        if leaves[n].ndim > (n not in cached) and columns[n, 0] in batches
    }
    ends = {n: columns[n, leaves[n].ndim - 1] for n in rows}
    lengths = _lengths(tokens.get("past"), ends)
    return dimension_names | {(n, leaves[n].ndim - 1): name for n, name in lengths.items()}


def _lengths(past: _Column | None, ends: Mapping[int, _Column]) -> dict[int, str]:
    """The tensors whose rows are as long as the new tokens, and as the cache and these."""
    if past is None:
        return {}
    for length in ends.values():
        whole = tuple(p + n for p, n in zip(past, length, strict=True))
        if whole in ends.values():
            words = {whole: "past + length", length: "length"}
            return {n: words[end] for n, end in ends.items() if end in words}
    # Without a mask, the tokens and their positions.
    return dict.fromkeys(ends, "length") if len(set(ends.values())) == 1 else {}


def _is_of_tokens(value: torch.Tensor) -> bool:
    """Whether a tensor can have a number for each token of each row: tokens, positions, a mask."""
    return value.ndim in (1, 2) and not value.is_floating_point() and not value.is_complex()


# -- observing -------------------------------------------------------------------------------------

if TYPE_CHECKING:
    from onnxwright.exporter.program.onnx_program import ONNXProgram
    from onnxwright.exporter.program.verification import Verification

_KEYWORDS = inspect.Parameter.VAR_KEYWORD
_SEVERAL = inspect.Parameter.VAR_POSITIONAL


@dataclass(eq=False)
class ObservedCalls:
    """Calls whose inputs have one structure: the same arguments, nested alike, of the same types.

    Fields:
        count: how many there were.
        examples: the inputs of the first ones, copied before the model could change them.
        sizes: for each flattened input, the sizes it had, one entry for each call.
        batch: names of the arguments whose first dimension is dynamic in any case; True for all.
    """

    examples: list[tuple[tuple[Any, ...], dict[str, Any], dict[str, Any]]] = field(
        default_factory=list
    )
    sizes: list[list[Any]] = field(default_factory=list)
    count: int = 0
    batch: bool | Collection[str] = False

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional inputs of the first call."""
        return self.examples[0][0]

    @property
    def kwargs(self) -> dict[str, Any]:
        """The inputs by name of the first call."""
        return self.examples[0][1]

    @property
    def dynamic_shapes(self) -> dict[str, Any]:
        """The dimensions that had several sizes, by argument, nested as the inputs.

        Dimensions that had the same sizes in every call have one name.  With a cache of
        transformers, `batch`, `past` and `length` are dynamic in any case.
        """
        names: dict[tuple[Any, ...], str] = {}
        leaves = iter(enumerate(zip(*self.sizes, strict=True)))
        caches = cache_dimensions(self.examples[0][2], self.sizes)
        observed = ObservedShapes()
        for name, value in self.examples[0][2].items():
            every = self.batch is True or (self.batch is not False and name in self.batch)
            observed[name] = _spec(value, leaves, name, names, every, caches)
        observed.calls = tuple((args, kwargs) for args, kwargs, _ in self.examples[1:])
        return observed

    @property
    def arguments(self) -> dict[str, Any]:
        """What `export` takes beside the model: `export(model, **calls.arguments)`."""
        return {"args": self.args, "kwargs": self.kwargs, "dynamic_shapes": self.dynamic_shapes}

    def __str__(self) -> str:
        parts = []
        for name, value in self.examples[0][2].items():
            shapes = [list(x.shape) for x in pytree.tree_leaves(value) if _is_tensor(x)]
            shown = ", ".join(map(str, shapes[:3])) + (", ..." if len(shapes) > 3 else "")
            parts.append(f"{name}: {shown or repr(value)}")
        return f"{self.count} call{'s' * (self.count != 1)} with ({', '.join(parts)})"


class Observation:
    """The calls of a model while it is observed; see `observe`.

    Attributes:
        groups: the calls by the structure of their inputs, those with the most tensors first.
    """

    def __init__(self, model: Any, batch: bool | Collection[str], keep: int) -> None:
        if not callable(model):
            checks.raise_bad_argument(
                "model", f"{shown(model)} is not callable", "give a torch.nn.Module or a function"
            )
        register_caches()
        self._model = model
        self._batch = batch
        self._keep = max(1, keep)
        self._forward = model.forward if isinstance(model, torch.nn.Module) else model
        self._groups: dict[Any, ObservedCalls] = {}
        self._hook: Any = None

    def __enter__(self) -> Self:
        if isinstance(self._model, torch.nn.Module):
            self._hook = self._model.register_forward_pre_hook(
                lambda module, args, kwargs: self._record(args, kwargs), with_kwargs=True
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._hook is not None:
            self._hook.remove()
            self._hook = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the model; its result."""
        if self._hook is None:
            self._record(args, kwargs)
        return self._model(*args, **kwargs)

    def __repr__(self) -> str:
        lines = [str(group) for group in self.groups] or ["no calls"]
        return f"<Observation: {'; '.join(lines)}>"

    @property
    def groups(self) -> list[ObservedCalls]:
        """The calls by the structure of their inputs, those with the most tensors first."""

        def rank(group: ObservedCalls) -> tuple[int, int]:
            leaves = pytree.tree_leaves(group.examples[0][2])
            return (-sum(map(_is_tensor, leaves)), -group.count)

        return sorted(self._groups.values(), key=rank)

    @property
    def best(self) -> ObservedCalls:
        """The calls that are proposed: those with the most tensors.

        Raises:
            ExportValueError: there were no calls (OW825).
        """
        groups = self.groups
        if not groups:
            checks.raise_bad_argument(
                "model",
                "it was not called while it was observed",
                "call it inside `with observe(model) as seen:`, or as `seen(...)`",
            )
        if len(groups) > 1:
            others = sum(g.count for g in groups[1:])
            count = "1 call has" if others == 1 else f"{others} calls have"
            what = f"{count} other inputs than those proposed"
            advice = "export them on their own: `seen.groups` has them all"
            warn(messages.ObservedDiffer(what=what, advice=advice, span=user_span()))
        for name in _changing_numbers(groups[0]):
            what = f"`{name}` had several values that are not sizes"
            advice = "the exported model has that of the first call"
            warn(messages.ObservedDiffer(what=what, advice=advice, span=user_span()))
        return groups[0]

    @property
    def arguments(self) -> dict[str, Any]:
        """What `export` takes beside the model: `export(model, **seen.arguments)`.

        Raises:
            ExportValueError: there were no calls (OW825).
        """
        return self.best.arguments

    @property
    def dynamic_shapes(self) -> dict[str, Any]:
        """The proposed dynamic shapes; see `ObservedCalls.dynamic_shapes`."""
        return self.best.dynamic_shapes

    def verify(self, program: ONNXProgram) -> list[Verification]:
        """Compare an exported program with PyTorch on the calls that are kept.

        Args:
            program: what `export(model, **seen.arguments)` gave.

        Returns:
            One comparison for each call; see `ONNXProgram.verify`.
        """
        return [program.verify(args, kwargs) for args, kwargs, _ in self.groups[0].examples]

    def _record(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        kwargs = {k: v for k, v in kwargs.items() if v is not None}
        bound = _bound(self._forward, args, kwargs)
        leaves, spec = pytree.tree_flatten(bound)
        key = (str(spec), tuple(_kind(x) for x in leaves))
        group = self._groups.setdefault(key, ObservedCalls(batch=self._batch))
        group.count += 1
        group.sizes.append([tuple(x.shape) if _is_tensor(x) else x for x in leaves])
        if len(group.examples) < self._keep:
            args, kwargs = _copied((args, kwargs))
            group.examples.append((args, dict(kwargs), _bound(self._forward, args, kwargs)))


def observe(model: Any, *, batch: bool | Collection[str] = False, keep: int = 3) -> Observation:
    """Record the calls of a model, to propose the arguments of its export.

    The dimensions that have several sizes in the calls become dynamic; those that have the same
    sizes in every call share a name.

    Args:
        model: a module (whatever calls it, while the `with` lasts) or a function (called as the
            observation is).
        batch: make the first dimension dynamic though all calls have one size: of every tensor, or
            of the named arguments.
        keep: of how many calls the inputs are kept, for `verify`.

    Returns:
        The observation: a context manager with `arguments`, `dynamic_shapes` and `groups`.

    Raises:
        ExportValueError: the model cannot be called (OW825).

    Source:
        The idea is that of torch.onnx.InputObserver.

    Example:
        >>> import torch
        >>> from onnxwright.exporter import export
        >>> model = torch.nn.Linear(3, 2)
        >>> with observe(model) as seen:
        ...     for rows in (2, 5):
        ...         _ = model(torch.ones(rows, 3))
        >>> seen.dynamic_shapes
        {'input': {0: 'batch'}}
        >>> export(model, **seen.arguments)
        <ONNXProgram (input: FLOAT[batch,3]) -> (linear), 1 nodes>
    """
    return Observation(model, batch, keep)


def _bound(forward: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs by the names of the parameters, without those that are None."""
    signature = inspect.signature(forward)
    kinds = {p.name: p.kind for p in signature.parameters.values()}
    inputs_by_name: dict[str, Any] = {}
    for name, value in signature.bind(*args, **kwargs).arguments.items():
        if kinds[name] is _KEYWORDS:
            inputs_by_name.update(value)
        elif value is not None and not (kinds[name] is _SEVERAL and not value):
            inputs_by_name[name] = value
    return inputs_by_name


def _is_tensor(x: Any) -> bool:
    return isinstance(x, torch.Tensor)


def _kind(x: Any) -> Any:
    """What inputs of one structure have in common."""
    return (x.dtype, x.ndim) if isinstance(x, torch.Tensor) else type(x)


def _copied(value: Any) -> Any:
    """Inputs as they are now: the model may write to them."""
    return pytree.tree_map(lambda x: x.detach().clone() if _is_tensor(x) else x, value)


def _spec(
    value: Any,
    leaves: Any,
    name: str,
    names: dict[tuple[Any, ...], str],
    every: bool,
    caches: Mapping[tuple[int, int], str],
) -> Any:
    """The dynamic shapes of one argument; containers of other classes are lists of their parts."""

    def part(inner: Any, key: Any) -> Any:
        return _spec(inner, leaves, f"{name}_{key}", names, every, caches)

    if isinstance(value, torch.Tensor):
        n, shapes = next(leaves)
        cache_names = {axis: caches[n, axis] for axis in range(value.ndim) if (n, axis) in caches}
        return _axes(shapes, name, names, every, cache_names)
    if type(value) in (list, tuple):
        return type(value)(part(v, n) for n, v in enumerate(value))
    if type(value) is dict:
        return {k: part(v, k) for k, v in value.items()}
    node = pytree.SUPPORTED_NODES.get(type(value))
    if node is not None:
        parts, _ = node.flatten_fn(value)
        return [part(v, n) for n, v in enumerate(parts)]
    _, seen = next(leaves)
    plain = isinstance(value, int) and not isinstance(value, bool)
    return Dim.DYNAMIC if plain and len(set(seen)) > 1 else None


def _axes(
    shapes: tuple[Any, ...],
    name: str,
    names: dict[tuple[Any, ...], str],
    every: bool,
    cache_names: Mapping[int, str],
) -> dict[int, str] | None:
    """Axis -> name for the axes that had several sizes, and for those whose name is given."""
    names_by_axis = {}
    for axis, sizes in enumerate(zip(*shapes, strict=True)):
        if axis in cache_names:
            names_by_axis[axis] = cache_names[axis]
        elif len(set(sizes)) > 1 or (every and axis == 0):
            if sizes not in names:
                word = "batch" if axis == 0 and "batch" not in names.values() else ""
                names[sizes] = word or _identifier(f"{name}_dim_{axis}")
            names_by_axis[axis] = names[sizes]
    return names_by_axis or None


def _identifier(text: str) -> str:
    identifier = "".join(c if c.isalnum() or c == "_" else "_" for c in text)
    return identifier if identifier.isidentifier() else f"d_{identifier}"


def _changing_numbers(group: ObservedCalls) -> list[str]:
    """The arguments that are not tensors or integers and changed between calls."""
    columns = iter(zip(*group.sizes, strict=True))
    changing = []
    for name, value in group.examples[0][2].items():
        for leaf in pytree.tree_leaves(value):
            seen = next(columns)
            plain = isinstance(leaf, int) and not isinstance(leaf, bool)
            if not _is_tensor(leaf) and not plain and any(x != seen[0] for x in seen):
                changing.append(name)
    return list(dict.fromkeys(changing))
