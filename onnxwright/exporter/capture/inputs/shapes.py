"""`dynamic_shapes` in every form torch takes, and names as strings."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import Dim
from torch.export.dynamic_shapes import _DimHint

from onnxwright.exporter import checks
from onnxwright.exporter.capture.inputs.caches import register_caches
from onnxwright.exporter.capture.inputs.related_sizes import enlarged
from onnxwright.exporter.dataclass_inputs import by_field, is_dataclass_object, parts_of
from onnxwright.exporter.shown import shown
from onnxwright.exporter.torch_internals import combined_arguments, mapped_with_path, pytree

# -- dynamic shapes of nested arguments: one entry for all of their tensors, fields by name --------


def spread(value: Any, spec: Any) -> Any:
    """A spec nested as the value it is of.

    None for a container becomes None for each input in it; axes with their dimensions, such as
    `{0: "batch"}`, become those of each tensor in it.

    Returns:
        The spec; where it does not have the form of the argument, as it was.
    """
    if spec is None and not isinstance(value, torch.Tensor):
        return pytree.tree_map(lambda _: None, value)
    if _is_of_one_tensor(spec) and not _is_leaf(value) and not _has_keys(value, spec):
        return _for_each_tensor(value, spec)
    if type(value) is dict and isinstance(spec, Mapping) and set(spec) == set(value):
        return {key: spread(value[key], spec[key]) for key in value}
    fields = getattr(value, "_fields", None) if isinstance(value, tuple) else None
    if fields is not None and spec is not None:
        if isinstance(spec, Mapping) and set(spec) <= set(fields):
            spec = [spec.get(name) for name in fields]
        if isinstance(spec, (list, tuple)) and len(spec) == len(value):
            return type(value)(*(spread(v, s) for v, s in zip(value, spec, strict=True)))
        return spec
    if is_dataclass_object(value) and type(value) in pytree.SUPPORTED_NODES:
        parts, spec = (
            pytree.SUPPORTED_NODES[type(value)].flatten_fn(value)[0],
            by_field(value, spec),
        )
        if isinstance(spec, (list, tuple)) and len(spec) == len(parts):
            return [spread(v, s) for v, s in zip(parts, spec, strict=True)]
    elif (parts := parts_of(value)) is not None:
        spec = parts_of(spec) if type(spec) is type(value) else spec
        if isinstance(spec, (list, tuple)) and len(spec) == len(parts):
            return [spread(v, s) for v, s in zip(parts, spec, strict=True)]
    if type(value) in (list, tuple) and isinstance(spec, (list, tuple)):
        if len(spec) == len(value):
            return type(value)(spread(v, s) for v, s in zip(value, spec, strict=True))
    return spec


def _is_of_one_tensor(spec: Any) -> bool:
    """Whether a spec is axes and their dimensions."""
    return (
        isinstance(spec, Mapping)
        and bool(spec)
        and all(isinstance(axis, int) for axis in spec)
        and not any(isinstance(dim, (Mapping, list, tuple)) for dim in spec.values())
    )


def _is_leaf(value: Any) -> bool:
    return type(value) not in pytree.SUPPORTED_NODES


def _has_keys(value: Any, spec: Mapping[Any, Any]) -> bool:
    return type(value) is dict and set(value) == set(spec)


def _for_each_tensor(value: Any, spec: Any) -> Any:
    """The spec for each tensor of a nested input; other containers are lists of their parts."""
    if _is_leaf(value):
        return spec if isinstance(value, torch.Tensor) else None
    if type(value) is dict:
        return {key: _for_each_tensor(part, spec) for key, part in value.items()}
    parts = pytree.SUPPORTED_NODES[type(value)].flatten_fn(value)[0]
    specs = [_for_each_tensor(part, spec) for part in parts]
    return tuple(specs) if type(value) is tuple else specs


# -- shapes ----------------------------------------------------------------------------------------

# torch's named dimensions, derived ones too.
_DIMS = (type(Dim("n")),)
# For each flat input: axis -> what the user wrote (a string, or a torch Dim).
Axes = list[dict[int, Any]]


@dataclass(frozen=True)
class Wanted:
    """Example inputs and dynamic shapes, ready for torch.

    Fields:
        args, kwargs: the example inputs; those whose dynamic sizes are 1 are made larger, because
            torch takes a size of 1 as fixed.
        dynamic_shapes: in torch's form, without strings.
        axes: for each flat input, what the user wrote for its axes.
        broadcast_inputs: those where a size of 1 with `Dim.AUTO` stays, for programs that
            broadcast it; None where there is no such size.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    dynamic_shapes: Any
    axes: Axes
    broadcast_inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None

    def broadcasting(self) -> Wanted | None:
        """The same, where torch takes a size of 1 with `Dim.AUTO` as fixed; None without one."""
        if self.broadcast_inputs is None:
            return None
        args, kwargs = self.broadcast_inputs
        return Wanted(args, kwargs, self.dynamic_shapes, self.axes)

    def for_torch(self) -> Wanted:
        """The form that torch is given: it finds the bounds of named dimensions by itself.

        Where one dimension follows from another, torch knows that from the dimensions alone.
        """
        return self if self.has_derived() else self.relaxed() or self

    def has_derived(self) -> bool:
        """Whether a torch `Dim` follows from another one, as `2 * batch` does."""
        written = [d for axes in self.axes for d in axes.values()]
        return any(isinstance(d, _DIMS) and type(d) is not type(Dim("n")) for d in written)

    def relaxed(self) -> Wanted | None:
        """The same with `Dim.AUTO` for each torch `Dim`; None where there is none.

        A `Dim` whose bounds torch finds too wide is an error there; with AUTO torch finds the
        bounds, and the name is kept here.
        """
        written = [d for axes in self.axes for d in axes.values()]
        if not any(isinstance(d, (str, *_DIMS)) for d in written):
            return None
        axes = [{n: getattr(d, "__name__", d) for n, d in one.items()} for one in self.axes]
        shapes = _without_dims(self.dynamic_shapes)
        return Wanted(self.args, self.kwargs, shapes, axes, self.broadcast_inputs)


