"""PyTorch's OpInfo samples through our ATen functions and through onnxscript's torchlib, eagerly.

    python benchmarks/opinfo_vs_torchlib.py --op add --op softmax
    python benchmarks/opinfo_vs_torchlib.py --limit 4 --json figures.json   # every OpInfo we test

Needs the extras `sweep` and `bench`.  Both libraries get the same samples, as the operators that
PyTorch runs for them, and their results are compared with PyTorch's alike, with the tolerances of
our table.  Torchlib's functions are called in their eager mode with numpy arrays; a call that fails
is tried again with sizes as arrays.  What torchlib leaves to its exporter (type promotion, Python
numbers of another kind than the tensor) is not added here, and some of its functions have no eager
mode: its counts say what its functions do by themselves, not what `torch.onnx` exports.

Times are those of the samples that both pass, the second run of each, torch's part aside.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from onnxwright.atenlib.optest import Skip
from onnxwright.exporter.torch_types import dtype_of, to_numpy, to_torch
from onnxwright.sweep import units as sweep
from onnxwright.sweep.aten_runs import SAME, UNKNOWN, functional_name, leaves, run_eagerly


@dataclass
class Row:
    """One OpInfo in one dtype."""

    opinfo: str
    dtype: str
    samples: int = 0
    ours: int = 0
    torchlib: int = 0
    both: int = 0
    ours_seconds: float = 0.0
    torchlib_seconds: float = 0.0
    ours_first: str = ""  # what went wrong first
    torchlib_first: str = ""


class Torchlib:
    """Plays recorded calls with torchlib's functions."""

    def __init__(self) -> None:
        import onnxscript.function_libs.torch_lib.ops  # noqa: F401 - importing it registers
        from onnxscript.function_libs.torch_lib.registration import default_registry

        self.registry = default_registry

    def run(self, calls: Sequence[Any], result: Any, _opset_version: int) -> list[Any]:
        """The results of recorded calls, as `run_eagerly` gives ours."""
        held: dict[int, tuple[Any, Any]] = {}
        for call in calls:
            name = functional_name(call.target)
            convert = _Converter(held)
            args = [convert(a) for a in call.args]
            kwargs = {k: convert(v) for k, v in call.kwargs.items()}
            if name in SAME:
                made = args[0]
            else:
                made = self._call(name, args, kwargs, is_complex=convert.complex)
            _bind(held, call.result, made)
        return [_to_torch(t, held) for t in leaves(result)]

    def _call(self, name: str, args: list[Any], kwargs: dict[str, Any], *, is_complex: bool) -> Any:
        entry = self.registry[name]
        functions = entry.complex if is_complex and entry.complex else entry.overloads
        error: Exception = LookupError(f"torchlib has no function for {name}")
        for function in functions:
            names = {p.name for p in function.op_signature.params}
            known = {k: v for k, v in kwargs.items() if k in names}
            for given in (args, [_sizes_as_array(a) for a in args]):
                try:
                    return function(*given, **known)
                except Exception as raised:  # noqa: BLE001 - it may raise anything
                    error = raised
        raise error


