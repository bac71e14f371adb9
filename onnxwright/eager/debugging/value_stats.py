"""What a debugger says of a value: type, shape, smallest, largest, mean, NaN and Inf counts."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from onnxwright.diagnostics.catalogue import eager as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.shown_text import text_table
from onnxwright.diagnostics.span import Span
from onnxwright.eager.tensor import Tensor
from onnxwright.eager.values import Array, SequenceValue, show_value


@dataclass(frozen=True, slots=True)
class Facts:
    """A value in a few numbers.

    Fields:
        type: its type and shape, such as `FLOAT[2, 3]`.
        dtype: its numpy dtype as text; empty for what is not a tensor.
        shape: its shape; None for what is not a tensor.
        low: the smallest finite element, None where there is none.
        high: the largest finite element.
        mean: the mean of the finite elements.
        nans: how many elements are NaN.
        infs: how many elements are infinite.
    """

    type: str
    dtype: str = ""
    shape: tuple[int, ...] | None = None
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    nans: int = 0
    infs: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The fields as a dictionary."""
        return asdict(self)


def facts_of(value: Any) -> Facts:
    """The facts of a value.

    Args:
        value: a tensor, an array, a sequence, a number or None.

    Example:
        >>> stats = facts_of(np.array([1.0, np.nan, 3.0]))
        >>> stats.type, stats.low, stats.high, stats.mean, stats.nans
        ('DOUBLE[3]', 1.0, 3.0, 2.0, 1)
    """
    if isinstance(value, Tensor):
        value = value.value
    if not isinstance(value, np.ndarray):
        if isinstance(value, (bool, int, float)):
            return Facts(f"{type(value).__name__} {value!r}")
        if value is None or isinstance(value, (SequenceValue, dict)):
            return Facts(show_value(value))
        return Facts(type(value).__name__)
    shown = show_value(value)
    numbers = _numbers(value)
    if numbers is None or numbers.size == 0:
        return Facts(shown, value.dtype.name, value.shape)
    finite = np.isfinite(numbers)
    nans = int(np.isnan(numbers).sum())
    infs = int(numbers.size - finite.sum()) - nans
    kept = numbers if nans + infs == 0 else numbers[finite]
    if kept.size == 0:
        return Facts(shown, value.dtype.name, value.shape, nans=nans, infs=infs)
    low, high = float(kept.min()), float(kept.max())
    mean = float(kept.mean(dtype=np.float64))
    return Facts(shown, value.dtype.name, value.shape, low, high, mean, nans, infs)


def _numbers(array: Array) -> Array | None:
    """The elements as numbers that numpy can reduce; None for strings."""
    if array.dtype == object or array.dtype.kind in "SU":
        return None
    if array.dtype.kind == "c":
        return np.abs(array)
    if array.dtype.kind in "biu" or array.dtype in (np.float32, np.float64):
        return array
    return array.astype(np.float32)


COLUMNS = ("type", "min", "max", "mean", "nan", "inf", "time")


def cells(facts: Facts, seconds: float) -> list[str]:
    """The facts as cells of a table, in the order of `COLUMNS`.

    Args:
        seconds: how long the value took to make.
    """
    return [
        facts.type,
        number(facts.low),
        number(facts.high),
        number(facts.mean),
        str(facts.nans) if facts.nans else "",
        str(facts.infs) if facts.infs else "",
        duration(seconds),
    ]


def number(value: float | None) -> str:
    """A number in six characters or so; empty for None."""
    return "" if value is None else f"{value:.4g}"


def duration(seconds: float) -> str:
    """A time with its unit.

    Example:
        >>> duration(0.00002), duration(0.5)
        ('20us', '500ms')
    """
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f}us"
    return f"{seconds * 1e3:.0f}ms" if seconds < 10 else f"{seconds:.0f}s"


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], bad: Sequence[bool]) -> str:
    """A table for a notebook; rows with a bad value stand out.

    Args:
        head: the column titles.
        bad: for each row whether it has NaN or Inf.

    Returns:
        HTML in which every text is escaped.
    """
    out = ["<table>"]
    out.append("<tr>" + "".join(f"<th>{html.escape(c)}</th>" for c in head) + "</tr>")
    for row, marked in zip(rows, bad, strict=True):
        style = ' style="background:#fdd"' if marked else ""
        tds = "".join(
            f'<td style="text-align:left"><code>{html.escape(c)}</code></td>' for c in row
        )
        out.append(f"<tr{style}>{tds}</tr>")
    out.append("</table>")
    return "\n".join(out)


BAD = {"nan": ("NaN",), "inf": ("Inf",), "bad": ("NaN", "Inf")}


def check_stop_on(stop_on: str | None) -> None:
    """Refuse an option `stop_on` that is none of `BAD`.

    Raises:
        EagerValueError: it is another value (OW625).
    """
    if stop_on is not None and stop_on not in BAD:
        advice = 'use "nan", "inf", "bad" (either) or None'
        fail(messages.BadOption(option="stop_on", value=repr(stop_on), advice=advice))


def stop_at_bad(
    facts: Facts, stop_on: str | None, name: str, span: Callable[[], Span | None], **held: object
) -> None:
    """Raise where a value has what a run is to stop at.

    Args:
        facts: the value's facts.
        stop_on: "nan", "inf", "bad" (either), or None.
        span: gives the line that made it.
        held: attributes of the error: the run up to there.

    Raises:
        EagerValueError: the value has NaN or Inf (OW623).
    """
    counts = {"NaN": facts.nans, "Inf": facts.infs}
    what = next((word for word in BAD.get(stop_on or "", ()) if counts[word]), None)
    if what is not None:
        words = f"{facts.type} with {facts.nans} NaN and {facts.infs} Inf"
        diagnostic = messages.BadValueFound(name=name, what=what, value=words, span=span())
        error = diagnostic.error(diagnostic)
        for attribute, value in held.items():
            setattr(error, attribute, value)
        raise error


class Recorded(Protocol):
    """An entry of a run: one value in numbers."""

    @property
    def facts(self) -> Facts:
        """The value in numbers."""

    def as_dict(self) -> dict[str, Any]:
        """The entry as one flat dictionary."""


R = TypeVar("R", bound=Recorded)
_RIGHT = frozenset({"#", "line", "min", "max", "mean", "nan", "inf", "time"})


class ValueTable(Generic[R]):
    """What a run recorded, as a table: text, HTML in a notebook, or dictionaries."""

    _HEAD: ClassVar[tuple[str, ...]]

    def _entries(self) -> list[R]:
        raise NotImplementedError

    def _rows(self) -> list[list[str]]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[R]:
        return iter(self._entries())

    def __len__(self) -> int:
        return len(self._entries())

    def as_dicts(self) -> list[dict[str, Any]]:
        """The entries as dictionaries, for a data frame."""
        return [entry.as_dict() for entry in self._entries()]

    def __str__(self) -> str:
        return text_table(self._HEAD, self._rows(), _RIGHT)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} values>"

    def _repr_html_(self) -> str:
        bad = [bool(entry.facts.nans or entry.facts.infs) for entry in self]
        return html_table(self._HEAD, self._rows(), bad)
