"""Names and patterns (`fnmatch`) by which users choose nodes and weights."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import quantize as messages
from onnxwright.diagnostics.diagnostic import warn


class Patterns:
    """The names and patterns of one option.

    Args:
        option: the name of the option, for messages.
        given: one name or pattern, or several.

    Example:
        >>> Patterns("skip", ["*.head"]).match("model.head")
        True
    """

    def __init__(self, option: str, patterns: str | Iterable[str]) -> None:
        self._option = option
        self._unused = dict.fromkeys([patterns] if isinstance(patterns, str) else patterns)
        self._all = list(self._unused)

    def match(self, *names: str | None) -> bool:
        """Whether one of the names is chosen."""
        chosen = [
            pattern
            for pattern in self._all
            if any(n and (n == pattern or fnmatch.fnmatchcase(n, pattern)) for n in names)
        ]
        for pattern in chosen:
            self._unused.pop(pattern, None)
        return bool(chosen)

    def warn_unused(self, candidates: Iterable[str]) -> None:
        """Warn about each name or pattern that was never chosen (OW922)."""
        names = list(dict.fromkeys(candidates))
        for pattern in self._unused:
            advice = f"there are {', '.join(names[:5])}" if names else "there are no weights"
            warn(messages.PatternMatchesNothing(
                option=self._option, pattern=repr(pattern), advice=advice, span=user_span(),
            ))  # fmt: skip
