"""What is known of Python's own types, functions and modules: which of them change an object."""

from __future__ import annotations

import collections
import enum
import itertools
import types
from typing import Any


class _Outside:
    """Placeholder for state that no object at hand holds: globals, clocks, random generators."""

    def __repr__(self) -> str:
        return "state outside this function"


OUTSIDE: Any = _Outside()

# Types whose instances nothing changes.
FIXED = (
    str, bytes, int, float, complex, bool, tuple, frozenset, range, slice, type(None), enum.Enum,
    types.ModuleType, types.CodeType, types.MappingProxyType,
)  # fmt: skip
# Methods of the changeable built-in types that change nothing.
READING = frozenset(
    ("copy", "count", "difference", "elements", "fromkeys", "get", "index", "intersection",
     "isdisjoint", "issubset", "issuperset", "items", "keys", "most_common", "symmetric_difference",
     "tolist", "total", "union", "values")
)  # fmt: skip
CHANGEABLE = (list, dict, set, bytearray, collections.deque, itertools.count, itertools.cycle)
# Methods that change their object, whatever it is.
CHANGING = frozenset(
    ("add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "fill", "insert",
     "move_to_end", "partition", "pop", "popitem", "popleft", "put", "read", "readline", "remove",
     "resize", "reverse", "rotate", "send", "setdefault", "setfield", "setflags", "shuffle", "sort",
     "subtract", "update", "write", "writelines", "__next__", "__setitem__", "__delitem__",
     "__setattr__", "__iadd__", "throw", "close", "itemset", "seed")
)  # fmt: skip
# Built-in functions that read their arguments, and those that hand an iterator on unread.
CHANGES_FIRST = (next, setattr, delattr)
OUTER_STATE = (input, open, exec, eval, globals, locals, vars, print)
LAZY = (iter, zip, enumerate, map, filter, reversed, itertools.chain, itertools.islice,
         itertools.cycle, itertools.takewhile, itertools.dropwhile, itertools.starmap)  # fmt: skip
CHANGING_FUNCTIONS = frozenset(
    ("setitem", "delitem", "iadd", "iand", "iconcat", "ifloordiv", "imod", "imul", "ior", "ipow",
     "isub", "itruediv", "ixor", "heappush", "heappop", "heapify", "heappushpop", "heapreplace",
     "insort", "insort_left", "insort_right", "copyto", "put", "place", "putmask",
     "put_along_axis", "fill_diagonal", "shuffle")
)  # fmt: skip
STATEFUL_MODULES = frozenset(
    ("random", "_random", "time", "secrets", "os", "posix", "sys", "uuid", "datetime", "socket",
     "subprocess", "threading", "_thread", "asyncio", "contextvars", "weakref")
)  # fmt: skip
PURE_MODULES = frozenset(
    ("math", "cmath", "_operator", "operator", "itertools", "functools", "_functools",
     "collections", "_collections", "numpy", "ml_dtypes", "string", "re", "fractions", "decimal",
     "_decimal", "statistics", "copy", "heapq", "_heapq", "bisect", "_bisect", "onnx",
     "onnxwright", "typing", "dataclasses", "enum", "types", "inspect", "textwrap", "struct",
     "builtins", "numbers", "abc")
)  # fmt: skip
ITERATING = frozenset(
    ("list", "tuple", "set", "frozenset", "dict", "sorted", "sum", "max", "min", "enumerate",
     "zip", "any", "all", "range", "reversed", "iter")
)  # fmt: skip