def _without_dims(spec: Any) -> Any:
    if isinstance(spec, _DIMS):
        return _auto_within(spec)
    if isinstance(spec, Mapping):
        return {k: _without_dims(v) for k, v in spec.items()}
    if isinstance(spec, (list, tuple)):
        return _like(spec, [_without_dims(v) for v in spec])
    return spec


def _like(kind: Any, items: list[Any]) -> Any:
    """Items in the type of a list, tuple or NamedTuple."""
    return type(kind)(*items) if hasattr(kind, "_fields") else type(kind)(items)


def _auto_within(dim: Any) -> Any:
    """`Dim.AUTO` with the bounds of a `Dim`."""
    low, high = range_of(dim)
    if type(dim) is not type(Dim("n")) or (low == 0 and high is None) or not callable(Dim.AUTO):
        return Dim.AUTO
    return Dim.AUTO(min=low or None, max=high)


def range_of(dim: Any) -> tuple[int, int | None]:
    """The bounds of a torch `Dim`, both included; (0, None) where it has none or is no `Dim`."""
    low, high = getattr(dim, "min", None), getattr(dim, "max", None)
    bounds = [n if isinstance(n, int) and n < sys.maxsize - 1 else None for n in (low, high)]
    return bounds[0] or 0, bounds[1]


