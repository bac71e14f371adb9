"""What was found out about a code object, kept as long as the code object is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType
from typing import TypeVar
from weakref import ref

T = TypeVar("T")


def cached_by_code(function: Callable[[CodeType], T]) -> Callable[[CodeType], T]:
    """Keep what a function of a code object returns until the code object is freed.

    Code objects are compared by value, which takes longer than many a result, and a cache that
    holds them keeps every file that was ever loaded: the identity is the key.

    Args:
        function: what is called once for each code object.

    Example:
        >>> names = cached_by_code(lambda code: code.co_varnames)
        >>> names((lambda a, b: a).__code__)
        ('a', 'b')
    """
    results: dict[int, tuple[ref[CodeType], T]] = {}

    @functools.wraps(function)
    def cached(code: CodeType) -> T:
        key = id(code)
        value = results.get(key)
        if value is None or value[0]() is not code:
            value = results[key] = (ref(code, lambda _: results.pop(key, None)), function(code))
        return value[1]

    return cached
