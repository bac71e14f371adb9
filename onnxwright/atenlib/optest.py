"""How an ATen function is tested, as plain data beside it: which OpInfo, which known failures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# (sample) -> whether an exception is about it; the sample is torch's SampleInput.
Matcher = Callable[[Any], bool]


@dataclass(frozen=True)
class Tol:
    """How far a result may be from torch's.

    Fields:
        rtol, atol: relative and absolute tolerance.

    Example:
        >>> Tol(1e-3, 1e-3).rtol
        0.001
    """

    rtol: float
    atol: float


@dataclass(frozen=True)
class XFail:
    """A failure that is known, with the reason; a sample that passes unexpectedly is an error.

    Fields:
        reason: why ONNX or ONNX Runtime cannot.
        dtypes: names of torch dtypes (`"float16"`) it is about; all if empty.
        matcher: which samples it is about; all if None.  It gets torch's SampleInput.
        modes: `"eager"`, `"graph"`, `"dynamic"`; all if empty.
        sometimes: the failure depends on values that are drawn at random, so that a pass is no
            error.

    Example:
        >>> XFail("ONNX Runtime has no such kernel", dtypes=("int8",)).dtypes
        ('int8',)
    """

    reason: str
    dtypes: tuple[str, ...] = ()
    matcher: Matcher | None = None
    modes: tuple[str, ...] = ()
    sometimes: bool = False

    def about(self, dtype: str, mode: str, sample: Any) -> bool:
        """Whether it is about a sample of a dtype in a mode."""
        return (
            (not self.dtypes or dtype in self.dtypes)
            and (not self.modes or mode in self.modes)
            and (self.matcher is None or self.matcher(sample))
        )


@dataclass(frozen=True)
class Skip(XFail):
    """A sample that must not be run at all (it would not end, or its result is random).

    Example:
        >>> Skip("the result is random").reason
        'the result is random'
    """


@dataclass(frozen=True)
class OpTest:
    """The samples that a function must pass: those of one of torch's OpInfos.

    Fields:
        name: the name of the OpInfo; with its variant after a colon (`"addmm:decomposed"`).
        tol: tolerances by dtype name, where torch's own for the dtype do not do; with the reason
            in a comment beside it.
        xfail: known failures.
        skip: samples that are not run.
        compare: `"values"`; `"shape"` for random results: dtype and shape only; `"svd"`,
            `"svd with v"`, `"eigh"` or `"eig"` where vectors are free to have another sign or
            phase: what is unique of the results (`sweep.unique_parts`).

    Example:
        >>> OpTest("clamp").name
        'clamp'
    """

    name: str
    tol: dict[str, Tol] | None = None
    xfail: tuple[XFail, ...] | list[XFail] = ()
    skip: tuple[Skip, ...] | list[Skip] = ()
    compare: str = "values"
