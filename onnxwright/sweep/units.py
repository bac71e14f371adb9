"""The OpInfo sweep: every ATen function against PyTorch's own samples, in each mode and dtype."""

from __future__ import annotations

import functools
import random
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import torch
from torch.testing._internal import common_utils
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo import core as opinfo

from onnxwright.atenlib.composites import COMPOSITES
from onnxwright.atenlib.load import functions
from onnxwright.atenlib.op import AtenFunction
from onnxwright.atenlib.optest import OpTest, Skip, XFail
from onnxwright.atenlib.rules import Rule
from onnxwright.errors import AtenLookupError, OnnxwrightError
from onnxwright.exporter.torch_lock import TORCH_LOCK
from onnxwright.opset import DEFAULT_OPSET_VERSION
from onnxwright.sweep.aten_runs import functional_name, leaves, run_as_graph, run_eagerly
from onnxwright.sweep.dynamic import MissingError, RefusedError, run_dynamic
from onnxwright.sweep.judging import judge_results
from onnxwright.sweep.tape import Call, record

DTYPES = (
    "float32", "float16", "bfloat16", "float64", "int8", "uint8", "int16", "int32", "int64",
    "bool", "complex64",
)  # fmt: skip
MODES = ("eager", "graph")
# The third mode: one graph with symbolic sizes, run at two sizes.
DYNAMIC = "dynamic"
OPSET = DEFAULT_OPSET_VERSION
STATUSES = {
    "passed": "ours is torch's in value, dtype and shape",
    "failed": "it is not, or ours raises",
    "missing": "the sample runs an operator without a function",
    "xfailed": "failed as the table says, with the reason",
    "xpassed": "passed where the table says that it fails",
    "skipped": "not run, or nothing to compare, with the reason",
    "refused": "torch itself refuses the sample (or symbolic sizes in it); not counted",
}
WRONG = ("failed", "missing", "xpassed")


@dataclass(frozen=True)
class Outcome:
    """What became of one sample in one mode.

    Fields:
        function: the first name of our function.
        test: the OpInfo, with its variant.
        dtype, mode: as asked for.
        sample: its number among the samples.
        status: one of `STATUSES`.
        why: the reason, for anything but "passed".
        seconds: how long ours took.
        ran: the ATen operators that the sample runs.
    """

    function: str
    test: str
    dtype: str
    mode: str
    sample: int
    status: str
    why: str = ""
    seconds: float = 0.0
    ran: tuple[str, ...] = ()

    @property
    def is_wrong(self) -> bool:
        """Whether it is something to fix."""
        return self.status in WRONG


@dataclass(frozen=True)
class Unit:
    """One piece of a sweep: one test of one function in one dtype.

    Fields:
        function: the function.
        test: one of its tests.
        dtype: the name of a torch dtype.
        number: which of the function's tests with this OpInfo it is.
    """

    function: AtenFunction
    test: OpTest
    dtype: str
    number: int = 1

    @property
    def key(self) -> str:
        """A name for journals and test ids."""
        again = f"-{self.number}" if self.number > 1 else ""
        return f"{self.test.name}[{self.function.name}-{self.dtype}{again}]"


@functools.cache
def infos() -> dict[str, Any]:
    """Torch's OpInfos by name, `name:variant` for those with a variant."""
    by_name: dict[str, Any] = {}
    for info in op_db:
        variant = info.variant_test_name
        by_name[f"{info.name}:{variant}" if variant else info.name] = info
    return by_name


# Stands for the functions of OpInfos that run several operators.
COMPOSITE = AtenFunction(("composite",), lambda op: None, Rule(), COMPOSITES)  # noqa: ARG005


def units(ops: Sequence[str] | None = None, dtypes: Sequence[str] | None = None) -> list[Unit]:
    """The pieces of a sweep, in the order of the table.

    Args:
        ops: names of functions (`aten::add.Tensor`, `add`) or OpInfos; all by default.
        dtypes: names of torch dtypes; `DTYPES` by default.

    Returns:
        A unit for each test of each function, and of `COMPOSITES`, in each dtype that the OpInfo
        supports.

    Raises:
        KeyError: a test names an OpInfo that torch does not have.
    """
    opinfos = infos()
    listed: list[Unit] = []
    for entry in (*dict.fromkeys(functions().values()), COMPOSITE):
        seen: Counter[str] = Counter()
        for test in entry.tests:
            seen[test.name] += 1
            if ops is not None and not _asked(entry, test, ops):
                continue
            supported = opinfos[test.name].supported_dtypes("cpu")
            listed.extend(
                Unit(entry, test, dtype, seen[test.name])
                for dtype in dtypes or DTYPES
                if getattr(torch, dtype) in supported
            )
    return listed


