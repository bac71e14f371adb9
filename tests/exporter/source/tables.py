"""Tables of programs: functions of one matrix, or modules, by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Table = dict[str, Callable[..., Any]]


def adding_to(table: Table) -> Callable[[Any], Any]:
    """A decorator that adds a program to a table."""

    def add(function: Any) -> Any:
        table[function.__name__] = function
        return function

    return add
