"""Runs every benchmark beside its peers and writes one table of ratios, with spread and aims.

    python benchmarks/run.py --out docs/benchmarks      # benchmarks.md, .json and .html
    python benchmarks/run.py --rounds 5 --only eager builder
    python benchmarks/run.py --again docs/benchmarks.json --out docs/benchmarks   # write anew

The benchmarks take turns: each round runs every one of them once, in a process of its own, so that
a busy moment of the machine meets them all.  A figure is the median of the rounds, its spread the
lowest and the highest.  Ratios below 1 are better unless the row says otherwise.  A row misses its
aim where its median does.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PACKAGES = (
    "onnx", "onnx-ir", "onnxruntime", "numpy", "torch", "onnxscript", "spox",
    "onnxslim", "onnxsim", "onnxoptimizer",
)  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """One row of one round.

    Fields:
        name: what is measured.
        value: the ratio or the amount.
        unit: what it is, such as "x onnxscript" or "us a node".
        aim: the value that is aimed at, or None.
        more: whether more is better.
    """

    name: str
    value: float
    unit: str
    aim: float | None = None
    more: bool = False


@dataclass
class Row:
    """One row of the table.

    Fields:
        part: the benchmark.
        name, unit, aim, more: as in `Figure`.
        values: one for each round.
    """

    part: str
    name: str
    unit: str
    aim: float | None
    more: bool
    values: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The figure."""
        return statistics.median(self.values)

    @property
    def met(self) -> bool | None:
        """Whether the aim is met; None without one."""
        if self.aim is None:
            return None
        return self.median >= self.aim if self.more else self.median <= self.aim


# -- what each benchmark's JSON says ---------------------------------------------------------------


def _ratios(
    figures: dict[str, dict[str, float]], peer: str, aims: dict[str, float]
) -> Iterator[Figure]:
    """Ours over a peer's, where both are there."""
    for name, row in figures.items():
        if "onnxwright" in row and row.get(peer):
            aim = next((aims[start] for start in aims if name.startswith(start)), None)
            yield Figure(name, row["onnxwright"] / row[peer], f"x {peer}", aim)


def authoring(figures: Any) -> Iterator[Figure]:
    """Decorating and compiling, beside onnxscript."""
    aims = {"import + first compile": 0.9, "repeated compile": 0.5}
    yield from _ratios(figures, "onnxscript", aims)


def eager(figures: Any) -> Iterator[Figure]:
    """Eager calls, as multiples of ONNX Runtime itself; onnxscript beside."""
    for name, row in figures.items():
        yield Figure(name, row["onnxwright"] / row["raw"], "x raw ONNX Runtime", 1.3)
        if "onnxscript" in row:
            yield Figure(name, row["onnxwright"] / row["onnxscript"], "x onnxscript")


def builder(figures: Any) -> Iterator[Figure]:
    """Building graphs node by node."""
    for name, value in figures["onnxwright"].items():
        if name == "growth":
            yield Figure("time a node, largest over smallest graph", value, "x", 1.5)
            continue
        yield Figure(name.replace(", us each", ""), value, "us a node", 90.0)
        for peer in ("onnx.helper", "spox", "onnxscript"):
            if name in figures.get(peer, {}):
                ratio = value / figures[peer][name]
                yield Figure(name.replace(", us each", ""), ratio, f"x {peer}")


def export(figures: Any) -> Iterator[Figure]:
    """Exporting PyTorch programs, beside torch.onnx."""
    for name, row in figures.items():
        yield Figure(f"{name}: capture and conversion", row["capture"], "x bare torch.export", 1.3)
        if "convert" in row:
            yield Figure(f"{name}: conversion", 1 / row["convert"], "x torch.onnx", 0.1)
            yield Figure(f"{name}: nodes", row["nodes"], "x torch.onnx", 1.0)
        if "run" in row:
            yield Figure(f"{name}: latency", row["run"], "x torch.onnx", 1.05)


def optimize(figures: Any) -> Iterator[Figure]:
    """Optimizing, beside the best of the optimizers that are installed and right."""
    for name, rows in figures.items():
        ours = rows["onnxwright"]
        peers = [
            row
            for library, row in rows.items()
            if library not in ("original", "onnxwright")
            and "nodes" in row
            and row.get("wrong") is None
        ]
        for what, unit, aim in (
            ("nodes", "x the fewest", 1.0),
            ("ms", "x the lowest latency", 1.05),
        ):
            known = [row[what] for row in peers if row.get(what)]
            if known and what in ours:
                yield Figure(f"{name}: {what}", ours[what] / min(known), unit, aim)
        for peer, aim in (("onnxslim", 0.5), ("onnxsim", None), ("onnxscript", 0.2)):
            row = rows.get(peer, {})
            if row.get("seconds") and row.get("wrong") is None:
                yield Figure(f"{name}: seconds", ours["seconds"] / row["seconds"], f"x {peer}", aim)