def _asked(entry: AtenFunction, test: OpTest, ops: Sequence[str]) -> bool:
    short = {n.split("::")[-1] for n in entry.names} | {
        n.split("::")[-1].split(".")[0] for n in entry.names
    }
    return any(o in entry.names or o in short or o == test.name for o in ops)


def run_unit(
    unit: Unit,
    modes: Sequence[str] = MODES,
    limit: int | None = None,
    opset_version: int = OPSET,
    only: int | None = None,
) -> Iterator[Outcome]:
    """Run the samples of a unit.

    Args:
        modes: some of `MODES` and `DYNAMIC`.
        limit: at most so many samples.
        only: the number of the one sample that is run; None for all.
    """
    info = infos()[unit.test.name]
    for n, sample in samples(info, unit.dtype, limit, only):
        if isinstance(sample, Exception):
            for mode in modes:
                yield _outcome(unit, n, mode, "refused", _first_line(sample))
        else:
            yield from _run_sample(unit, info, n, sample, modes, opset_version)


def samples(
    info: Any, dtype: str, limit: int | None, only: int | None
) -> Iterator[tuple[int, Any]]:
    """The samples of an operator with their numbers; warnings are ignored while they run.

    Args:
        info: its OpInfo.
        dtype: the element type of the samples.
        limit, only: as those of `run_unit`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n, sample in enumerate(draw(info, dtype)):
            if limit is not None and n >= limit:
                return
            if only is None or n == only:
                yield n, sample


def draw(info: Any, dtype: str) -> Iterator[Any]:
    """Draw the samples of an OpInfo, the same in every process.

    Yields:
        SampleInputs; last an exception, if torch raises one.
    """
    _seed(0)
    try:
        # torch looks through the frames of the caller for a TestCase, by whose name it would seed:
        # there is none, and looking takes half of the time of a unit.
        with (
            TORCH_LOCK,
            mock.patch.object(common_utils, "extract_test_fn", _no_test),
            mock.patch.object(opinfo, "extract_test_fn", _no_test),
        ):
            kind = getattr(torch, dtype)
            samples = info.sample_inputs("cpu", kind, requires_grad=False, set_seed=False)
        while True:
            _seed(common_utils.SEED)
            yield next(samples)
    except StopIteration:
        return
    except Exception as error:  # noqa: BLE001 - whatever torch raises, it has no more samples
        yield error


def _seed(seed: int) -> None:
    """Seed what torch's samples draw from; of torch the CPU alone.

    `torch.manual_seed` keeps a stack for each call, for the devices that are not there.
    """
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the samples draw from the global generator


def _no_test() -> None:
    """What torch finds where no TestCase runs."""


def _outcome(
    unit: Unit, n: int, mode: str, status: str, why: str = "", seconds: float = 0.0,
    ran: tuple[str, ...] = (),
) -> Outcome:  # fmt: skip
    return Outcome(
        unit.function.name, unit.test.name, unit.dtype, mode, n, status, why, seconds, ran
    )


class Recorded(NamedTuple):
    """What torch did with a sample.

    Fields:
        calls: the operators it ran.
        result: what the OpInfo returned.
        expected: the leaves of the result, as they were then.
    """

    calls: list[Call]
    result: Any
    expected: list[Any]


def record_sample(info: Any, sample: Any) -> Recorded:
    """Run a sample in torch; tensors that it writes into are put back.

    Args:
        sample: torch's SampleInput.

    Returns:
        The operators it ran, and their results.
    """
    before = [
        (t, t._version, t.clone())
        for t in leaves([sample.input, sample.args, sample.kwargs])
        if isinstance(t, torch.Tensor) and t.layout is torch.strided
    ]
    calls, result = record(lambda: info.op(sample.input, *sample.args, **sample.kwargs))
    expected = leaves(result)
    changed = [(t, copy) for t, version, copy in before if t._version != version]
    if changed:
        expected = [t.clone() if isinstance(t, torch.Tensor) else t for t in expected]
        for tensor, copy in changed:
            tensor.resize_(copy.shape).copy_(copy)
    return Recorded(calls, result, expected)


def _run_sample(
    unit: Unit, info: Any, n: int, sample: Any, modes: Sequence[str], opset_version: int
) -> Iterator[Outcome]:
    modes = list(modes)
    try:
        about = {mode: known_about(unit, mode, sample) for mode in modes}
    except Exception as error:  # noqa: BLE001 - a matcher may raise anything; it has to be fixed
        for mode in modes:
            why = f"the matcher of a known failure raises {_first_line(error)}"
            yield _outcome(unit, n, mode, "failed", why)
        return
    for mode, failure in about.items():
        if isinstance(failure, Skip):
            modes.remove(mode)
            yield _outcome(unit, n, mode, "skipped", failure.reason)
    if not modes:
        return
    try:
        recorded = record_sample(info, sample)
    except Exception as error:  # noqa: BLE001 - whatever torch raises, it refuses the sample
        for mode in modes:
            yield _outcome(unit, n, mode, "refused", _first_line(error))
        return
    ran = tuple(dict.fromkeys(functional_name(c.target) for c in recorded.calls))
    for mode in modes:
        begun = time.perf_counter()
        if mode == DYNAMIC:
            status, why = _judge_dynamic(unit, info.op, sample, opset_version)
        else:
            status, why = _judge(unit, mode, recorded, opset_version)
        seconds = time.perf_counter() - begun
        status, why = _with_known(status, why, about[mode])
        yield _outcome(unit, n, mode, status, why, seconds, ran)


def known_about(unit: Unit, mode: str, sample: Any) -> XFail | None:
    """What the table says about a sample in a mode: a `Skip`, an `XFail` or None."""
    every: list[XFail] = [*unit.test.skip, *unit.test.xfail]
    for entry in every:
        if entry.about(unit.dtype, mode, sample):
            return entry
    return None


def _with_known(status: str, why: str, limit: XFail | None) -> tuple[str, str]:
    """An outcome in the light of what is known to fail."""
    if limit is None or status in ("skipped", "refused"):
        return status, why
    if status != "passed":
        return "xfailed", limit.reason
    if limit.sometimes:
        return "passed", ""
    return "xpassed", f"expected: {limit.reason}"


def _judge(unit: Unit, mode: str, recorded: Recorded, opset_version: int) -> tuple[str, str]:
    """Whether our result of a sample is torch's."""
    run = run_eagerly if mode == "eager" else run_as_graph
    try:
        got = run(recorded.calls, recorded.result, opset_version)
    except AtenLookupError as error:
        return "missing", error.diagnostic.words("{name}") if error.diagnostics else str(error)
    except OnnxwrightError as error:
        return "failed", _short(error)
    except Exception as error:  # noqa: BLE001 - a body may raise anything; the report shows it
        return "failed", _first_line(error)
    return judge_results(got, recorded.expected, unit.test, unit.dtype)


def _judge_dynamic(unit: Unit, operator: Any, sample: Any, opset_version: int) -> tuple[str, str]:
    """Whether one graph with symbolic sizes gives torch's results at two sizes."""
    try:
        runs = run_dynamic(operator, sample, opset_version)
    except RefusedError as error:
        return "refused", str(error)
    except MissingError as error:
        return "missing", str(error)
    except OnnxwrightError as error:
        return "failed", _short(error)
    except Exception as error:  # noqa: BLE001 - a body may raise anything; the report shows it
        return "failed", _first_line(error)
    for run in runs:
        status, why = judge_results(run.got, run.expected, unit.test, unit.dtype)
        if status != "passed":
            sizes = ", ".join(f"{n}={v}" for n, v in run.sizes.items())
            return status, f"at {sizes}: {why}"
    return "passed", ""


def _short(error: OnnxwrightError) -> str:
    text = error.diagnostic.words(type(error.diagnostic).title) if error.diagnostics else str(error)
    return text.splitlines()[0][:400]


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0][:300] if text else ''}"
