"""Other sizes of inputs, related as those of the example are: a mask as long as cache and tokens.

The sizes of several inputs belong together, and nothing says how.  Where one of them is changed,
the others follow so that sums and comparisons of the example hold again: of 5, 1 and 6, the 6
becomes 7 where the 1 becomes 2.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from onnxwright.exporter.capture.assumptions.guard_text import named_sums

# How many sizes may follow, and how many combinations of them are looked at.
_FOLLOWING, _LOOKED_AT = 8, 4_000


def related(
    now: Mapping[str, int],
    changed: Mapping[str, int],
    fixed: tuple[int, ...] = (),
    ranges: Mapping[str, tuple[int, int | None]] | None = None,
) -> dict[str, int]:
    """Sizes that are related as those of the example are.

    Args:
        now: the dynamic sizes of the example by name.
        changed: those that have another size.
        fixed: sizes of the example that cannot follow.
        ranges: the smallest and the largest size by name, both included; None for no bound.

    Returns:
        All sizes by name.  Equal sums count more than comparisons, and small changes are preferred.

    Example:
        >>> related({"past": 5, "seq": 1, "total": 6}, {"seq": 2})
        {'past': 5, 'seq': 2, 'total': 7}
        >>> related({"past": 5, "seq": 1, "total": 7}, {"seq": 2})
        {'past': 5, 'seq': 2, 'total': 8}
        >>> related({"a": 1, "b": 1, "total": 2}, {"a": 3, "b": 3})
        {'a': 3, 'b': 3, 'total': 6}
    """
    each = [size - now[name] for name, size in changed.items()]
    steps = {*each, sum(each)}
    free = [name for name in now if name not in changed][:_FOLLOWING]
    options = []
    for name in free:
        low, high = (ranges or {}).get(name, (0, None))
        moved = [now[name], *(now[name] + d for d in sorted(steps, key=abs))]
        kept = [n for n in moved if n >= max(low, 1) and (high is None or n <= high)]
        options.append(kept or [now[name]])
    relations = _relations(now, fixed)
    best: tuple[tuple[int, int, int], dict[str, int]] | None = None
    for chosen in itertools.islice(itertools.product(*options), _LOOKED_AT):
        sizes = {**now, **changed, **dict(zip(free, chosen, strict=True))}
        cost = (*_broken(relations, sizes), sum(abs(sizes[n] - now[n]) for n in now))
        if best is None or cost < best[0]:
            best = cost, sizes
    assert best is not None  # the product of no options has one combination
    return best[1]


Relations = list[tuple[str, tuple[str, ...], int, int]]


def _relations(now: Mapping[str, int], fixed: tuple[int, ...]) -> Relations:
    """A size beside others, sums of two and constants, with the sign of the difference."""
    relations: Relations = []
    for name, size in now.items():
        others = [n for n in now if n != name]
        sums = [*((n,) for n in others), *itertools.combinations_with_replacement(others, 2)]
        for parts in sums:
            relations.append((name, parts, 0, _sign(size - sum(now[p] for p in parts))))
        relations += [(name, (), number, _sign(size - number)) for number in dict.fromkeys(fixed)]
        for other in others:
            if other > name:
                total = size + now[other]
                relations += [
                    ("", (name, other), n, _sign(n - total)) for n in dict.fromkeys(fixed)
                ]
    return relations


def _broken(relations: Relations, sizes: Mapping[str, int]) -> tuple[int, int]:
    """How many equalities and how many comparisons do not hold any more."""
    equal = compared = 0
    for name, parts, number, sign in relations:
        total = sum(sizes[p] for p in parts)
        new_sign = _sign(sizes[name] - total - number) if name else _sign(number - total)
        if new_sign != sign:
            equal += sign == 0 and number == 0
            compared += 1
    return equal, compared


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def enlarged(leaves: Sequence[Any], axes: Sequence[Mapping[int, Any]], unused: int) -> list[Any]:
    """Example inputs without dynamic sizes of 1, which torch takes as fixed.

    Args:
        leaves: the flattened inputs.
        axes: for each, the axes that are dynamic, with what was written for them.
        unused: the size in place of 1.

    Returns:
        The inputs; sizes that belong to those that were 1 follow.
    """
    changed: dict[tuple[int, int | None], int] = {}
    for n, (leaf, dynamic) in enumerate(zip(leaves, axes, strict=True)):
        for axis, size in enumerate(leaf.shape) if isinstance(leaf, torch.Tensor) else ():
            if axis in dynamic and size == 1:
                high = getattr(dynamic[axis], "max", None)
                changed[n, axis] = min(unused, high or unused)
    return resized(leaves, axes, changed)


def resized(
    leaves: Sequence[Any],
    axes: Sequence[Mapping[int, Any]],
    new: Mapping[tuple[int, int | None], int],
) -> list[Any]:
    """Example inputs of other sizes.

    Args:
        leaves: the flattened inputs.
        axes: for each, the axes that are dynamic, with what was written for them.
        new: (input, axis) -> the size.

    Returns:
        The inputs; sizes that belong to those that change follow.
    """
    now: dict[str, int] = {}
    changed: dict[str, int] = {}
    ranges: dict[str, tuple[int, int | None]] = {}
    fixed: dict[int, None] = {}
    names: dict[str, str] = {}
    for n, (leaf, dynamic) in enumerate(zip(leaves, axes, strict=True)):
        for axis, size in enumerate(leaf.shape) if isinstance(leaf, torch.Tensor) else ():
            if axis not in dynamic:
                fixed.setdefault(int(size))
                continue
            name = _group(dynamic[axis], int(size))
            low, high = (getattr(dynamic[axis], side, None) for side in ("min", "max"))
            now[name], ranges[name] = int(size), (low or 0, high)
            if isinstance(dynamic[axis], str):
                names[name] = dynamic[axis]
            if (n, axis) in new:
                changed[name] = new[n, axis]
    if not changed:
        return list(leaves)
    sizes = related(now, changed, tuple(fixed), ranges)
    sums = named_sums({name: sizes[group] for group, name in names.items()})
    sizes |= {group: sums[name] for group, name in names.items() if name in sums}
    return [_resized(leaf, dynamic, sizes) for leaf, dynamic in zip(leaves, axes, strict=True)]


def _group(dim: Any, size: int) -> str:
    """The name of a size; those without one belong together where they are equal.

    A name may be written for two sizes, which are different ones.
    """
    name = dim if isinstance(dim, str) else getattr(dim, "__name__", "")
    return f"{name} {size}"


def _resized(leaf: Any, dynamic: Mapping[int, Any], sizes: Mapping[str, int]) -> Any:
    """An input with other sizes; elements are repeated."""
    for axis, dim in dynamic.items() if isinstance(leaf, torch.Tensor) else ():
        old = int(leaf.shape[axis])
        new = sizes[_group(dim, old)]
        if new != old and old:
            rows = torch.arange(new, device=leaf.device) % old
            with torch.no_grad():
                leaf = leaf.detach().index_select(axis, rows)
    return leaf
