"""Which functions of Python are converted, and what others do to their arguments."""

from __future__ import annotations

import functools
import itertools
from types import FunctionType

import torch

from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.exporter.places import is_of_user

# Libraries whose functions are not converted: they compute, or run at import.
OPAQUE = (
    "numpy", "scipy", "sympy", "onnx", "onnxruntime", "pytest", "_pytest", "pluggy", "networkx",
    "typing_extensions", "PIL", "tqdm", "packaging", "safetensors", "tokenizers", "pandas",
)  # fmt: skip
# Modules of Python whose functions call functions of the user, or change what they are given.
CONVERTED_STDLIB = ("contextlib", "functools", "collections")
# Methods of PyTorch's modules that are converted, with what is inside of them: the one that calls
# `forward` and the hooks, and those that set `training`.
OF_MODULES = ("Module._call_impl", "Module.train", "Module.eval")
# Modules of PyTorch that read the code of the functions they are given.
TRACING = ("torch._higher_order_ops", "torch._dynamo", "torch.compiler", "torch.jit", "torch.fx",
            "torch.nn.attention.flex_attention", "torch.export", "torch._export")  # fmt: skip
# While PyTorch traces, a function of it stands for each function of `torch.fx.wrap`, and calls it.
_FX = "torch.fx._symbolic_trace"
# Modules of which all functions leave their arguments as they are.
READING = frozenset(
    ("torch", "builtins", "math", "cmath", "re", "typing", "inspect", "logging", "warnings", "copy",
     "json", "string", "numbers", "enum", "dataclasses", "types", "time", "textwrap", "numpy",
     "itertools", "functools", "collections", "abc", "weakref", "onnxwright", "einops", "sys",
     "threading", "traceback", "pprint", "decimal", "fractions", "statistics", "hashlib", "uuid",
     "datetime", "struct", "gc", "contextlib", "_operator", "operator", "os", "pathlib", "io",
     "sympy", "scipy", "importlib", "typing_extensions", "packaging", "tqdm", "_thread",
     "collections.abc", "posixpath", "genericpath", "linecache", "ast", "dis", "_collections")
)  # fmt: skip
# Methods of containers that change them.
MUTATORS = frozenset(
    ("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update",
     "setdefault", "popitem", "add", "discard", "difference_update", "intersection_update",
     "symmetric_difference_update", "appendleft", "extendleft", "popleft", "rotate", "move_to_end",
     "subtract", "fill", "put", "itemset", "resize", "partition", "byteswap", "frombytes",
     "__setitem__", "__delitem__", "__iadd__", "__imul__", "__ior__", "__iand__", "__isub__",
     "__ixor__", "__setstate__")
)  # fmt: skip
# Functions of modules in `READING` that change an argument.
CHANGING = frozenset(
    ("setitem", "delitem", "iadd", "iconcat", "isub", "imul", "iand", "ior", "ixor", "ifloordiv",
     "itruediv", "imod", "ipow", "copyto", "put", "place", "putmask", "fill_diagonal", "shuffle",
     "put_along_axis", "putenv", "unsetenv", "consume")
)  # fmt: skip
# Classes of Python whose objects are iterators.
ITERATORS = (map, filter, zip, enumerate, reversed)
# Functions that call what they are given.
CALLING = frozenset(
    (map, filter, sorted, min, max, functools.reduce, itertools.accumulate, itertools.starmap,
     itertools.takewhile, itertools.dropwhile, itertools.groupby, itertools.filterfalse,
     torch.utils._pytree.tree_map, torch.utils._pytree.tree_map_only, torch.utils._pytree.tree_map_)
)  # fmt: skip


def is_convertible(f: FunctionType) -> bool:
    """Whether a function is of the user, of a library, or one of Python that calls such."""
    file, module = f.__code__.co_filename, str(f.__globals__.get("__name__", ""))
    if module.partition(".")[0] in OPAQUE:
        return False
    if owner_of(file) is Owner.TORCH:
        return f.__qualname__.startswith(OF_MODULES)
    if is_of_user(file):
        return True
    return owner_of(file) is Owner.PYTHON and module in CONVERTED_STDLIB


def without_fx(f: FunctionType) -> FunctionType:
    """A function; for one that stands for a function of `torch.fx.wrap` in a trace, that one."""
    if f.__globals__.get("__name__") != _FX:
        return f
    wrapped: FunctionType = getattr(f, "__wrapped__", f)
    return wrapped