def read(
    module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any], dynamic_shapes: Any
) -> Wanted:
    """Read the dynamic shapes of an export.

    Args:
        module: a module.
        args, kwargs: example inputs.
        dynamic_shapes: by argument name or by position, nested as the inputs; a dimension is a
            torch `Dim`, `Dim.AUTO`, `Dim.DYNAMIC`, `Dim.STATIC`, a string, an int or None.

    Returns:
        What torch is given.

    Raises:
        ExportValueError: the shapes do not have the form of the inputs (OW825).
    """
    register_caches()
    args, by_name = _apart(tuple(args), dict(kwargs))
    ordered_kwargs = in_signature_order(module, by_name)
    if not dynamic_shapes:
        return Wanted(tuple(args), ordered_kwargs, None, [])
    combined = combined_arguments(module, tuple(args), ordered_kwargs)
    shapes = _by_name(combined, dynamic_shapes, inspect.signature(module.forward).parameters)
    axes: Axes = []
    leaves: list[Any] = []
    dimensions: dict[str, Any] = {}
    problems: list[tuple[Any, str]] = []

    def visit(path: Any, leaf: Any, spec: Any = None) -> Any:
        try:
            leaf_axes = _axes(leaf, spec)
        except (TypeError, ValueError) as error:
            problems.append((path, str(error)))
            return None
        axes.append(leaf_axes)
        leaves.append(leaf)
        return _for_torch(_from_front(leaf, spec), dimensions)

    shapes = {name: spread(combined[name], spec) for name, spec in shapes.items()}
    cleaned, wrong = _mapped(visit, combined, shapes)
    if wrong:
        checks.raise_bad_argument(
            "dynamic_shapes",
            f"it does not have the form of the inputs ({wrong})",
            "nest it as the inputs are, by argument name or by position; "
            "None means inputs without dynamic dimensions",
        )
    _raise_first(problems)
    flat, spec = pytree.tree_flatten((tuple(args), ordered_kwargs))
    if not isinstance(dynamic_shapes, Mapping):
        cleaned = tuple(cleaned.values())
    if len(flat) != len(leaves):
        return Wanted(tuple(args), ordered_kwargs, cleaned, axes)
    unused = _unused_size(combined)
    larger = enlarged(leaves, axes, unused)
    named = [{n: d for n, d in a.items() if not _is_hint(d, "AUTO")} for a in axes]
    kept = enlarged(leaves, named, unused)
    same = all(a is b or a.shape == b.shape for a, b in zip(larger, kept, strict=True))
    broadcasting = None if same else pytree.tree_unflatten(kept, spec)
    new_args, new_kwargs = pytree.tree_unflatten(larger, spec)
    return Wanted(new_args, new_kwargs, cleaned, axes, broadcasting)


def _mapped(visit: Any, combined: dict[str, Any], shapes: dict[str, Any]) -> tuple[Any, str]:
    """What `visit` makes of each input and its spec; why they do not fit together, else."""
    try:
        return mapped_with_path(visit, combined, shapes, tree_name="inputs"), ""
    except Exception as error:  # noqa: BLE001 - torch says in its own way what does not fit
        return None, str(error).splitlines()[0]


