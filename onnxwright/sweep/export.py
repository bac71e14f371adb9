# ruff: noqa: T201 - a command prints
"""Every OpInfo of PyTorch exported as a module of one operator, and its model run.

    python -m onnxwright.sweep.export float32 --limit 2

Known failures are in `KNOWN`, with their reasons.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from onnxwright.atenlib.load import functions
from onnxwright.atenlib.op import AtenFunction
from onnxwright.atenlib.optest import Matcher, OpTest, Tol, XFail
from onnxwright.atenlib.rules import Rule
from onnxwright.errors import OnnxwrightError
from onnxwright.exporter.api import export
from onnxwright.sweep.aten_runs import leaves
from onnxwright.sweep.judging import judge_results
from onnxwright.sweep.unique_parts import KINDS
from onnxwright.sweep.units import DTYPES, OPSET, Outcome, Unit, infos, samples

EXPORT = "export"
"""The mode of the outcomes."""

FEW = 2
"""How many samples torch.onnx was measured with."""

# Stands for what exports: a unit of a sweep is of a function.
EXPORTER = AtenFunction((EXPORT,), lambda op: None, Rule(), ())  # noqa: ARG005

# OpInfos without a test in the table whose results are what memory holds.
_UNINITIALIZED = frozenset({"empty_quantized"})


class OneOp(torch.nn.Module):  # type: ignore[misc]
    """A module that runs an OpInfo on a sample whose tensors are the inputs.

    Args:
        operator: what is run.
        sample: torch's SampleInput.

    Attributes:
        inputs: the tensors of the sample, in order.

    Example:
        >>> from torch.testing._internal.opinfo.core import SampleInput
        >>> module = OneOp(torch.add, SampleInput(torch.ones(2), args=(3,)))
        >>> module(torch.zeros(2)), len(module.inputs)
        (tensor([3., 3.]), 1)
    """

    def __init__(self, operator: Callable[..., Any], sample: Any) -> None:
        super().__init__()
        self.operator = operator
        arguments = (sample.input, tuple(sample.args), dict(sample.kwargs))
        self.flat, self.spec = pytree.tree_flatten(arguments)
        self.places = [n for n, x in enumerate(self.flat) if isinstance(x, torch.Tensor)]

    @property
    def inputs(self) -> tuple[torch.Tensor, ...]:
        """Copies of the tensors of the sample."""
        return tuple(self.flat[n].detach().clone() for n in self.places)

    def forward(self, *tensors: torch.Tensor) -> Any:
        """Run the operator with other tensors."""
        flat = list(self.flat)
        for place, tensor in zip(self.places, tensors):
            flat[place] = tensor
        first, args, kwargs = pytree.tree_unflatten(flat, self.spec)
        return self.operator(first, *args, **kwargs)


def export_units(
    ops: Sequence[str] | None = None, dtypes: Sequence[str] | None = None
) -> list[Unit]:
    """A unit for each OpInfo and dtype.

    Args:
        ops: names of OpInfos (`add`, `addmm:decomposed`, or without the variant); all by default.
        dtypes: names of torch dtypes; those of the sweep by default.

    Returns:
        The units, in torch's order; their tests have the tolerances of the table.

    Example:
        >>> [u.key for u in export_units(["addmm"], ["float32"])]
        ['addmm[export-float32]', 'addmm:decomposed[export-float32]']
    """
    tests: dict[str, list[OpTest]] = {}
    for entry in dict.fromkeys(functions().values()):
        for test in entry.tests:
            tests.setdefault(test.name, []).append(test)
    units = []
    for name, info in infos().items():
        if ops is not None and name not in ops and name.split(":")[0] not in ops:
            continue
        supported = info.supported_dtypes("cpu")
        test = _merged(name, tests.get(name, []))
        units += [
            Unit(EXPORTER, test, dtype)
            for dtype in dtypes or DTYPES
            if getattr(torch, dtype) in supported
        ]
    return units


def _merged(name: str, tests: Sequence[OpTest]) -> OpTest:
    """What the table says of an OpInfo, of whichever function."""
    tol: dict[str, Tol] = {}
    for test in tests:
        for dtype, tolerance in (test.tol or {}).items():
            had = tol.get(dtype, tolerance)
            tol[dtype] = Tol(max(had.rtol, tolerance.rtol), max(had.atol, tolerance.atol))
    random = bool(tests) and all(t.compare == "shape" for t in tests)
    shape = random or name in _UNINITIALIZED
    xfail = [x for t in tests for x in t.xfail]
    kinds = [t.compare for t in tests if t.compare in KINDS]
    return OpTest(name, tol or None, xfail, compare="shape" if shape else (*kinds, "values")[0])


def run_export(
    unit: Unit, limit: int | None = None, opset_version: int = OPSET, only: int | None = None
) -> Iterator[Outcome]:
    """Export the samples of a unit as modules of one operator, and run their models.

    Args:
        unit: one of `export_units`.
        limit: at most so many samples.
        only: the number of the one sample that is run; None for all.
    """
    info = infos()[unit.test.name]
    for n, sample in samples(info, unit.dtype, limit, only):
        begun = time.perf_counter()
        if isinstance(sample, Exception):
            status, why = "refused", _first_line(sample)
        else:
            with _quiet():
                status, why = _run(unit, info, sample, opset_version)
        seconds = time.perf_counter() - begun
        yield Outcome(EXPORT, unit.test.name, unit.dtype, EXPORT, n, status, why, seconds)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what torch prints and logs of programs it cannot capture."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.disable(before)


class _Draws(TorchDispatchMode):  # type: ignore[misc]
    """Sees whether random numbers are drawn."""

    any = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.any = self.any or torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))


def _run(unit: Unit, info: Any, sample: Any, opset_version: int) -> tuple[str, str]:
    module = OneOp(info.op, sample)
    torch.manual_seed(0)
    try:
        with _Draws() as draws:
            module(*module.inputs)
        # NOTE: under a mode, torch's `pinverse` of complex numbers is another matrix.
        expected = leaves(module(*module.inputs))
    except Exception as error:  # noqa: BLE001 - whatever torch raises, it refuses the sample
        return "refused", _first_line(error)
    test = unit.test
    if draws.any:
        test = OpTest(test.name, compare="shape")
    status, why = _judge(module, expected, test, unit.dtype, opset_version)
    return _with_known(status, why, unit, sample)


def _judge(
    module: OneOp, expected: list[Any], test: OpTest, dtype: str, opset_version: int
) -> tuple[str, str]:
    """Whether the exported model gives what torch gives."""
    step = "export"
    try:
        program = export(module, module.inputs, opset_version=opset_version, metadata="off")
        step = "run"
        got = leaves(program(*module.inputs))
    except Exception as error:  # noqa: BLE001 - a lowering may raise anything; the report shows it
        return "failed", f"{step}: {_first_line(error)}"
    if len(got) != len(expected):
        return "failed", f"{len(got)} results, torch has {len(expected)}"
    return judge_results(got, expected, test, dtype) if expected else ("passed", "")


def _with_known(status: str, why: str, unit: Unit, sample: Any) -> tuple[str, str]:
    """An outcome in the light of what is known to fail, of the table's and of the export's."""
    for limitations in KNOWN.get(unit.test.name, ()):
        if limitations.about(unit.dtype, EXPORT, sample):
            return _expected(status, why, limitations)
    if status == "failed":
        every: list[XFail] = [*unit.test.xfail]
        for entry in every:
            if entry.about(unit.dtype, "graph", sample):
                return "xfailed", entry.reason
    return status, why


def _expected(status: str, why: str, limit: Fails) -> tuple[str, str]:
    if status == "failed" and limit.says in why:
        return "xfailed", limit.reason
    if status == "failed":
        return "failed", f"{why} (expected: {limit.says})"
    if limit.sometimes:
        return status, why
    return "xpassed", f"expected: {limit.reason}"


def _first_line(error: BaseException) -> str:
    """An error in a line: its code, title and first note where it is one of ours."""
    if isinstance(error, OnnxwrightError) and error.diagnostics:
        message = error.diagnostic
        parts = [f"{message.code} {message.words(type(message).title)}", *message.notes[:1]]
        text = "; ".join(" ".join(p.split()) for p in parts)
    else:
        lines = str(error).strip().splitlines()
        text = f"{type(error).__name__}: {lines[0] if lines else ''}"
    return text[:400]


def verdict(outcomes: Sequence[Outcome]) -> str:
    """What became of an OpInfo as a whole.

    Args:
        outcomes: of all its samples in a dtype.

    Returns:
        "passed" if every sample that torch runs passed, else the first other status; "refused" if
        torch ran none.

    Example:
        >>> verdict([])
        'refused'
    """
    counted = [o.status for o in outcomes if o.status != "refused"]
    return next((s for s in counted if s != "passed"), counted[0] if counted else "refused")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run OpInfos from the command line and print what is not right.

    Returns:
        1 if something is wrong, else 0.
    """
    parser = argparse.ArgumentParser(prog="python -m onnxwright.sweep.export")
    parser.add_argument("dtype", choices=DTYPES)
    parser.add_argument("--op", action="append", metavar="NAME", help="an OpInfo")
    parser.add_argument("--limit", type=int, default=FEW, help="samples of each OpInfo; 0 for all")
    parser.add_argument("--share", default="0/1", metavar="N/OF", help="every OF-th, from N on")
    args = parser.parse_args(arguments)
    first, every = map(int, args.share.split("/"))
    torch.set_num_threads(1)
    counts: Counter[str] = Counter()
    for unit in export_units(args.op, [args.dtype])[first::every]:
        outcomes = list(run_export(unit, args.limit or None))
        counts[verdict(outcomes)] += 1
        shown = {o.status: o for o in outcomes if o.is_wrong or o.status == "xfailed"}
        for o in shown.values():
            print(f"{unit.key} #{o.sample} {o.status}: {o.why}", flush=True)
    print(", ".join(f"{n} {status}" for status, n in counts.most_common()))
    return 1 if counts["failed"] or counts["xpassed"] else 0


