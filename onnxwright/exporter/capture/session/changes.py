"""Changes of PyTorch's attributes and tables for the time of a capture, undone in reverse order."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_ABSENT: Any = object()


class Changes:
    """Attributes, items and kernels that are others until `undo` is called.

    Example:
        >>> class Settings:
        ...     depth = 1
        >>> changes = Changes()
        >>> changes.attribute(Settings, "depth", 2)
        >>> Settings.depth
        2
        >>> changes.undo()
        >>> Settings.depth
        1
    """

    def __init__(self) -> None:
        self.replaces_attributes = False  # whether code that is not converted finds replacements
        self._undone: list[Callable[[], object]] = []

    def attribute(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute of an object, a class or a module."""
        before = vars(owner).get(name, _ABSENT)
        if before is _ABSENT:  # an inherited one, or a builtin function
            self.later(lambda: delattr(owner, name))
        else:
            self.later(lambda: setattr(owner, name, before))
        setattr(owner, name, value)

    def items(self, table: dict[Any, Any], values: Mapping[Any, Any]) -> None:
        """Set items of a dict."""
        before = {key: table.get(key, _ABSENT) for key in values}
        table.update(values)

        def undo() -> None:
            for key, value in before.items():
                if value is _ABSENT:
                    del table[key]
                else:
                    table[key] = value

        self.later(undo)

    def appended(self, table: list[Any], values: list[Any]) -> None:
        """Add items at the end of a list."""
        table.extend(values)
        for value in values:
            self.later(functools.partial(table.remove, value))

    def kernels(self, key: Any, kernels: Mapping[Any, Callable[..., Any] | None]) -> None:
        """Give operators other kernels in Python.

        Args:
            kernels: operator -> the kernel; None for that of torch in C++.
        """
        before = {op: op.py_kernels.get(key) for op in kernels}
        _set_kernels(key, kernels)
        self.later(lambda: _set_kernels(key, before))

    def later(self, undo: Callable[[], object]) -> None:
        """Call a function at the end."""
        self._undone.append(undo)

    def undo(self) -> None:
        """Undo all changes, the last one first."""
        while self._undone:
            self._undone.pop()()


Entry = Callable[[Changes, Any], None]
"""What makes changes for the capture of a model."""

_ACTIVE: list[Changes] = []


def active() -> Changes | None:
    """The changes of the capture that runs now; None outside a capture."""
    return _ACTIVE[-1] if _ACTIVE else None


def are_attributes_replaced() -> bool:
    """Whether a capture that runs now, or one around it, has replaced attributes."""
    return any(changes.replaces_attributes for changes in _ACTIVE)


@contextmanager
def applied(entries: Iterable[Entry], model: Any = None) -> Iterator[Changes]:
    """Make changes, and undo them at the end."""
    changes = Changes()
    _ACTIVE.append(changes)
    try:
        for change in entries:
            change(changes, model)
        yield changes
    finally:
        _ACTIVE.remove(changes)
        changes.undo()


def _set_kernels(key: Any, kernels: Mapping[Any, Callable[..., Any] | None]) -> None:
    for op, kernel in kernels.items():
        op.py_kernels.pop(key, None)
        if kernel is not None:
            op.py_kernels[key] = kernel
        op._dispatch_cache.clear()
