"""The differences of two models as HTML, side by side; every text of a model is escaped."""

from __future__ import annotations

import html
from collections import Counter
from typing import Any

from onnxwright.compare.diff_summary import rule_rows
from onnxwright.diagnostics.text import clean_lines

_STYLE = """
:root { color-scheme: light dark; }
.ow-diff { --line: #8884; --del: #f8514930; --add: #2ea04330; --chg: #d2992230; --rew: #388bfd30;
    --ren: #8250df28; --dim: #7d8590; font: 13px/1.45 system-ui, sans-serif; margin: 0 12px 24px; }
.ow-diff h1 { font-size: 18px; overflow-wrap: anywhere; }
.ow-diff h2 { font-size: 14px; margin: 1.6em 0 .4em; overflow-wrap: anywhere; }
.ow-diff p { margin: .3em 0; }
.ow-diff .chip { display: inline-block; padding: 0 8px; margin: 2px 6px 2px 0; border-radius: 9px; }
.ow-diff table { border-collapse: collapse; width: 100%; table-layout: fixed;
    font: 12px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.ow-diff td, .ow-diff th { border-top: 1px solid var(--line); padding: 2px 8px; text-align: left;
    vertical-align: top; overflow-wrap: anywhere; white-space: pre-wrap; }
.ow-diff th { color: var(--dim); font-weight: 600; }
.ow-diff .m { width: 12px; text-align: center; color: var(--dim); }
.ow-diff .p { width: 13%; color: var(--dim); }
.ow-diff tr.same td { color: var(--dim); }
.ow-diff td.removed, .ow-diff .chip.removed { background: var(--del); }
.ow-diff td.added, .ow-diff .chip.added { background: var(--add); }
.ow-diff td.changed, .ow-diff .chip.changed { background: var(--chg); }
.ow-diff td.rewired, .ow-diff .chip.rewired { background: var(--rew); }
.ow-diff td.renamed, .ow-diff .chip.renamed { background: var(--ren); }
.ow-diff tr.why td { border-top: 0; }
.ow-diff td.why { padding: 0 8px 4px 28px; }
.ow-diff summary { color: var(--dim); cursor: pointer; }
.ow-diff td.fold { padding: 0; }
.ow-diff td.fold summary { padding: 1px 8px 1px 30px; }
"""
_MARK = {
    "added": "+", "removed": "&minus;", "changed": "~", "rewired": "&gt;", "renamed": "=",
    "replaced": "&plusmn;", "same": "",
}  # fmt: skip
_MEANING = {
    "removed": "only in the first", "added": "only in the second",
    "changed": "another attribute, type or value", "rewired": "reads something else",
    "renamed": "the same numbers under another name",
}  # fmt: skip
# Unchanged nodes shown around a difference; the rest is folded away.
_AROUND = 2


def escape(text: str) -> str:
    """Text of a model as HTML: nothing of it is markup, and nothing reorders the line."""
    return html.escape(clean_lines(text))


def page(title: str, summary: str, diff: Any, *, whole: bool = True) -> str:
    """A `Diff` as HTML.

    Args:
        title: the page's title.
        summary: the line under it.
        whole: a complete page, not a fragment for a notebook.
    """
    parts = [f"<style>{_STYLE}</style>", '<div class="ow-diff">']
    if title:
        parts.append(f"<h1>{escape(title)}</h1>")
    parts.append(f"<p>{escape(summary)}</p>")
    parts += _legend(diff)
    parts += _rules(diff)
    parts += _facts(diff)
    for where, rows in diff.rows.items():
        if any(row.kind != "same" for row in rows):
            parts += [f"<h2>{escape(where)}</h2>", *_table(rows)]
    quiet = [where for where, rows in diff.rows.items() if all(r.kind == "same" for r in rows)]
    if quiet:
        parts.append(f"<p>No difference in {escape(', '.join(quiet))}.</p>")
    parts.append("</div>")
    body = "\n".join(parts)
    if not whole:
        return body
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">\n"
        f"<title>{escape(title)}</title>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _legend(diff: Any) -> list[str]:
    counts = Counter(change.kind for change in diff.changes)
    chips = [
        f'<span class="chip {kind}">{_MARK[kind]} {counts[kind]} {kind}: {meaning}</span>'
        for kind, meaning in _MEANING.items()
        if counts[kind]
    ]
    return [f"<p>{''.join(chips)}</p>"] if chips else []


