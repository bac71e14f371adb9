"""What the ATen library covers: operator x dtype x mode, computed from the table and a sweep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from onnxwright.atenlib.load import functions
from onnxwright.sweep.aten_schemas import core_operators, has_function, no_inference
from onnxwright.sweep.units import COMPOSITE, DTYPES, infos

STATES = {
    "passed": "every sample that counts passed",
    "partly": "some samples passed, others are known to fail",
    "gap": "no sample passed",
    "shared": "no sample runs this name, but the same function passes under another",
    "unreached": "no sample runs this operator in this dtype",
    "direct": "no OpInfo holds it, tests of its own do",
    "torch": "torch has no samples in this dtype",
    "open": "not run: no report of a sweep was given",
}
_LETTERS = dict(zip(STATES, "+~!=?t.o", strict=True))
_NOT_COUNTED = ("passed", "refused", "seconds", "ran")


@dataclass
class Cell:
    """One operator in one dtype and mode.

    Fields:
        state: one of `STATES`.
        passed: how many samples that run the operator passed.
        reasons: why others did not, with how many samples each.
    """

    state: str = "open"
    passed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)


@dataclass
class Row:
    """One operator.

    Fields:
        name: its full name.
        function: the first name of its function.
        module: where the function is.
        tests: the OpInfos of the function.
        untested: why it has none.
        cells: (dtype, mode) -> what is known.
    """

    name: str
    function: str
    module: str
    tests: tuple[str, ...]
    untested: str
    cells: dict[tuple[str, str], Cell] = field(default_factory=dict)


@dataclass(frozen=True)
class Coverage:
    """The coverage of the library.

    Fields:
        rows: one for each operator.
        modes: the modes of the sweep.
        settings: of the sweep; empty without one.
        core: each operator of torch's core set that has no function, with the reason.
        core_total: how many operators the core set has.
        names: the operators of a list of the user's that have no function.
        names_total: how many the list has.
        opinfos: the OpInfos that no function is tested with.
        opinfos_total: how many OpInfos torch has.
    """

    rows: Sequence[Row]
    modes: Sequence[str]
    settings: Mapping[str, Any]
    core: Mapping[str, str]
    core_total: int
    names: Sequence[str]
    names_total: int
    opinfos: Sequence[str]
    opinfos_total: int

    def data(self) -> dict[str, Any]:
        """The coverage for JSON."""
        return {
            "states": STATES,
            "settings": dict(self.settings),
            "core": {"total": self.core_total, "without": dict(self.core)},
            "names": {"total": self.names_total, "without": list(self.names)},
            "opinfos": {"total": self.opinfos_total, "without": list(self.opinfos)},
            "operators": [
                {
                    "name": r.name,
                    "function": r.function,
                    "module": r.module,
                    "tests": list(r.tests),
                    "untested": r.untested,
                    "cells": {
                        f"{dtype} {mode}": {
                            "state": c.state,
                            "passed": c.passed,
                            "reasons": dict(c.reasons),
                        }
                        for (dtype, mode), c in r.cells.items()
                    },
                }
                for r in self.rows
            ],
        }

    def states(self) -> Counter[str]:
        """How many cells have each state."""
        return Counter(c.state for r in self.rows for c in r.cells.values())

    def text(self, *, table: bool = True) -> str:
        """The coverage as lines."""
        lines = [self._line(r) for r in self.rows] if table else []
        if lines:
            lines = [f"{'operator':46} {' '.join(f'{d:8}' for d in DTYPES)}", *lines, ""]
            lines += [*(f"{_LETTERS[s]} {s}: {why}" for s, why in STATES.items()), ""]
        functions_ = len({r.function for r in self.rows})
        lines.append(f"{len(self.rows)} operators, {functions_} functions")
        states = self.states()
        counted = ", ".join(f"{states[s]} {s}" for s in STATES if states[s])
        lines.append(f"operator x dtype x mode: {counted}")
        pointless = sum(1 for why in self.core.values() if why)
        lacking = sorted(n for n, why in self.core.items() if not why)
        lines.append(
            f"core: {self.core_total - len(self.core)} of {self.core_total} operators, "
            f"{pointless} more have no meaning in inference, {len(lacking)} are missing"
        )
        lines += [f"  missing: {n}" for n in lacking]
        lines += [f"  without: {n} ({why})" for n, why in sorted(self.core.items()) if why]
        if self.names_total:
            there = self.names_total - len(self.names)
            lines.append(f"names: {there} of {self.names_total}")
            lines += [f"  missing: {n}" for n in self.names]
        tested = self.opinfos_total - len(self.opinfos)
        lines.append(f"OpInfos: functions are tested with {tested} of {self.opinfos_total}")
        return "\n".join(lines)

    def _line(self, row: Row) -> str:
        shown = [
            "".join(_LETTERS[row.cells[d, m].state] for m in self.modes if (d, m) in row.cells)
            for d in DTYPES
        ]
        return f"{row.name:46} {' '.join(f'{s:8}' for s in shown)}".rstrip()

    def html(self) -> str:
        """The coverage as a page that fetches nothing."""
        return _page(self)


def coverage(
    report: Mapping[str, Any] | None = None, names: Iterable[str] = (), ops: Sequence[str] = ()
) -> Coverage:
    """Compute the coverage.

    Args:
        report: the JSON of a sweep; without it no cell says more than that torch has samples.
        names: operators to look for, such as those of another library.
        ops: only these operators or functions.
    """
    table = functions()
    opinfos = infos()
    tested = {test.name for entry in (*table.values(), COMPOSITE) for test in entry.tests}
    core = core_operators()
    operator_names = list(names)
    modes = tuple(report["settings"]["modes"]) if report else ("eager", "graph")
    result = Coverage(
        rows=_rows(report, modes, ops),
        modes=modes,
        settings=report["settings"] if report else {},
        core={n: no_inference(n) for n in core if not has_function(n)},
        core_total=len(core),
        names=[n for n in operator_names if not has_function(n)],
        names_total=len(operator_names),
        opinfos=[n for n in opinfos if n not in tested],
        opinfos_total=len(opinfos),
    )
    return result


def _rows(report: Mapping[str, Any] | None, modes: Sequence[str], ops: Sequence[str]) -> list[Row]:
    passed: Counter[tuple[str, str, str]] = Counter()
    reasons: dict[tuple[str, str, str], Counter[str]] = {}
    for unit in report["units"] if report else ():
        dtype = unit["dtype"]
        for mode, outcome in unit["modes"].items():
            for name, n in outcome["ran"].items():
                passed[name, dtype, mode] += n
            counts = reasons.setdefault((unit["function"], dtype, mode), Counter())
            for reason in unit["reasons"]:
                if reason["mode"] == mode and reason["status"] not in _NOT_COUNTED:
                    counts[reason["why"]] += reason["samples"]
            for wrong in unit["wrong"]:
                if wrong["mode"] == mode:
                    counts[f"{wrong['status']}: {wrong['why']}"] += 1
    rows = []
    for name, entry in functions().items():
        if ops and name not in ops and entry.name not in ops:
            continue
        module = entry.body.__module__.rsplit(".", 1)[-1]
        tests = tuple(t.name for t in entry.tests)
        row = Row(name, entry.name, module, tests, entry.untested)
        samples = {d for t in tests for d in _dtypes_of(t)}
        for dtype in DTYPES:
            for mode in modes:
                reason_counts = reasons.get((entry.name, dtype, mode), Counter())
                counted = passed[name, dtype, mode]
                cell = _cell(
                    counted, reason_counts, samples=dtype in samples, run=report is not None
                )
                row.cells[dtype, mode] = cell
                if cell.state == "torch" and entry.untested:
                    cell.state = "direct"
                    cell.reasons[entry.untested] += 0
                elif cell.state in ("unreached", "gap") and any(
                    passed[n, dtype, mode] for n in entry.names
                ):
                    cell.state = "shared"
        rows.append(row)
    return rows


def _cell(passed: int, reasons: Counter[str], *, samples: bool, run: bool) -> Cell:
    if not run:
        state = "open" if samples else "torch"
    elif passed:
        state = "partly" if reasons else "passed"
    elif reasons:
        state = "gap"
    else:
        state = "unreached" if samples else "torch"
    return Cell(state, passed, reasons)


def _dtypes_of(test: str) -> set[str]:
    return {str(d).removeprefix("torch.") for d in infos()[test].supported_dtypes("cpu")}


_STYLE = """
:root { color-scheme: light dark; }
body { font: 13px/1.5 system-ui, sans-serif; margin: 0 16px 32px; }
table { border-collapse: collapse; font: 12px/1.5 ui-monospace, Menlo, Consolas, monospace; }
td, th { border: 1px solid #8884; padding: 1px 6px; text-align: left; }
thead th { position: sticky; top: 0; background: Canvas; }
.passed { background: #2ea04330; } .partly { background: #d2992240; }
.gap { background: #f8514940; }
.unreached, .shared, .direct, .torch, .open { color: #7d8590; }
"""


def _page(table: Coverage) -> str:
    head = "".join(f"<th>{d}</th>" for d in DTYPES)
    rows = []
    for r in table.rows:
        cells = "".join(_html_cell(r, d, table.modes) for d in DTYPES)
        about = ", ".join(r.tests) or f"untested: {r.untested}"
        rows.append(
            f"<tr><td>{escape(r.module)}</td><td>{escape(r.name)}</td>{cells}"
            f"<td>{escape(about)}</td></tr>"
        )
    why = "".join(f"<li><i>{s}</i>: {escape(w)}" for s, w in STATES.items())
    return "\n".join(
        [
            "<!doctype html><html lang=en><meta charset=utf-8><title>ATen coverage</title>",
            f"<style>{_STYLE}</style><h1>ATen coverage</h1>",
            f"<pre>{escape(table.text(table=False))}</pre>",
            f"<p>A cell shows {' / '.join(table.modes)}: samples that passed.</p><ul>{why}</ul>",
            f"<table><thead><tr><th>module</th><th>operator</th>{head}<th>OpInfos</th></tr>",
            "</thead><tbody>",
            *rows,
            "</tbody></table></html>\n",
        ]
    )


def _html_cell(row: Row, dtype: str, modes: Sequence[str]) -> str:
    cells = [row.cells[dtype, m] for m in modes]
    order = ("gap", "partly", "passed", "unreached", "shared", "direct", "open", "torch")
    state = min((c.state for c in cells), key=order.index)
    tooltip = "; ".join(
        f"{m}: {why} ({n} samples)" if n else why
        for m, c in zip(modes, cells, strict=True)
        for why, n in c.reasons.items()
    )
    shown = "" if state == "torch" else " / ".join(str(c.passed) for c in cells)
    return f'<td class={state} title="{escape(tooltip or STATES[state])}">{shown}</td>'
