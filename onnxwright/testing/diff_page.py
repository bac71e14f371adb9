"""The differences of two models as HTML, side by side; every text of a model is escaped."""

from __future__ import annotations

from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --del: #f8514933; --add: #2ea04333;
        --chg: #d2992233; --rew: #388bfd33; --dim: #8889; }
.ow-diff { font: 13px/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.ow-diff h2 { font-size: 15px; margin: 1.4em 0 .4em; }
.ow-diff p.sum { margin: .3em 0 1em; font-family: system-ui, sans-serif; font-size: 14px; }
.ow-diff table { border-collapse: collapse; width: 100%; table-layout: fixed; }
.ow-diff td { border-top: 1px solid var(--line); padding: 2px 8px; vertical-align: top;
              overflow-wrap: anywhere; white-space: pre-wrap; }
.ow-diff td.m { width: 1.6em; text-align: center; color: var(--dim); }
.ow-diff tr.same td { color: var(--dim); }
.ow-diff tr.removed td.l { background: var(--del); }
.ow-diff tr.added td.r { background: var(--add); }
.ow-diff tr.changed td.l, .ow-diff tr.changed td.r { background: var(--chg); }
.ow-diff tr.rewired td.l, .ow-diff tr.rewired td.r { background: var(--rew); }
.ow-diff ul { margin: 2px 0 4px; padding-left: 1.4em; }
.ow-diff details summary { color: var(--dim); cursor: pointer; }
"""
_MARK = {"added": "+", "removed": "&minus;", "changed": "~", "rewired": "&gt;", "same": ""}
# Unchanged nodes shown around a difference; the rest is folded away.
_AROUND = 2


def page(title: str, summary: str, diff: Any, *, whole: bool = True) -> str:
    """A `Diff` as HTML.

    Args:
        title: the page's title.
        summary: the line under it.
        diff: the differences.
        whole: a page of its own, not a piece for a notebook.
    """
    parts = [f"<style>{_STYLE}</style>", '<div class="ow-diff">']
    if title:
        parts.append(f"<h1>{escape(title)}</h1>")
    parts.append(f'<p class="sum">{escape(summary)}</p>')
    parts += _list(diff)
    for where, rows in diff.rows.items():
        parts += [f"<h2>{escape(where)}</h2>", *_table(rows)]
    parts.append("</div>")
    body = "\n".join(parts)
    if not whole:
        return body
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{escape(title)}</title>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _list(diff: Any) -> list[str]:
    """Differences that are not nodes."""
    lines = []
    for change in diff.changes:
        if change.what == "node":
            continue
        shown = change.left or change.right or change.name
        if change.kind in ("changed", "rewired"):
            shown = f"{change.name}: {'; '.join(change.details)}"
        lines.append(f"<li>{_MARK[change.kind]} {escape(change.what)} {escape(shown)}</li>")
    return ["<ul>", *lines, "</ul>"] if lines else []


def _table(rows: list[Any]) -> list[str]:
    near = [False] * len(rows)
    for n, row in enumerate(rows):
        if row.kind != "same":
            for k in range(max(0, n - _AROUND), min(len(rows), n + _AROUND + 1)):
                near[k] = True
    lines = ["<table>"]
    n = 0
    while n < len(rows):
        if near[n]:
            lines.append(_row(rows[n]))
            n += 1
            continue
        start = n
        while n < len(rows) and not near[n]:
            n += 1
        lines.append(_folded(rows[start:n]))
    return [*lines, "</table>"]


def _row(row: Any) -> str:
    details = "".join(f"<li>{escape(d)}</li>" for d in row.details)
    more = f"<ul>{details}</ul>" if details else ""
    return (
        f'<tr class="{row.kind}"><td class="m">{_MARK[row.kind]}</td>'
        f'<td class="l">{escape(row.left)}</td><td class="r">{escape(row.right)}{more}</td></tr>'
    )


def _folded(rows: list[Any]) -> str:
    inside = "\n".join(escape(row.left) for row in rows)
    noun = "node" if len(rows) == 1 else "nodes"
    return (
        f'<tr class="same"><td class="m"></td><td colspan="2"><details>'
        f"<summary>{len(rows)} {noun} the same</summary>{inside}</details></td></tr>"
    )


__all__ = ["page"]