def _apart(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The inputs, where a tensor that is given twice is two.

    Torch reads both places from one input otherwise, and the other is forgotten.
    """
    flat, spec = pytree.tree_flatten((args, kwargs))
    seen: set[int] = set()
    for n, leaf in enumerate(flat):
        if isinstance(leaf, torch.Tensor):
            if id(leaf) in seen:
                flat[n] = leaf.detach().clone().requires_grad_(leaf.requires_grad)
            seen.add(id(leaf))
    return pytree.tree_unflatten(flat, spec)


def in_signature_order(module: torch.nn.Module, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments in the order of the parameters, as torch flattens them.

    Args:
        module: the module.
        kwargs: the arguments.
    """
    order = list(inspect.signature(module.forward).parameters)
    ordered = [n for n in order if n in kwargs]
    return {n: kwargs[n] for n in [*ordered, *(k for k in kwargs if k not in order)]}


def _by_name(combined: dict[str, Any], shapes: Any, parameters: Container[str]) -> dict[str, Any]:
    """Shapes for every argument by its name; None for those that are not mentioned.

    A parameter that keeps its default may be mentioned with None.
    """
    if not isinstance(shapes, (Mapping, list, tuple)):
        checks.raise_bad_argument(
            "dynamic_shapes",
            f"{shown(shapes)} is not a list, tuple or dict",
            f"write it by name: `{{{next(iter(combined), 'x')!r}: {{0: 'batch'}}}}`",
        )
    if isinstance(shapes, Mapping):
        defaults = [n for n, spec in shapes.items() if spec is None and n in parameters]
        unknown = [n for n in shapes if n not in combined and n not in defaults]
        if unknown:
            checks.raise_bad_argument(
                "dynamic_shapes",
                f"there is no argument `{unknown[0]}`",
                f"the arguments given are {', '.join(combined) or 'none'}",
            )
        return {name: shapes.get(name) for name in combined}
    if len(shapes) != len(combined):
        checks.raise_bad_argument(
            "dynamic_shapes",
            f"{len(shapes)} entries for {len(combined)} arguments",
            f"the arguments given are {', '.join(combined)}",
        )
    return dict(zip(combined, shapes, strict=True))


def _raise_first(problems: list[tuple[Any, str]]) -> None:
    """Report the first input whose shapes are impossible, with its position."""
    if problems:
        path, reason = problems[0]
        checks.raise_bad_argument(
            f"dynamic_shapes{pytree.keystr(path)}",
            reason,
            "write the axes of a tensor as `{0: 'batch'}` or as a list with an entry for "
            "each; an entry is a name, a `Dim`, `Dim.AUTO`, `Dim.DYNAMIC`, a size or None",
        )


def _axes(leaf: Any, spec: Any) -> dict[int, Any]:
    """Axis -> what is written for it, without those that are fixed."""
    if spec is None:
        return {}
    if not isinstance(leaf, torch.Tensor):
        if not isinstance(spec, (int, _DimHint)):
            raise TypeError(
                f"{shown(spec)} for {shown(leaf)}, where None or `Dim.DYNAMIC` is expected"
            )
        return {}
    if not isinstance(spec, (Mapping, list, tuple)):
        raise TypeError(f"{shown(spec)} for a tensor, where a dict or list of its axes is expected")
    if not isinstance(spec, Mapping) and len(spec) != leaf.ndim:
        raise ValueError(f"{len(spec)} entries for a tensor of rank {leaf.ndim}")
    items = spec.items() if isinstance(spec, Mapping) else enumerate(spec)
    dynamic_axes = {}
    for axis, dim in items:
        if not isinstance(axis, int) or not -leaf.ndim <= axis < leaf.ndim:
            raise ValueError(f"axis {axis!r} of a tensor of rank {leaf.ndim}")
        _check_dimension(dim, int(leaf.shape[axis]))
        if dim is not None and not isinstance(dim, int) and not _is_hint(dim, "STATIC"):
            dynamic_axes[axis % max(leaf.ndim, 1)] = dim
    return dynamic_axes


def _from_front(leaf: Any, spec: Any) -> Any:
    """A spec whose axes are counted from the front: torch forgets those below 0."""
    if not isinstance(leaf, torch.Tensor) or not isinstance(spec, Mapping):
        return spec
    return {axis % max(leaf.ndim, 1): dim for axis, dim in spec.items()}


def _is_hint(dim: Any, name: str) -> bool:
    return isinstance(dim, _DimHint) and bool(dim.type.name == name)


def _check_dimension(dim: Any, size: int) -> None:
    if isinstance(dim, int) and not isinstance(dim, bool):
        if dim != size:
            raise ValueError(f"the size {dim}, where the example input has {size}")
    elif not (dim is None or isinstance(dim, (_DimHint, *_DIMS)) or (isinstance(dim, str) and dim)):
        raise TypeError(f"{shown(dim)} for a dimension, which is a name, a `Dim`, an int or None")


def _for_torch(spec: Any, named: dict[str, Any]) -> Any:
    """A spec without strings; one name is one torch `Dim`, and None for an axis is `Dim.STATIC`."""
    if isinstance(spec, str):
        if not spec.isidentifier():
            return Dim.AUTO
        return named.setdefault(spec, Dim(spec))
    if isinstance(spec, Mapping):
        return {k: _axis_for_torch(v, named) for k, v in spec.items()}
    if isinstance(spec, (list, tuple)):
        return _like(spec, [_axis_for_torch(v, named) for v in spec])
    return spec


def _axis_for_torch(dim: Any, named: dict[str, Any]) -> Any:
    return Dim.STATIC if dim is None else _for_torch(dim, named)


def _unused_size(inputs: Any) -> int:
    """A size above 1 that no input has, so that torch does not take it for one of theirs."""
    tensors = [x for x in pytree.tree_leaves(inputs) if isinstance(x, torch.Tensor)]
    taken = {int(size) for x in tensors for size in x.shape}
    return next(n for n in range(2, len(taken) + 3) if n not in taken)
