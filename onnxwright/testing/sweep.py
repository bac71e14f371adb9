"""The OpInfo sweep: every ATen function against PyTorch's own samples, in each mode and dtype."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

from onnxwright.atenlib.load import functions
from onnxwright.atenlib.op import AtenFunction
from onnxwright.atenlib.optest import OpTest, Skip, XFail
from onnxwright.errors import AtenLookupError, OnnxwrightError
from onnxwright.testing.aten_runs import flat_tensors, run_as_graph, run_eagerly
from onnxwright.testing.tape import Call, record

DTYPES = (
    "float32", "float16", "bfloat16", "float64", "int8", "uint8", "int16", "int32", "int64",
    "bool", "complex64",
)  # fmt: skip
MODES = ("eager", "graph")
OPSET = 23


@dataclass(frozen=True)
class Outcome:
    """What became of one sample in one mode.

    Fields:
        function: the first name of our function.
        test: the OpInfo, with its variant.
        dtype, mode: as asked for.
        sample: its number among the samples.
        status: "passed", "failed", "xfailed", "xpassed" (a known failure that passed), "missing"
            (no function for an operator the sample runs), "skipped", or "refused" (torch itself
            refuses the sample; not counted).
        why: the reason, for anything but "passed".
        seconds: how long ours took.
    """

    function: str
    test: str
    dtype: str
    mode: str
    sample: int
    status: str
    why: str = ""
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """The fields, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Unit:
    """One piece of a sweep: one test of one function in one dtype.

    Fields:
        function: the function.
        test: one of its tests.
        dtype: the name of a torch dtype.
    """

    function: AtenFunction
    test: OpTest
    dtype: str

    @property
    def key(self) -> str:
        """A name for journals and test ids."""
        return f"{self.test.name}[{self.function.name}-{self.dtype}]"


def infos() -> dict[str, Any]:
    """Torch's OpInfos by name, `name:variant` for those with a variant.

    Returns:
        The OpInfos.
    """
    found: dict[str, Any] = {}
    for info in op_db:
        variant = info.variant_test_name
        found[f"{info.name}:{variant}" if variant else info.name] = info
    return found


def units(ops: Sequence[str] | None = None, dtypes: Sequence[str] | None = None) -> list[Unit]:
    """The pieces of a sweep, in the order of the table.

    Args:
        ops: names of functions (`aten::add.Tensor`, `add`) or OpInfos; all by default.
        dtypes: names of torch dtypes; `DTYPES` by default.

    Returns:
        A unit for each test of each function in each dtype that the OpInfo supports.

    Raises:
        KeyError: a test names an OpInfo that torch does not have.
    """
    known = infos()
    found = []
    entries = list(dict.fromkeys(functions().values()))
    for entry in entries:
        for test in entry.tests:
            if ops is not None and not _asked(entry, test, ops):
                continue
            supported = known[test.name].supported_dtypes("cpu")
            found.extend(
                Unit(entry, test, dtype)
                for dtype in dtypes or DTYPES
                if getattr(torch, dtype) in supported
            )
    return found


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
) -> Iterator[Outcome]:
    """Run all samples of a unit.

    Args:
        unit: the unit.
        modes: "eager", "graph".
        limit: at most so many samples.
        opset_version: the version of the standard opset.

    Yields:
        An outcome for each sample and mode.
    """
    info = infos_cached()[unit.test.name]
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = info.sample_inputs("cpu", getattr(torch, unit.dtype), requires_grad=False)
        for n, sample in enumerate(samples):
            if limit is not None and n >= limit:
                return
            yield from _run_sample(unit, info, n, sample, modes, opset_version)


