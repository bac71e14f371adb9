"""A model as a page of its own, and as a part of a notebook: figures, picture, listing."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from onnxwright.diagnostics.origins import Sources
from onnxwright.viz.page_data import page_data
from onnxwright.viz.summary import Summary
from onnxwright.viz.view import View

# Colours by what they say, so that a rule below is the same in light and in dark.
_COLOURS = {
    "text": ("#1f2328", "#e6edf3"),
    "muted": ("#57606a", "#9198a1"),
    "ground": ("#ffffff", "#0d1117"),
    "panel": ("#f6f8fa", "#161b22"),
    "line": ("#d0d7de", "#3d444d"),
    "edge": ("#6e7781", "#9198a1"),
    "wire": ("#8c959f", "#7d8590"),
    "accent": ("#0969da", "#4493f8"),
    "io": ("#dafbe1", "#12361f"),
    "io-line": ("#1a7f37", "#3fb950"),
    "heavy": ("#ddf4ff", "#122d52"),
    "call": ("#fbefff", "#2f1d4d"),
    "call-line": ("#8250df", "#ab7df8"),
    "fold": ("#eaeef2", "#262c36"),
    "fold-line": ("#424a53", "#b7bdc8"),
    "wrong": ("#cf222e", "#ff7b72"),
    "wrong-ground": ("#ffebe9", "#4a1517"),
    "flow": ("#d4a72c", "#d29922"),
    "flow-line": ("#9a6700", "#d29922"),
}


def _declared(which: int) -> str:
    return "".join(f"--{name}:{pair[which]};" for name, pair in _COLOURS.items())


_STYLE = (
    f"""
:root{{color-scheme:light dark;{_declared(0)}}}
@media (prefers-color-scheme:dark){{:root{{{_declared(1)}}}}}
"""
    """\
