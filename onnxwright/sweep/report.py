"""What a sweep found, as data, as lines for a terminal and as a page of HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from onnxwright.sweep.results import Settings, UnitResult
from onnxwright.sweep.units import DTYPES, STATUSES, WRONG, Outcome

# How many wrong samples of one unit and mode are listed; the others are counted.
_TOLD = 3


@dataclass(frozen=True)
class Report:
    """The results of a sweep.

    Fields:
        settings: how it was run.
        results: one for each unit.
        seconds: how long it took.
        opinfos: how many OpInfos torch has.
    """

    settings: Settings
    results: Sequence[UnitResult]
    seconds: float = 0.0
    opinfos: int = 0
    asked: dict[str, Any] = field(default_factory=dict)

    @property
    def outcomes(self) -> Iterable[Outcome]:
        """All outcomes."""
        return (o for r in self.results for o in r.outcomes)

    def totals(self) -> Counter[str]:
        """How many samples have each status."""
        return Counter(o.status for o in self.outcomes)

    @property
    def wrong(self) -> int:
        """How many samples are something to fix."""
        return sum(n for status, n in self.totals().items() if status in WRONG)

    def data(self) -> dict[str, Any]:
        """The report for JSON."""
        return {
            "settings": {**self.settings.data(), **self.asked},
            "seconds": round(self.seconds, 2),
            "totals": dict(self.totals()),
            "statuses": STATUSES,
            "opinfos": {"torch": self.opinfos, "tested": len({r.test for r in self.results})},
            "units": [_unit_data(r) for r in self.results],
        }

    def text(self, most: int = 20) -> str:
        """The report as lines.

        Args:
            most: how many units with wrong samples are listed, each with its first.
        """
        totals = self.totals()
        counted = ", ".join(f"{n} {status}" for status, n in _in_order(totals))
        lines = []
        wrong: dict[tuple[str, str], list[Outcome]] = {}
        for r in self.results:
            for o in r.outcomes:
                if o.is_wrong:
                    wrong.setdefault((r.key, o.mode), []).append(o)
        for (key, mode), several in list(wrong.items())[:most]:
            first = several[0]
            more = f" (and {len(several) - 1} more)" if len(several) > 1 else ""
            lines.append(f"{key} {mode} #{first.sample} {first.status}: {first.why}{more}")
        if len(wrong) > most:
            lines.append(f"... and {len(wrong) - most} more units")
        ran = sum(n for s, n in totals.items() if s != "refused")
        per_minute = f", {ran / self.seconds * 60:.0f} samples a minute" if self.seconds else ""
        spent = f"{self.seconds:.1f} s{per_minute}"
        lines.append(f"{len(self.results)} units, {counted or 'no sample'} in {spent}")
        return "\n".join(lines)

    def html(self) -> str:
        """The report as one page that fetches nothing."""
        return _page(self)


def _in_order(counts: Counter[str]) -> list[tuple[str, int]]:
    return [(status, counts[status]) for status in STATUSES if counts[status]]


def _unit_data(result: UnitResult) -> dict[str, Any]:
    modes: dict[str, Any] = {}
    listed: list[dict[str, Any]] = []
    reasons: Counter[tuple[str, str, str]] = Counter()
    for o in result.outcomes:
        mode = modes.setdefault(o.mode, {"seconds": 0.0, "ran": {}})
        mode[o.status] = mode.get(o.status, 0) + 1
        mode["seconds"] = round(mode["seconds"] + o.seconds, 4)
        if o.status == "passed":
            for name in o.ran:
                mode["ran"][name] = mode["ran"].get(name, 0) + 1
        if o.is_wrong:
            listed.append({"mode": o.mode, "sample": o.sample, "status": o.status, "why": o.why})
        elif o.status != "passed":
            reasons[(o.mode, o.status, o.why)] += 1
    return {
        "key": result.key,
        "function": result.function,
        "test": result.test,
        "dtype": result.dtype,
        "module": result.module,
        "seconds": round(result.seconds, 3),
        "modes": modes,
        "wrong": listed,
        "reasons": [
            {"mode": mode, "status": status, "why": why, "samples": n}
            for (mode, status, why), n in reasons.items()
        ],
    }


_STYLE = """
:root { color-scheme: light dark; }
body { font: 13px/1.5 system-ui, sans-serif; margin: 0 16px 32px; }
table { border-collapse: collapse; font: 12px/1.5 ui-monospace, Menlo, Consolas, monospace; }
td, th { border: 1px solid #8884; padding: 1px 6px; text-align: left; vertical-align: top; }
thead th { position: sticky; top: 0; background: Canvas; }
td.n { text-align: right; white-space: nowrap; }
.ok { background: #2ea04330; } .bad { background: #f8514940; } .known { background: #d2992240; }
.none { color: #7d8590; }
summary { cursor: pointer; }
"""


def _page(report: Report) -> str:
    totals = report.totals()
    chips = ", ".join(f"{n} {escape(status)}" for status, n in _in_order(totals))
    about = ", ".join(f"{k} {v}" for k, v in report.settings.data().items())
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>OpInfo sweep</title>",
        f"<style>{_STYLE}</style><h1>OpInfo sweep</h1>",
        f"<p><b>{chips}</b> in {report.seconds:.1f} s; {len(report.results)} units.</p>",
        f"<p>{escape(about)}</p>",
        "<p>" + "; ".join(f"<i>{s}</i>: {escape(why)}" for s, why in STATUSES.items()) + ".</p>",
        "<p>A cell shows, for each mode, the samples that passed of those that count.</p>",
        _table(report),
        _wrong(report),
        _reasons(report),
    ]
    return "\n".join(parts) + "</html>\n"


def _table(report: Report) -> str:
    rows: dict[tuple[str, str, str], dict[str, UnitResult]] = {}
    for r in report.results:
        rows.setdefault((r.module, r.function, r.test), {})[r.dtype] = r
    dtypes = [d for d in DTYPES if any(d in row for row in rows.values())]
    head = "".join(f"<th>{d}</th>" for d in dtypes)
    first = "<th>module</th><th>function</th><th>OpInfo</th>"
    lines = [
        "<h2>By function and dtype</h2>",
        f"<table><thead><tr>{first}{head}<th>seconds</th></tr></thead><tbody>",
    ]
    for (module, function, test), row in rows.items():
        cells = "".join(_cell(row.get(d), report.settings.modes) for d in dtypes)
        seconds = sum(r.seconds for r in row.values())
        lines.append(
            f"<tr><td>{escape(module)}</td><td>{escape(function)}</td><td>{escape(test)}</td>"
            f"{cells}<td class=n>{seconds:.2f}</td></tr>"
        )
    return "\n".join([*lines, "</tbody></table>"])


def _cell(result: UnitResult | None, modes: Sequence[str]) -> str:
    if result is None:
        return "<td class=none></td>"
    by_mode = {m: Counter(o.status for o in result.outcomes if o.mode == m) for m in modes}
    every = sum(by_mode.values(), Counter[str]())
    excused = every["xfailed"] + every["skipped"]
    kind = "bad" if any(every[s] for s in WRONG) else "known" if excused else "ok"
    shown = " ".join(
        f"{c['passed']}/{sum(n for s, n in c.items() if s != 'refused')}" for c in by_mode.values()
    )
    title = "; ".join(
        f"{m}: " + ", ".join(f"{n} {s}" for s, n in _in_order(c)) for m, c in by_mode.items()
    )
    if not every["passed"] and kind == "ok":
        kind = "none"
    return f'<td class="n {kind}" title="{escape(title)}">{shown}</td>'


def _wrong(report: Report) -> str:
    lines = ["<h2>To fix</h2>"]
    for r in report.results:
        wrong = [o for o in r.outcomes if o.is_wrong]
        if not wrong:
            continue
        lines.append(f"<details><summary>{escape(r.key)}: {len(wrong)}</summary><ul>")
        per_mode: Counter[str] = Counter()
        for o in wrong:
            per_mode[o.mode] += 1
            if per_mode[o.mode] <= _TOLD:
                lines.append(f"<li>{o.mode} #{o.sample} {o.status}: {escape(o.why)}</li>")
        rest = sum(max(n - _TOLD, 0) for n in per_mode.values())
        lines.append(f"</ul>{f'<p>and {rest} more, all in the JSON</p>' if rest else ''}</details>")
    return "\n".join(lines) if len(lines) > 1 else "<h2>To fix</h2><p>Nothing.</p>"


def _reasons(report: Report) -> str:
    reasons: Counter[tuple[str, str, str]] = Counter()
    where: dict[tuple[str, str, str], dict[str, None]] = {}
    for o in report.outcomes:
        if o.why and not o.is_wrong:
            key = (o.test, o.status, o.why)
            reasons[key] += 1
            where.setdefault(key, {})[f"{o.dtype} {o.mode}"] = None
    rows = [
        f"<tr><td>{escape(test)}</td><td>{status}</td><td class=n>{n}</td>"
        f"<td>{escape(', '.join(where[test, status, why]))}</td><td>{escape(why)}</td></tr>"
        for (test, status, why), n in reasons.items()
    ]
    return (
        "<h2>Expected failures, skipped and refused samples</h2><table><thead><tr><th>OpInfo</th>"
        "<th>status</th><th>samples</th><th>where</th><th>reason</th></tr></thead><tbody>"
        + "\n".join(rows)
        + "</tbody></table>"
    )
