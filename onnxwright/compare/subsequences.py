"""Common subsequences: items that are unique on both sides first, then the gaps between them."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher

# Beyond so many pairs only unique items are matched.
_MOST = 1_000_000


def rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of pairs that rises on both sides.

    Args:
        pairs: (left, right), each number once on its side.

    Example:
        >>> rising([(0, 5), (1, 1), (2, 2), (3, 0)])
        [(1, 1), (2, 2)]
    """
    ordered = sorted(pairs)
    tops: list[int] = []
    ends: list[int] = []
    before = [-1] * len(ordered)
    for n, (_, right) in enumerate(ordered):
        place = bisect_left(tops, right)
        before[n] = ends[place - 1] if place else -1
        if place == len(tops):
            tops.append(right)
            ends.append(n)
        else:
            tops[place], ends[place] = right, n
    rising_pairs = []
    n = ends[-1] if ends else -1
    while n >= 0:
        rising_pairs.append(ordered[n])
        n = before[n]
    return rising_pairs[::-1]


def common(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Places of equal items in the same order on both sides; None matches nothing.

    Example:
        >>> common("abcad", "xbcad")
        [(1, 1), (2, 2), (3, 3), (4, 4)]
    """
    common_pairs: list[tuple[int, int]] = []
    waiting = [(0, len(left), 0, len(right))]
    while waiting:
        i, j, k, m = waiting.pop()
        while i < j and k < m and left[i] is not None and left[i] == right[k]:
            common_pairs.append((i, k))
            i, k = i + 1, k + 1
        while i < j and k < m and left[j - 1] is not None and left[j - 1] == right[m - 1]:
            common_pairs.append((j - 1, m - 1))
            j, m = j - 1, m - 1
        if i == j or k == m:
            continue
        anchors = _once(left, right, i, j, k, m)
        if not anchors:
            common_pairs += _blocks(left, right, i, j, k, m)
            continue
        common_pairs += anchors
        edges = [(i - 1, k - 1), *anchors, (j, m)]
        for (a, b), (c, d) in itertools.pairwise(edges):
            waiting.append((a + 1, c, b + 1, d))
    return sorted(common_pairs)


def _once(
    left: Sequence[Hashable], right: Sequence[Hashable], i: int, j: int, k: int, m: int
) -> list[tuple[int, int]]:
    """Items that are unique on both sides and in the same order."""
    ones, others = Counter(left[i:j]), Counter(right[k:m])
    places = {x: n for n, x in enumerate(right[k:m], k)}
    pairs = [
        (n, places[x])
        for n, x in enumerate(left[i:j], i)
        if x is not None and ones[x] == 1 and others[x] == 1
    ]
    return rising(pairs)


def _blocks(
    left: Sequence[Hashable], right: Sequence[Hashable], i: int, j: int, k: int, m: int
) -> list[tuple[int, int]]:
    if (j - i) * (m - k) > _MOST:
        return []
    # None must not match None.
    ones = [(n,) if x is None else x for n, x in enumerate(left[i:j])]
    others = [(-1 - n,) if x is None else x for n, x in enumerate(right[k:m])]
    matcher = SequenceMatcher(None, ones, others, autojunk=False)
    return [
        (i + block.a + n, k + block.b + n)
        for block in matcher.get_matching_blocks()
        for n in range(block.size)
    ]