class _Converter:
    """An argument as torchlib takes it; notes whether a tensor was complex."""

    def __init__(self, held: dict[int, tuple[Any, Any]]) -> None:
        self.held = held
        self.complex = False

    def __call__(self, x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            self.complex |= x.is_complex()
            if id(x) not in self.held:
                plain = torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
                self.held[id(x)] = (x, to_numpy(plain))
            return self.held[id(x)][1]
        if isinstance(x, torch.dtype):
            return int(dtype_of(x))
        if isinstance(x, (list, tuple)):
            return [self(v) for v in x]
        return None if isinstance(x, (torch.device, torch.layout, torch.memory_format)) else x


def _sizes_as_array(x: Any) -> Any:
    if isinstance(x, list) and x and all(isinstance(v, int) for v in x):
        return np.array(x, np.int64)
    return x


def _bind(held: dict[int, tuple[Any, Any]], tensors: Any, values: Any) -> None:
    if isinstance(tensors, torch.Tensor):
        held[id(tensors)] = (tensors, values)
    elif isinstance(tensors, (list, tuple)):
        for tensor, value in zip(tensors, values, strict=True):
            _bind(held, tensor, value)


def _to_torch(leaf: Any, held: dict[int, tuple[Any, Any]]) -> Any:
    if not isinstance(leaf, torch.Tensor):
        return UNKNOWN
    value = held[id(leaf)][1] if id(leaf) in held else to_numpy(leaf)
    found = to_torch(np.asarray(getattr(value, "value", value)))
    return torch.view_as_complex(found.contiguous()) if leaf.is_complex() else found


def measure(unit: sweep.Unit, torchlib: Torchlib | None, limit: int | None) -> Row:
    """Both libraries on the samples of a unit."""
    row = Row(unit.test.name, unit.dtype)
    info = sweep.infos()[unit.test.name]
    for n, sample in enumerate(sweep.draw(info, unit.dtype)):
        if isinstance(sample, Exception) or (limit is not None and n >= limit):
            break
        if isinstance(sweep.known_about(unit, "eager", sample), Skip):
            continue
        try:
            recorded = sweep.record_sample(info, sample)
        except Exception:  # noqa: BLE001, S112 - torch refuses the sample
            continue
        row.samples += 1
        mine, seconds, why = _judge(run_eagerly, recorded, unit)
        theirs, their_seconds, their_why = False, 0.0, "not run"
        if torchlib is not None:
            theirs, their_seconds, their_why = _judge(torchlib.run, recorded, unit)
        row.ours += mine
        row.torchlib += theirs
        row.ours_first = row.ours_first or why
        row.torchlib_first = row.torchlib_first or their_why
        if mine and theirs:
            row.both += 1
            row.ours_seconds += seconds
            row.torchlib_seconds += their_seconds
    return row


def _judge(
    run: Callable[..., Any], recorded: sweep.Recorded, unit: sweep.Unit
) -> tuple[bool, float, str]:
    """Whether a run gives torch's results, and how long the second one takes."""
    calls, result, wanted = recorded
    try:
        got = run(calls, result, sweep.OPSET)
        begun = time.perf_counter()
        run(calls, result, sweep.OPSET)
        seconds = time.perf_counter() - begun
        status, why = sweep.judge_results(got, wanted, unit.test, unit.dtype)
    except Exception as error:  # noqa: BLE001 - a function may raise anything
        return False, 0.0, f"{type(error).__name__}: {str(error).strip()[:160]}"
    return status == "passed", seconds, why


def show(rows: Sequence[Row]) -> None:
    """Print the table, OpInfo by OpInfo, and the sums."""
    print(f"{'OpInfo':44}{'dtype':10}{'samples':>8}{'ours':>6}{'torchlib':>9}"
          f"{'ours ms':>9}{'torchlib ms':>12}")  # fmt: skip
    for r in [*rows, _sum(rows)]:
        print(f"{r.opinfo:44}{r.dtype:10}{r.samples:8}{r.ours:6}{r.torchlib:9}"
              f"{r.ours_seconds * 1e3:9.1f}{r.torchlib_seconds * 1e3:12.1f}")  # fmt: skip
    better = [r.opinfo for r in rows if r.torchlib > r.ours]
    print(f"times are of the {sum(r.both for r in rows)} samples that both pass")
    print(f"torchlib passes more samples than ours of: {', '.join(better) or 'none'}")


def _sum(rows: Sequence[Row]) -> Row:
    total = Row("all", "")
    for r in rows:
        for name in ("samples", "ours", "torchlib", "both", "ours_seconds", "torchlib_seconds"):
            setattr(total, name, getattr(total, name) + getattr(r, name))
    return total


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--op", action="append", help="an operator or OpInfo; all by default")
    parser.add_argument("--dtype", action="append", help="float32 by default")
    parser.add_argument("--limit", type=int, help="samples of each OpInfo")
    parser.add_argument("--only", choices=["onnxwright"], help="leave torchlib out")
    parser.add_argument("--json", metavar="FILE", help="write the rows")
    given = parser.parse_args()
    torch.set_num_threads(1)
    by_opinfo = {
        (u.test.name, u.dtype): u
        for u in reversed(sweep.units(given.op, given.dtype or ["float32"]))
    }
    torchlib = None if given.only else Torchlib()
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for unit in reversed(by_opinfo.values()):
            rows.append(measure(unit, torchlib, given.limit))
            if sys.stderr.isatty():
                print(f"\r{len(rows)} of {len(by_opinfo)}", end="", file=sys.stderr)
    show(rows)
    if given.json:
        data = [asdict(r) for r in rows]
        Path(given.json).write_text(json.dumps(data, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