def decompile(figures: Any) -> Iterator[Figure]:
    """Reading models back as Python."""
    for name, row in figures.items():
        yield Figure(name, row["onnxwright"], "ms a node", 0.4)
        if "onnxscript" in row:
            yield Figure(name, row["onnxwright"] / row["onnxscript"], "x onnxscript")


def sweep(figures: Any) -> Iterator[Figure]:
    """PyTorch's samples through the ATen functions, beside onnxscript's torchlib."""
    samples, ours, theirs = (sum(r[k] for r in figures) for k in ("samples", "ours", "torchlib"))
    yield Figure("samples that pass", ours / samples, "of all", 0.98, more=True)
    if theirs:
        yield Figure("samples that pass", ours / theirs, "x torchlib", 1.0, more=True)
        seconds = [sum(r[k] for r in figures) for k in ("ours_seconds", "torchlib_seconds")]
        yield Figure("time of samples that both pass", seconds[0] / seconds[1], "x torchlib", 1.0)


@dataclass(frozen=True)
class Part:
    """A benchmark.

    Fields:
        program: its file and arguments; "FILE" stands for a JSON file, else it prints JSON.
        read: its figures.
    """

    program: tuple[str, ...]
    read: Callable[[Any], Iterator[Figure]]


PARTS = {
    "authoring": Part(("authoring.py", "--repeat", "3", "--json"), authoring),
    "eager": Part(("eager.py", "--json"), eager),
    "builder": Part(("builder.py", "--nodes", "1000", "10000", "--json"), builder),
    "export": Part(
        ("export.py", "--turns", "30", "--same-opset", "--json", "--only",
         "mlp", "resnet", "llama", "vit"),
        export,
    ),
    "optimize": Part(
        ("optimize.py", "--layers", "50", "200", "--runs", "50", "--json", "FILE"), optimize
    ),
    "decompile": Part(("decompile.py", "--json"), decompile),
    "sweep": Part(
        ("opinfo_vs_torchlib.py", *(a for op in ("add", "softmax", "cat", "index_select", "gelu",
         "layer_norm", "cumsum", "topk") for a in ("--op", op)), "--limit", "4", "--json", "FILE"),
        sweep,
    ),
}  # fmt: skip


# -- running ---------------------------------------------------------------------------------------


def run(part: Part) -> list[Figure]:
    """The figures of one round of a benchmark.

    Raises:
        RuntimeError: it ended with an error.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        program, *arguments = (str(file) if a == "FILE" else a for a in part.program)
        done = subprocess.run(
            [sys.executable, str(HERE / program), *arguments],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise RuntimeError(f"{program} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        text = file.read_text(encoding="utf-8") if file.exists() else done.stdout
    return list(part.read(json.loads(text)))


def measure(names: Sequence[str], rounds: int) -> list[Row]:
    """Run the benchmarks in turns."""
    rows: dict[tuple[str, str, str], Row] = {}
    for turn in range(rounds):
        for name in names:
            print(f"round {turn + 1} of {rounds}: {name}", file=sys.stderr, flush=True)
            for figure in run(PARTS[name]):
                key = (name, figure.name, figure.unit)
                made = Row(name, figure.name, figure.unit, figure.aim, figure.more)
                rows.setdefault(key, made).values.append(figure.value)
    return list(rows.values())


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    from onnxwright import __version__

    # An editable install keeps the metadata of the day it was made.
    found = {"onnxwright": __version__}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0,
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": found,
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return names[0] if names else platform.machine()


# -- writing ---------------------------------------------------------------------------------------


def shown(value: float) -> str:
    """A figure with three digits that count."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def markdown(about: dict[str, Any], rows: Sequence[Row]) -> str:
    """The page of the documentation."""
    packages = ", ".join(f"{name} {number}" for name, number in about["packages"].items())
    lines = [
        "# Benchmarks",
        "",
        "<!-- Generated by `python benchmarks/run.py --out docs/benchmarks`. -->",
        "",
        "Every benchmark beside its peers, the benchmarks and the libraries taking turns. A figure",
        "is the median of the rounds; ratios are ours over the peer's: below 1 is better, unless",
        "the row says otherwise. `benchmarks/README.md` says what each one measures.",
        "",
        f"Measured on {about['processor']}, {about['cores']} cores, {about['system']}, Python",
        f"{about['python']}, load {about['load']} at the start. {packages}.",
    ]
    for part in dict.fromkeys(row.part for row in rows):
        lines += ["", f"## {part.capitalize()}", ""]
        lines += ["| what | figure | spread | aim |", "|---|--:|--:|---|"]
        for row in (r for r in rows if r.part == part):
            spread = f"{shown(min(row.values))} to {shown(max(row.values))}"
            lines.append(
                f"| {row.name} | {shown(row.median)} {row.unit} | {spread} | {_verdict(row)} |"
            )
    return "\n".join(lines) + "\n"