if __name__ == "__main__":
    raise SystemExit(main())


@dataclass(frozen=True)
class Fails(XFail):
    """A known failure of an export.

    Fields:
        says: text that the failure has to have.

    Example:
        >>> Fails("torch has no fake kernel", says="OW821").says
        'OW821'
    """

    says: str = ""


def _has_scalar_sections(sample: Any) -> bool:
    """Whether `tensor_split` gets the number of parts as a tensor."""
    return isinstance(sample.args[0], torch.Tensor) and sample.args[0].ndim == 0


def _known(
    reason: str,
    says: str,
    *names: str,
    dtypes: tuple[str, ...] = (),
    matcher: Matcher | None = None,
) -> list[tuple[str, Fails]]:
    return [(name, Fails(reason, dtypes, matcher, says=says)) for name in names]


_ROWS = [
    *_known(
        "ONNX has no sparse tensors that operators take",
        "OW838",
        "to_sparse",
        "sparse.sampled_addmm",
        "sparse.mm:reduce",
    ),
    *_known(
        "torch cannot capture a complex number that is an element of a tensor",
        "OW821",
        "item",
        dtypes=("complex64",),
    ),
    *_known(
        "ONNX has no complex numbers of halves: they are taken as COMPLEX64",
        "torch has torch.complex32",
        "chalf",
    ),
    *_known(
        "the number of parts is an element of a tensor: torch cannot capture it",
        "OW821",
        "tensor_split",
        matcher=_has_scalar_sections,
    ),
]

KNOWN: dict[str, list[Fails]] = {}
"""By the name of the OpInfo."""
for _name, _fails in _ROWS:
    KNOWN.setdefault(_name, []).append(_fails)
