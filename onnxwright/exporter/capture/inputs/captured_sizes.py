"""What became of the sizes that were asked for: their symbols, names and bounds in a capture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.exporter.capture.inputs.shapes import Wanted, range_of
from onnxwright.exporter.signature import inputs_of
from onnxwright.exporter.torch_internals import pytree


class _Size(NamedTuple):
    """A size of an input: its place, the input, what the user wrote, and what torch has."""

    place: tuple[int, int]
    argument: str
    dim: Any
    size: Any

    @property
    def name(self) -> str | None:
        """What the user called it."""
        return _name(self.dim)

    @property
    def is_fixed(self) -> bool:
        return isinstance(self.size, int) or bool(self.size.node.expr.is_number)


def _name(dim: Any) -> str | None:
    return dim if isinstance(dim, str) else getattr(dim, "__name__", None)


def _sizes(program: ExportedProgram, inputs: Wanted) -> Iterator[_Size]:
    """The sizes of the tensors among the inputs; what was not asked for has None for `dim`."""
    users = [e for e in inputs_of(program) if e.kind is InputKind.USER_INPUT]
    for n, entry in enumerate(users):
        fake = entry.node.meta.get("val")
        axes = inputs.axes[n] if n < len(inputs.axes) else {}
        for axis, size in enumerate(fake.shape) if isinstance(fake, torch.Tensor) else ():
            yield _Size((n, axis), entry.node.name, axes.get(axis), size)


def written_names(inputs: Wanted, places: Mapping[tuple[int, int | None], str]) -> dict[str, str]:
    """Torch's symbols by the names the user wrote, also of sizes torch found to be equal.

    Args:
        inputs: example inputs, and which dimensions are dynamic.
        places: (flattened input, axis) -> symbol.

    Returns:
        Symbol -> name.
    """
    names: dict[str, str] = {}
    for (n, axis), symbol in places.items():
        dim = inputs.axes[n].get(axis) if axis is not None and n < len(inputs.axes) else None
        if (name := _name(dim)) is not None:
            names.setdefault(symbol, name)
    return names


def declared_ranges(program: ExportedProgram, inputs: Wanted) -> dict[str, tuple[int, int | None]]:
    """The bounds that the user's `Dim` objects set.

    Args:
        program: the captured program.
        inputs: example inputs, and which dimensions are dynamic.

    Returns:
        Torch's symbol -> the smallest and the largest size.
    """
    ranges: dict[str, tuple[int, int | None]] = {}
    for one in _sizes(program, inputs):
        if isinstance(one.size, torch.SymInt) and one.size.node.expr.is_Symbol:
            symbol, (low, high) = str(one.size.node.expr), range_of(one.dim)
            if low or high is not None:
                before = ranges.get(symbol, (0, None))
                highs = [h for h in (before[1], high) if h is not None]
                ranges[symbol] = (max(low, before[0]), min(highs, default=None))
    return ranges


def fixed_axes(program: ExportedProgram, inputs: Wanted) -> list[tuple[str, int]]:
    """The axes that were asked to be dynamic, and have one size.

    Args:
        program: the captured program.
        inputs: example inputs, and which dimensions are dynamic.

    Returns:
        The name of the input and the axis, for each.
    """
    sizes = [s for s in _sizes(program, inputs) if s.dim is not None and s.is_fixed]
    return [(s.argument, s.place[1]) for s in sizes]


def dynamic_places(program: ExportedProgram, inputs: Wanted) -> dict[tuple[int, int | None], str]:
    """Where inputs have sizes that are not numbers.

    Args:
        program: the captured program.
        inputs: example inputs, and which dimensions are dynamic.

    Returns:
        (flattened input, axis) -> what the user called it, or an empty text.
    """
    return {s.place: s.name or "" for s in _sizes(program, inputs) if not s.is_fixed}


def names_of(
    program: ExportedProgram, inputs: Wanted, notes: tuple[str, ...] = ()
) -> dict[str, str]:
    """Torch's symbols under the strings the user wrote, with warnings for fixed dimensions.

    Args:
        program: the captured program.
        inputs: example inputs, and which dimensions are dynamic.
        notes: what is known of the reasons for fixed dimensions.

    Returns:
        Symbol -> name; a name written for two symbols goes to the first, the second gets
        `name_1`.
    """
    names: dict[str, str] = {}
    taken: dict[str, int] = {}  # name -> the size of its symbol in the example
    for one in _sizes(program, inputs):
        place = f"dimension {one.place[1]} of `{one.argument}`"
        if one.dim is not None and one.is_fixed:
            shown = place if one.name is None else f"{place} (`{one.name}`)"
            size = int(one.size)
            warn(messages.FixedDimension(dimension=shown, size=size, notes=notes, span=user_span()))
        elif isinstance(one.dim, str):
            expression, example = one.size.node.expr, one.size.node.hint
            if not expression.is_Symbol:
                # An expression of other sizes; conditions may still hold its own symbol.
                names.setdefault(str(one.size.node._expr), one.dim)
            if str(expression) in names or not expression.is_Symbol:
                continue
            chosen, n = one.dim, 0
            # Of one size in the example, they are equal as the user says; else they are not.
            while taken.get(chosen, example) != example:
                n += 1
                chosen = f"{one.dim}_{n}"
            if chosen != one.dim:
                warn(messages.DimensionNameInUse(
                    name=one.dim, chosen=chosen, place=place, span=user_span()
                ))  # fmt: skip
            names[str(expression)] = chosen
            taken[chosen] = example
    return names


# -- sizes of one name are equal: a check at the start of the captured call tells torch so ---------

_Place = tuple[int, int]


@contextmanager
def equal_sizes_checked(module: Any, inputs: Wanted) -> Iterator[None]:
    """In this context, a call of a module begins with a check of the sizes of one name.

    With `Dim.AUTO`, torch gives each axis a symbol of its own.

    Args:
        module: a module.
        inputs: the example inputs, and the names of their axes.
    """
    groups = _groups(inputs)
    if not groups:
        yield
        return

    def check(_: Any, args: Any, kwargs: Any) -> None:
        leaves = pytree.tree_leaves((tuple(args), kwargs))
        if len(leaves) == len(inputs.axes):
            for group in groups:
                _check_equal([leaves[n].shape[axis] for n, axis in group])

    hook = module.register_forward_pre_hook(check, prepend=True, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()


def _groups(inputs: Wanted) -> list[list[_Place]]:
    """The places of axes that have one name, and one size in the example."""
    example = pytree.tree_leaves((tuple(inputs.args), inputs.kwargs))
    groups: dict[tuple[str, int], list[_Place]] = {}
    if len(example) == len(inputs.axes):
        for n, axes in enumerate(inputs.axes):
            for axis, name in axes.items():
                if isinstance(name, str) and isinstance(example[n], torch.Tensor):
                    groups.setdefault((name, int(example[n].shape[axis])), []).append((n, axis))
    return [places for places in groups.values() if len(places) > 1]


def _check_equal(sizes: list[Any]) -> None:
    first = next((size for size in sizes if isinstance(size, torch.SymInt)), None)
    for size in sizes:
        if isinstance(size, torch.SymInt) and size is not first:
            torch._check(size == first)