def _verdict(row: Row) -> str:
    if row.aim is None:
        return ""
    aim = f"{'at least' if row.more else 'at most'} {shown(row.aim)}"
    return aim if row.met else f"**missed**: {aim}"


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Benchmarks of onnxwright</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto }}
table {{ border-collapse: collapse; width: 100% }}
td, th {{ padding: .25rem .6rem; border-bottom: 1px solid #8884; text-align: left }}
tr.missed td {{ color: #c01818; font-weight: 600 }}
svg {{ display: block }}
</style>
<h1>Benchmarks</h1><p>{about}</p>{parts}
"""


def page(about: dict[str, Any], rows: Sequence[Row]) -> str:
    """The page with plots; rows that miss their aim are red."""
    parts = []
    for part in dict.fromkeys(row.part for row in rows):
        own = [row for row in rows if row.part == part]
        cells = "".join(
            f"<tr{'' if row.met is not False else ' class=missed'}><td>{html.escape(row.name)}</td>"
            f"<td>{shown(row.median)} {html.escape(row.unit)}</td><td>{_plot(row)}</td>"
            f"<td>{_verdict(row).replace('**', '')}</td></tr>"
            for row in own
        )
        head = (
            "<tr><th>what</th><th>figure</th><th>spread; the mark is the aim</th><th>aim</th></tr>"
        )
        parts.append(f"<h2>{part.capitalize()}</h2><table>{head}{cells}</table>")
    packages = ", ".join(f"{name} {number}" for name, number in about["packages"].items())
    text = (
        f"{about['processor']}, {about['cores']} cores, {about['system']}, "
        f"Python {about['python']}, load {about['load']} at the start. {packages}."
    )
    return _PAGE.format(about=html.escape(text), parts="".join(parts))


def _plot(row: Row, width: int = 240) -> str:
    """A bar to the median, a line over the spread, a mark at the aim."""
    most = max([*row.values, row.aim or 0.0, 1e-12]) * 1.05

    def x(value: float) -> str:
        return f"{width * value / most:.1f}"

    low, high = min(row.values), max(row.values)
    colour = "#c01818" if row.met is False else "#3b7dd8"
    aim = ""
    if row.aim is not None:
        at = x(row.aim)
        aim = f'<line x1="{at}" x2="{at}" y1="0" y2="16" stroke="currentColor" stroke-width="2"/>'
    return (
        f'<svg width="{width}" height="16" role="img" aria-label="{shown(row.median)}">'
        f'<rect y="4" width="{x(row.median)}" height="8" fill="{colour}"/>'
        f'<line x1="{x(low)}" x2="{x(high)}" y1="8" y2="8" stroke="currentColor"/>{aim}</svg>'
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write.

    Args:
        arguments: the command line.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="write OUT.md, OUT.json and OUT.html")
    parser.add_argument("--again", type=Path, help="take the figures of this JSON, run nothing")
    given = parser.parse_args(arguments)
    if given.again:
        data = json.loads(given.again.read_text(encoding="utf-8"))
        about, rows = data["machine"], [Row(**row) for row in data["rows"]]
    else:
        about, rows = machine(), measure(given.only, given.rounds)
    text = markdown(about, rows)
    if given.out is None:
        print(text)
        return 0
    data = json.dumps({"machine": about, "rows": [asdict(row) for row in rows]}, indent=1)
    for suffix, content in ((".md", text), (".json", data + "\n"), (".html", page(about, rows))):
        given.out.with_suffix(suffix).write_text(content, encoding="utf-8")
    missed = sum(row.met is False for row in rows)
    print(f"{len(rows)} rows, {missed} miss their aim: {given.out.with_suffix('.md')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