def _run_sample(
    unit: Unit, info: Any, n: int, sample: Any, modes: Sequence[str], opset_version: int
) -> Iterator[Outcome]:
    def outcome(mode: str, status: str, why: str = "", seconds: float = 0.0) -> Outcome:
        return Outcome(
            unit.function.name, unit.test.name, unit.dtype, mode, n, status, why, seconds
        )

    skip = _about(unit.test.skip, unit.dtype, "", sample)
    if skip is not None:
        for mode in modes:
            yield outcome(mode, "skipped", skip.reason)
        return
    kept = _copies(sample)
    try:
        calls, result = record(lambda: info.op(sample.input, *sample.args, **sample.kwargs))
    except Exception as error:  # noqa: BLE001 - whatever torch raises, it refuses the sample
        for mode in modes:
            yield outcome(mode, "refused", f"{type(error).__name__}: {_first_line(error)}")
        return
    _restore(kept)
    for mode in modes:
        begun = time.perf_counter()
        status, why = _judge(unit, mode, calls, result, opset_version)
        seconds = time.perf_counter() - begun
        known = _about(unit.test.xfail, unit.dtype, mode, sample)
        if known is not None and not isinstance(known, Skip):
            if status == "passed":
                status, why = (
                    ("passed", "") if known.sometimes else ("xpassed", f"expected: {known.reason}")
                )
            else:
                status, why = "xfailed", known.reason
        yield outcome(mode, status, why, seconds)


def _judge(
    unit: Unit, mode: str, calls: Sequence[Call], result: Any, opset_version: int
) -> tuple[str, str]:
    """Whether our result of a sample is torch's."""
    run = run_eagerly if mode == "eager" else run_as_graph
    try:
        got = run(calls, result, opset_version)
    except AtenLookupError as error:
        return "missing", error.diagnostic.words("{name}") if error.diagnostics else str(error)
    except OnnxwrightError as error:
        return "failed", _short(error)
    except Exception as error:  # noqa: BLE001 - a body may raise anything; the report shows it
        return "failed", f"{type(error).__name__}: {_first_line(error)}"
    wanted = flat_tensors(result)
    for i, (ours, theirs) in enumerate(zip(got, wanted, strict=True)):
        difference = compare(ours, theirs, unit.test, unit.dtype)
        if difference:
            return "failed", f"result {i}: {difference}"
    return "passed", ""


def compare(ours: torch.Tensor, theirs: torch.Tensor, test: OpTest, dtype: str) -> str:
    """How a result differs from torch's.

    Args:
        ours, theirs: the results.
        test: says tolerances, and whether values are compared.
        dtype: the dtype of the samples.

    Returns:
        What is different; empty if nothing is.
    """
    theirs = theirs.detach().resolve_conj().resolve_neg()
    if ours.dtype != theirs.dtype:
        return f"dtype {ours.dtype}, torch has {theirs.dtype}"
    if ours.shape != theirs.shape:
        return f"shape {list(ours.shape)}, torch has {list(theirs.shape)}"
    if test.compare == "shape":
        return ""
    tol = (test.tol or {}).get(dtype)
    options: dict[str, Any] = {} if tol is None else {"rtol": tol.rtol, "atol": tol.atol}
    try:
        torch.testing.assert_close(ours, theirs, equal_nan=True, **options)
    except AssertionError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        return " ".join(lines[:4])
    return ""


def _about(known: Sequence[XFail], dtype: str, mode: str, sample: Any) -> XFail | None:
    for entry in known:
        if entry.about(dtype, mode, sample):
            return entry
    return None


def _copies(sample: Any) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Tensors of a sample with their contents, for samples that torch writes into."""
    every = flat_tensors([sample.input, list(sample.args), dict(sample.kwargs)])
    return [(t, t.clone()) for t in every if t.layout is torch.strided]


def _restore(kept: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> None:
    for tensor, before in kept:
        if not torch.equal(tensor, before) and not tensor.isnan().any():
            tensor.copy_(before)


def _short(error: OnnxwrightError) -> str:
    text = error.diagnostic.words(type(error.diagnostic).title) if error.diagnostics else str(error)
    return text.splitlines()[0][:400]


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:300] if text else ""


_infos: dict[str, Any] = {}


def infos_cached() -> dict[str, Any]:
    """As `infos`, read once a process."""
    if not _infos:
        _infos.update(infos())
    return _infos
