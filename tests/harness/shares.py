"""Which cases of a table are in the default run: `share(n)` has one case in n.

`pytest --share K` takes the cases K, K + n, K + 2n, ... of each table in place of 0, n, 2n and so
on: with another K each night, all cases of a table with `share(n)` run in n nights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable


def left_out(cases: Iterable[tuple[Hashable, int]], first: int = 0) -> list[bool]:
    """Whether each case is left out.

    Args:
        cases: for each its table, or a group in it, and the n of the marker.
        first: which case of each table is the first one that is taken.

    Example:
        >>> left_out([("a", 3), ("a", 3), ("b", 2), ("a", 3), ("a", 3)])
        [False, True, False, True, False]
        >>> left_out([("a", 3), ("a", 3), ("b", 2), ("a", 3), ("a", 3)], first=1)
        [True, False, True, True, True]
    """
    counts: Counter[Hashable] = Counter()
    answers = []
    for table, n in cases:
        answers.append((counts[table] - first) % n != 0)
        counts[table] += 1
    return answers
