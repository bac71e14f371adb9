"""Deterministic unique names: the first asker gets the plain name, the next `name_1`, `name_2`."""

from __future__ import annotations


class Namer:
    """Gives names that are unique in one model's main graph or function, subgraphs included.

    Example:
        >>> names = Namer()
        >>> names.unique("y"), names.unique("y")
        ('y', 'y_1')
    """

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}
        self._log: list[tuple[str, int | None]] = []
        # While set, names are given for good: going back does not free them.
        self.for_good = False
        self._kept: set[str] = set()

    def unique(self, hint: str) -> str:
        """`hint` itself if it is free, else `hint` with the first free number."""
        count = self._taken.get(hint)
        if count is None:
            self._set(hint, 0)
            return hint
        while True:
            count += 1
            name = f"{hint}_{count}"
            if name not in self._taken:
                break
        self._set(hint, count)
        self._set(name, 0)
        return name

    def release(self, name: str) -> None:
        """Make a name free again: who had it is called something else now."""
        self._taken.pop(name, None)

    def _set(self, name: str, count: int) -> None:
        if self.for_good:
            self._kept.add(name)
        else:
            self._log.append((name, self._taken.get(name)))
        self._taken[name] = count

    def mark(self) -> int:
        """A point to go back to."""
        return len(self._log)

    def rewind(self, mark: int) -> None:
        """Forget every name given since `mark` (what was built with them is thrown away)."""
        while len(self._log) > mark:
            name, before = self._log.pop()
            if name in self._kept:
                continue
            if before is None:
                self._taken.pop(name, None)
            else:
                self._taken[name] = before
