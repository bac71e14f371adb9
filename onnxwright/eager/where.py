"""Where a message of the eager mode points: the user's line, or a file a model names."""

from __future__ import annotations

import linecache
import re
import sys

from onnxwright.diagnostics.caller import is_internal, span_of, user_span

_found: dict[str, str] = {}


def find_file(name: str) -> str:
    """The path of a source file of which a model keeps only the name.

    Args:
        name: the name of a file, without folders.

    Returns:
        The path of the one loaded module, or registered source, that has this name; the name
        itself where there is none, or more than one.
    """
    if "/" in name or "\\" in name or name in _found:
        return _found.get(name, name)
    paths = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    paths.update(linecache.cache)
    same = {
        path
        for path in paths
        if path and re.split(r"[/\\]", path)[-1] == name and not is_internal(path, {})
    }
    same.discard(name)
    if len(same) != 1:
        return name
    return _found.setdefault(name, same.pop())


__all__ = ["find_file", "is_internal", "span_of", "user_span"]
