"""One test for a whole table: the checks of all rows run, and one error names the rows that fail.

A parametrized test costs pytest about three milliseconds a case, in each worker.  A check of a row
that takes less is a row of such a table.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.harness.oldest import limit_of

Row = TypeVar("Row")


def check_rows(
    rows: Iterable[Row],
    check: Callable[[Row], Any],
    name: Callable[[Row], object] = str,
) -> None:
    """Check every row.

    Args:
        rows: the table.
        check: raises an error for a row that is wrong.
        name: what a row is called in the error.

    Raises:
        AssertionError: the table has no rows, or some are wrong; it has the error of each.
        Skipped: rows are skipped, and no other is wrong; it has their reasons.

    Example:
        >>> def is_small(n):
        ...     assert n < 3, "too large"
        >>> check_rows([1, 5, 2], is_small)
        Traceback (most recent call last):
        AssertionError: 1 of 3 rows: 5: AssertionError: too large
    """
    count, wrong, skipped = 0, [], []
    first: BaseException | None = None
    for row in rows:
        count += 1
        try:
            check(row)
        except pytest.skip.Exception as reason:  # it would leave out the rows after it
            skipped.append(str(reason))
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001
            wrong.append(f"{name(row)}: {type(error).__name__}: {error}")
            first = first or error
    assert count, "a table without rows proves nothing"
    if wrong:
        raise AssertionError(f"{len(wrong)} of {count} rows: " + "\n".join(wrong)) from first
    if skipped:
        pytest.skip(f"{len(skipped)} of {count} rows: " + "; ".join(dict.fromkeys(skipped)))


def each(
    names: str | Sequence[str], rows: Iterable[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As `pytest.mark.parametrize`, but one test for all rows, which share its fixtures.

    A row that `LIMITS` of `oldest` names has to fail, and counts as skipped.

    Args:
        names: the parameters that a row gives, as `parametrize` takes them.
        rows: a value for each row; a tuple of values where there are several names.

    Returns:
        A decorator of the test.  Several above one function give the product of their rows.

    Example:
        >>> @each(("number", "square"), [(2, 4), (3, 9)])
        ... def test(number, square):
        ...     assert number * number == square
        >>> test()
    """
    parameters = [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)
    table = list(rows)

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        file = Path(inspect.unwrap(function).__code__.co_filename)
        label = f"{'/'.join(file.parts[-3:])}::{function.__name__}"

        @functools.wraps(function)
        def test(**fixtures: Any) -> None:
            def check(row: Any) -> None:
                values = row if len(parameters) > 1 else (row,)
                outer = "".join(f"[{v}]" for v in fixtures.values() if isinstance(v, (int, str)))
                limit = limit_of(f"{label}[{row}]{outer}")
                if limit is None or limit.runs:
                    try:
                        function(**fixtures, **dict(zip(parameters, values, strict=True)))
                    except (Exception, pytest.fail.Exception):
                        if limit is None:
                            raise
                    else:
                        assert limit is None, f"it holds although {limit.text}"
                if limit is not None:
                    pytest.skip(limit.text)

            check_rows(table, check)

        signature = inspect.signature(function)
        rest = [p for p in signature.parameters.values() if p.name not in parameters]
        test.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return test

    return decorate