body{font:14px system-ui,sans-serif;margin:0;color:var(--text);background:var(--ground);
display:flex;flex-direction:column;min-height:100vh}
header,section{padding:8px 20px}h1{font-size:18px;margin:4px 0}h2{font-size:14px;margin:4px 0}
h3{font-size:12px;color:var(--muted);margin:8px 0 2px}summary{cursor:pointer}
table{border-collapse:collapse}td{padding:1px 14px 1px 0;vertical-align:top}
td:first-child{color:var(--muted);white-space:nowrap}
pre{font:12px ui-monospace,Menlo,Consolas,monospace;overflow:auto;background:var(--panel);
padding:10px}
.bar{display:flex;gap:8px;align-items:center;padding:4px 20px}
.bar input{width:22em;padding:3px 6px}.bar button,.bar select,aside button{font:inherit}
main{display:flex;flex:1 0 70vh;height:70vh;border-top:1px solid var(--line);
border-bottom:1px solid var(--line)}
#ow-svg{flex:1;min-width:0;height:100%;cursor:grab;touch-action:none}
#ow-svg:focus-visible{outline:2px solid var(--accent);outline-offset:-2px}
aside{width:380px;overflow:auto;border-left:1px solid var(--line);padding:8px 14px;font-size:13px}
aside td{padding-right:8px;overflow-wrap:anywhere}
aside tr.bad td{color:var(--wrong);font-weight:bold}
aside .link{display:inline-block;border:0;background:none;color:var(--accent);cursor:pointer;
padding:0;text-align:left}#ow-found .link{display:block}#ow-found{max-height:30%;overflow:auto}
.hint{color:var(--muted)}
#ow-svg text{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;
user-select:none;fill:var(--text)}
#ow-svg .op,#ow-svg .head{font-weight:bold}#ow-svg .more{fill:var(--muted)}
#ow-svg rect{rx:4;ry:4;fill:var(--panel);stroke:var(--muted)}#ow-tip path{fill:var(--edge)}
.box{cursor:pointer}#ow-svg .io rect{fill:var(--io);stroke:var(--io-line);rx:11;ry:11}
#ow-svg .const rect{fill:var(--ground);stroke:var(--wire);stroke-dasharray:3 2}
#ow-svg .heavy rect{fill:var(--heavy);stroke:var(--accent)}
#ow-svg .call rect{fill:var(--call);stroke:var(--call-line)}
#ow-svg .fold rect{fill:var(--fold);stroke:var(--fold-line)}
#ow-svg .bad rect{fill:var(--wrong-ground);stroke:var(--wrong)}
#ow-svg .frame>rect{fill:var(--wire);fill-opacity:.07;stroke:var(--wire)}
#ow-svg .frame.flow>rect{fill:var(--flow);stroke:var(--flow-line)}
#ow-svg .toggle{cursor:pointer}
#ow-svg .toggle rect{fill:var(--ground);rx:2;ry:2;stroke:var(--fold-line)}
#ow-svg .wire{fill:none;stroke:var(--wire)}
#ow-svg .wire.lit{stroke:var(--accent);stroke-width:2.5}
#ow-svg g.chosen.chosen>rect{stroke:var(--accent);stroke-width:3}
"""
)
_CANVAS = """\
<div class="bar"><input id="ow-search" type="search" placeholder="Search operators, names, modules"
aria-label="Search"><span id="ow-count"></span><select id="ow-graph" aria-label="Graph"></select>
<button id="ow-fold">Fold all</button><button id="ow-unfold">Unfold all</button>
<button id="ow-fit">Whole graph</button></div>
<main><svg id="ow-svg" role="application" aria-label="graph" tabindex="0"><defs>
<marker id="ow-tip" viewBox="0 0 8 8"
refX="8" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse"
orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs><g id="ow-scene"></g></svg>
<aside><div id="ow-found"></div><div id="ow-detail"></div></aside></main>
"""
# From this size on a notebook shows the listing instead of the picture.
_LARGE = 400


class Showable(Protocol):
    """What a page shows: a model as data, in figures, as text and as a picture."""

    @property
    def view(self) -> View:
        """The model as data."""

    @property
    def summary(self) -> Summary:
        """The model in figures."""

    def text(self) -> str:
        """The typed listing."""

    def svg(self) -> str:
        """The picture."""


def page(shown: Showable, sources: Sources = None, values: Mapping[str, Any] | None = None) -> str:
    """A page that needs nothing but a browser, which lays the graph out.

    Args:
        sources: Python files, or folders of them, whose lines may be shown.
        values: values of the main graph by name, of a run.

    Returns:
        An HTML document.
    """
    title = html.escape(shown.view.title or "model")
    data = json.dumps(page_data(shown.view, sources, values or {}), separators=(",", ":"))
    # Nothing in it may end the element that it is in.
    data = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    script = Path(__file__).with_name("viewer.js").read_text(encoding="utf-8")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
        f"<style>{_STYLE}</style></head><body>\n"
        f"<header><h1>{title}</h1><details><summary>Figures</summary>{_figures(shown)}</details>"
        f"</header>\n{_CANVAS}"
        f"<section><details><summary>Listing</summary><pre>{html.escape(shown.text())}</pre>"
        "</details></section>\n"
        f'<script type="application/json" id="ow-data">{data}</script>\n'
        f"<script>{script}</script></body></html>\n"
    )


def fragment(shown: Showable) -> str:
    """What a notebook shows: the figures, and the picture where it is not too large.

    Returns:
        HTML without a document around it.
    """
    large = sum(1 for _ in shown.view.all_steps()) > _LARGE
    body = _listing(shown) if large else _picture(shown)
    return f'<div>{_figures(shown)}<div style="overflow:auto;max-height:640px">{body}</div></div>'


def _figures(shown: Showable) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(label)}</td><td>{html.escape(text)}</td></tr>"
        for label, text in shown.summary.rows()
    )
    return f"<table>{rows}</table>"


def _picture(shown: Showable) -> str:
    try:
        return shown.svg()
    except ImportError as error:
        return f"<p>{html.escape(str(error))}</p>{_listing(shown)}"


def _listing(shown: Showable) -> str:
    return f"<pre>{html.escape(shown.text())}</pre>"