def _rules(diff: Any) -> list[str]:
    """What each rule of the optimizer did, where the second model says which rules made it."""
    rows = rule_rows(diff.changes)
    if not rows:
        return []
    head = "".join(
        f"<th{place}>{text}</th>"
        for text, place in (
            ("rule", ' class="p"'), ("which nodes", ""), ("times", ' class="p"'),
            ("nodes before", ' class="p"'), ("after", ' class="p"'),
        )
    )  # fmt: skip
    lines = ["<h2>rules</h2>", "<table>", f"<tr>{head}</tr>"]
    for row in rows:
        name = row.rules or "folded, equal or unused"
        numbers = (row.times, row.before, row.after)
        lines.append(
            f'<tr><td class="p">{escape(name)}</td><td>{escape(row.line[2:])}</td>'
            + "".join(f'<td class="p">{n}</td>' for n in numbers) + "</tr>"
        )  # fmt: skip
    return [*lines, "</table>"]


def _facts(diff: Any) -> list[str]:
    """Differences of the model itself, and whole functions."""
    lines = []
    for change in diff.changes:
        if change.where and change.what != "attribute" and change.kind != "rewired":
            continue
        if change.what == "node":
            continue
        cells = [escape(change.what), escape(change.name)]
        sides = (change.left, change.right)
        if not change.left and not change.right:
            sides = (change.details[0] if change.details else "", "")
        left, right = (escape(s if len(s) <= 2000 else f"{s[:1997]}...") for s in sides)
        lines.append(
            f'<tr><td class="m">{_MARK[change.kind]}</td><td class="p">{" ".join(cells)}</td>'
            f'<td class="{_side(change.kind, left, "removed")}">{left}</td>'
            f'<td class="{_side(change.kind, right, "added")}">{right}</td></tr>'
        )
    return ["<h2>model</h2>", "<table>", *lines, "</table>"] if lines else []


def _side(kind: str, text: str, lone: str) -> str:
    """The colour of a cell: none where there is nothing in it."""
    if not text:
        return ""
    return lone if kind in ("added", "removed", "replaced") else kind


def _table(rows: list[Any]) -> list[str]:
    placed = any(row.place for row in rows)
    near = [False] * len(rows)
    for n, row in enumerate(rows):
        if row.kind != "same":
            for k in range(max(0, n - _AROUND), min(len(rows), n + _AROUND + 1)):
                near[k] = True
    head = '<th class="p">from</th>' if placed else ""
    lines = ["<table>", f'<tr><th class="m"></th><th>first</th><th>second</th>{head}</tr>']
    n = 0
    while n < len(rows):
        start = n
        if not near[n]:
            while n < len(rows) and not near[n]:
                n += 1
            lines.append(_folded(rows[start:n], placed))
        elif rows[n].kind in ("removed", "added"):
            while n < len(rows) and rows[n].kind in ("removed", "added"):
                n += 1
            lines += _replaced(rows[start:n], placed)
        else:
            lines += _row(rows[n], placed)
            n += 1
    return [*lines, "</table>"]


def _replaced(rows: list[Any], placed: bool) -> list[str]:
    """What went beside what came in its place."""
    gone = [row for row in rows if row.kind == "removed"]
    come = [row for row in rows if row.kind == "added"]
    lines = []
    for n in range(max(len(gone), len(come))):
        one = gone[n] if n < len(gone) else None
        other = come[n] if n < len(come) else None
        kind = "replaced" if one and other else "removed" if one else "added"
        places = dict.fromkeys(row.place for row in (one, other) if row is not None and row.place)
        lines.append(
            _cells(kind, one.left if one else "", other.right if other else "",
                   ", ".join(places), placed)
        )  # fmt: skip
    return lines


def _row(row: Any, placed: bool) -> list[str]:
    lines = [_cells(row.kind, row.left, row.right, row.place, placed)]
    if row.details and row.kind != "renamed":
        lines_of_text = "\n".join(map(escape, row.details))
        more = "<td></td>" if placed else ""
        lines.append(
            f'<tr class="why"><td class="m"></td><td class="why {row.kind}" colspan="2">'
            f"{lines_of_text}</td>{more}</tr>"
        )
    return lines


def _cells(kind: str, left: str, right: str, place: str, placed: bool) -> str:
    more = f'<td class="p">{escape(place)}</td>' if placed else ""
    same = ' class="same"' if kind == "same" else ""
    one, other = _side(kind, left, "removed"), _side(kind, right, "added")
    return (
        f'<tr{same}><td class="m">{_MARK[kind]}</td><td class="{one}">{escape(left)}</td>'
        f'<td class="{other}">{escape(right)}</td>{more}</tr>'
    )


def _folded(rows: list[Any], placed: bool) -> str:
    inside = "\n".join(_cells("same", row.left, row.right, "", False) for row in rows)
    noun = "node" if len(rows) == 1 else "nodes"
    return (
        f'<tr class="same"><td class="fold" colspan="{4 if placed else 3}"><details>'
        f"<summary>{len(rows)} {noun} the same</summary><table>{inside}</table></details></td></tr>"
    )
