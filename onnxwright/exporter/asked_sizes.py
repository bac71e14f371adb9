"""The sizes that were asked to be dynamic, compared with those of the finished model's inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.export.graph_signature import InputKind

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.exporter.capture.assumptions.guard_text import sum_of
from onnxwright.exporter.capture.assumptions.guards import Place
from onnxwright.exporter.capture.control.held_state import run_unchanged
from onnxwright.exporter.capture.inputs.related_sizes import related
from onnxwright.exporter.capture.inputs.shapes import Wanted
from onnxwright.exporter.capture.pipeline import Captured
from onnxwright.exporter.torch_internals import FakeTensor, pytree
from onnxwright.exporter.translate.building import Built
from onnxwright.types import dims
from onnxwright.types.shapes import Dim

# By how much sizes are changed to see whether the module takes them.
_CHANGES = (1, -1, 2)


def warn_lost_sizes(captured: Captured, built: Built) -> None:
    """Warn of sizes that were asked to be dynamic and that the model's inputs do not leave free.

    A number is a loss, whatever made it.  An expression of other sizes is one if the module itself
    takes inputs of other sizes.
    """
    users = [e for e in built.inputs if e[0].kind is InputKind.USER_INPUT]
    shapes = {v.name: v.shape for v in built.model.graph.inputs}
    sizes_by_place: dict[Place, Dim] = {}
    for n, axis in captured.asked:
        shape = shapes.get(users[n][1] or "") if n < len(users) else None
        if shape is not None and axis is not None and axis < len(shape):
            size = shape[axis]
            sizes_by_place[n, axis] = size if isinstance(size, int) else size.value
    lost = [place for place, size in sizes_by_place.items() if isinstance(size, int)]
    lost += _expressions(captured, sizes_by_place)
    for place in lost:
        dim = captured.asked[place]
        name = users[place[0]][1]
        shown = f"dimension {place[1]} of `{name}`" + (f" (`{dim}`)" if dim else "")
        value = sizes_by_place[place]
        assert value is not None
        shown_size = value if isinstance(value, int) else f"`{value}`"
        warn(messages.FixedDimension(dimension=shown, size=shown_size, span=user_span()))


def _expressions(captured: Captured, sizes_by_place: Mapping[Place, Dim]) -> list[Place]:
    """The places whose size is an expression of others that was not asked for."""
    written = {dim for dim in captured.asked.values() if dim}
    doubtful = {
        place: size
        for place, size in sizes_by_place.items()
        if isinstance(size, str) and dims.names_in(size) != (size,) and not _is_asked(size, written)
    }
    module = captured.called
    inputs = captured.inputs
    if not doubtful or module is None or inputs is None or not any(inputs.axes):
        return []
    if any(isinstance(w, FakeTensor) for w in (*module.parameters(), *module.buffers())):
        return list(doubtful)
    trial = _Trial(module, inputs, captured, sizes_by_place)
    return [place for place, size in doubtful.items() if trial.takes_others(place, size)]


def _is_asked(size: str, written: set[str]) -> bool:
    """Whether a user wrote an expression: `"past + seq"`, or `2 * Dim("n")`."""
    return any(dims.equal(size, w) for w in written if sum_of(w, {*written, *dims.names_in(w)}))


class _Trial:
    """The module itself, run at sizes that an expression excludes."""

    def __init__(
        self,
        module: torch.nn.Module,
        inputs: Wanted,
        captured: Captured,
        sizes_by_place: Mapping[Place, Dim],
    ) -> None:
        self.flat, self.spec = pytree.tree_flatten((inputs.args, inputs.kwargs))
        self.module = module
        self.sizes_by_place, self.sizes = sizes_by_place, captured.sizes
        self.groups: dict[str, list[Place]] = {}
        for place in sizes_by_place:
            size = size_at(self.flat, place)
            self.groups.setdefault(f"{captured.asked[place]} {size}", []).append(place)
        self.now = {g: size_at(self.flat, places[0]) for g, places in self.groups.items()}

    def takes_others(self, place: Place, size: str) -> bool:
        """Whether the module takes sizes at which an expression does not hold."""
        return any(map(self._takes, self._others(place, size)))

    def _takes(self, values: list[Any]) -> bool:
        args, kwargs = pytree.tree_unflatten(values, self.spec)
        try:
            run_unchanged(self.module, args, kwargs)
        except Exception:  # noqa: BLE001 - the module does not take these inputs
            return False
        return True

    def _others(self, place: Place, size: str) -> Iterator[list[Any]]:
        """Inputs of other sizes at which an expression is wrong, and that are not refused anyway.

        Sizes are related as those of the example.
        """
        for head, now in self.now.items():
            for change in _CHANGES:
                if now + change < 1:
                    continue
                changed = {head: now + change}
                for sizes in ({**self.now, **changed}, related(self.now, changed)):
                    by_place = {p: sizes[g] for g, places in self.groups.items() for p in places}
                    size_by_dim = {
                        str(dim): by_place[p]
                        for p, dim in self.sizes_by_place.items()
                        if isinstance(dim, str)
                    }
                    plain = {d: n for d, n in size_by_dim.items() if dims.names_in(d) == (d,)}
                    value = dims.evaluate(size, plain)
                    if value is not None and value != by_place[place]:
                        values = resized(self.flat, by_place)
                        if not self.sizes.check(values):
                            yield values


def size_at(values: Sequence[Any], place: Place) -> int:
    """The size at a place among flattened inputs."""
    n, axis = place
    return int(values[n]) if axis is None else int(values[n].shape[axis])


def resized(flat: Sequence[Any], sizes: Mapping[Place, int]) -> list[Any]:
    """Flattened inputs with other sizes, by place; elements are repeated."""
    values = list(flat)
    for (n, axis), size in sizes.items():
        if axis is None:
            values[n] = size
        elif values[n].shape[axis] not in (0, size):
            rows = torch.arange(size, device=values[n].device) % values[n].shape[axis]
            values[n] = values[n].detach().index_select(axis, rows)
    return values


__all__ = ["warn_lost_sizes"]
