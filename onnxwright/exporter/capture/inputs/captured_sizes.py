"""What became of the sizes that were asked for: their symbols, names and bounds in a capture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.exporter.capture.inputs.shapes import Wanted, range_of
from onnxwright.exporter.signature import inputs_of


def written_names(wanted: Wanted, places: Mapping[tuple[int, int | None], str]) -> dict[str, str]:
    """Torch's symbols by the names the user wrote, also of sizes torch found to be equal.

    Args:
        wanted: what was asked for.
        places: (flattened input, axis) -> symbol.

    Returns:
        Symbol -> name.
    """
    found: dict[str, str] = {}
    for (n, axis), symbol in places.items():
        dim = wanted.axes[n].get(axis) if axis is not None and n < len(wanted.axes) else None
        name = dim if isinstance(dim, str) else getattr(dim, "__name__", None)
        if name is not None:
            found.setdefault(symbol, name)
    return found


def declared_ranges(program: ExportedProgram, wanted: Wanted) -> dict[str, tuple[int, int | None]]:
    """The bounds that the user's `Dim` objects set.

    Args:
        program: the captured program.
        wanted: what was asked for.

    Returns:
        Torch's symbol -> the smallest and the largest size.
    """
    entries = [e for e in inputs_of(program) if e.kind is InputKind.USER_INPUT]
    found: dict[str, tuple[int, int | None]] = {}
    for entry, axes in zip(entries, wanted.axes, strict=False):
        fake = entry.node.meta.get("val")
        for axis, dim in axes.items() if isinstance(fake, torch.Tensor) else ():
            size = fake.shape[axis]
            if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                low, high = range_of(dim)
                if low or high is not None:
                    before = found.get(str(size.node.expr), (0, None))
                    highs = [h for h in (before[1], high) if h is not None]
                    low = max(low, before[0])
                    found[str(size.node.expr)] = (low, min(highs) if highs else None)
    return found


def fixed_axes(program: ExportedProgram, wanted: Wanted) -> list[tuple[str, int]]:
    """The axes that were asked to be dynamic, and have one size.

    Args:
        program: the captured program.
        wanted: what was asked for.

    Returns:
        The name of the input and the axis, for each.
    """
    entries = [e for e in inputs_of(program) if e.kind is InputKind.USER_INPUT]
    return [
        (entry.node.name, axis)
        for entry, axes in zip(entries, wanted.axes, strict=False)
        if isinstance(entry.node.meta.get("val"), torch.Tensor)
        for axis in axes
        if _is_fixed(entry.node.meta["val"].shape[axis])
    ]


def dynamic_places(program: ExportedProgram, wanted: Wanted) -> dict[tuple[int, int | None], str]:
    """Where inputs have sizes that are not numbers.

    Args:
        program: the captured program.
        wanted: what was asked for.

    Returns:
        (flattened input, axis) -> what the user called it, or an empty text.
    """
    found: dict[tuple[int, int | None], str] = {}
    users = [e for e in inputs_of(program) if e.kind is InputKind.USER_INPUT]
    for n, entry in enumerate(users):
        fake = entry.node.meta.get("val")
        axes = wanted.axes[n] if n < len(wanted.axes) else {}
        for axis, size in enumerate(fake.shape) if isinstance(fake, torch.Tensor) else ():
            if not _is_fixed(size):
                dim = axes.get(axis, "")
                found[n, axis] = dim if isinstance(dim, str) else getattr(dim, "__name__", "")
    return found


def _is_fixed(size: Any) -> bool:
    return isinstance(size, int) or bool(size.node.expr.is_number)


def names_of(
    program: ExportedProgram, wanted: Wanted, notes: tuple[str, ...] = ()
) -> dict[str, str]:
    """Torch's symbols under the strings the user wrote, with warnings for fixed dimensions.

    Args:
        program: the captured program.
        wanted: what was asked for.
        notes: what is known of the reasons for fixed dimensions.

    Returns:
        Symbol -> name; a name written for two symbols goes to the first, the second gets
        `name_1`.
    """
    entries = [e for e in inputs_of(program) if e.kind is InputKind.USER_INPUT]
    names: dict[str, str] = {}
    taken: dict[str, tuple[str, int]] = {}  # name -> the symbol it represents, its example size
    for entry, axes in zip(entries, wanted.axes, strict=False):
        fake = entry.node.meta.get("val")
        if not isinstance(fake, torch.Tensor):
            continue
        for axis, dim in axes.items():
            size = fake.shape[axis]
            name = dim if isinstance(dim, str) else getattr(dim, "__name__", None)
            if _is_fixed(size):
                _warn_fixed(entry.node.name, axis, name, int(size), notes)
            elif isinstance(dim, str):
                symbol = str(size.node.expr)
                if not size.node.expr.is_Symbol:
                    # An expression of other sizes; conditions may still hold its own symbol.
                    names.setdefault(str(size.node._expr), dim)
                if symbol in names or not size.node.expr.is_Symbol:
                    continue
                chosen, n = dim, 0
                example = size.node.hint
                # Of one size in the example, they are equal as the user says; else they are not.
                while chosen in taken and taken[chosen][1] != example:
                    n += 1
                    chosen = f"{dim}_{n}"
                if chosen != dim:
                    _warn_apart(dim, chosen, entry.node.name, axis)
                names[symbol] = chosen
                taken[chosen] = (symbol, example)
    return names


def _warn_apart(name: str, chosen: str, argument: str, axis: int) -> None:
    warn(
        messages.DimensionNameInUse(
            name=name, chosen=chosen, place=f"dimension {axis} of `{argument}`", span=user_span()
        )
    )


def _warn_fixed(
    argument: str, axis: int, name: str | None, size: int, notes: tuple[str, ...]
) -> None:
    shown = f"dimension {axis} of `{argument}`"
    if name is not None:
        shown += f" (`{name}`)"
    warn(messages.FixedDimension(dimension=shown, size=size, notes=notes, span=user_span()))
