"""A model as a page of its own, and as a part of a notebook: figures, picture, listing."""

from __future__ import annotations

import html
from typing import Protocol

from onnxwright.viz.summary import Summary
from onnxwright.viz.view import View

_STYLE = """
body{font:14px system-ui,sans-serif;margin:0;color:#1f2328;background:#fff}
header,section{padding:12px 20px}h1{font-size:18px;margin:4px 0}h2{font-size:14px;margin:4px 0}
table{border-collapse:collapse}td{padding:1px 14px 1px 0;vertical-align:top}
td:first-child{color:#57606a;white-space:nowrap}
.frame{border:1px solid #d0d7de;height:70vh;overflow:hidden;cursor:grab}
.frame svg{width:100%;height:100%}
pre{font:12px ui-monospace,Menlo,Consolas,monospace;overflow:auto;background:#f6f8fa;padding:10px}
"""
# Wheel to zoom, drag to move; without it the picture is shown whole.  A picture too large to be
# read whole is shown at its own size, from its first input on.
_SCRIPT = """
const s=document.querySelector('.frame svg');
if(s){const b=s.viewBox.baseVal,f=s.getBoundingClientRect();let d=null;
if(Math.max(b.width/f.width,b.height/f.height)>2){
const c=document.querySelector('.frame .io rect'),m=c?c.x.baseVal.value+c.width.baseVal.value/2:0;
b.x=m-f.width/2;b.width=f.width;b.height=f.height;}
s.addEventListener('wheel',e=>{e.preventDefault();const k=e.deltaY<0?0.85:1/0.85;
const r=s.getBoundingClientRect(),px=b.x+b.width*(e.clientX-r.left)/r.width,
py=b.y+b.height*(e.clientY-r.top)/r.height;
b.x=px-(px-b.x)*k;b.y=py-(py-b.y)*k;b.width*=k;b.height*=k;},{passive:false});
s.addEventListener('pointerdown',e=>{d=[e.clientX,e.clientY]});
addEventListener('pointerup',()=>{d=null});
addEventListener('pointermove',e=>{if(!d)return;const r=s.getBoundingClientRect();
const q=Math.max(b.width/r.width,b.height/r.height);
b.x-=(e.clientX-d[0])*q;b.y-=(e.clientY-d[1])*q;d=[e.clientX,e.clientY];});}
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


def page(shown: Showable) -> str:
    """A page that needs nothing but a browser.

    Args:
        shown: the model.

    Returns:
        An HTML document.
    """
    title = html.escape(shown.view.title or "model")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
        f"<style>{_STYLE}</style></head><body>\n"
        f"<header><h1>{title}</h1>{_figures(shown)}</header>\n"
        f'<section><div class="frame">{_picture(shown)}</div></section>\n'
        f"<section><h2>Listing</h2><pre>{html.escape(shown.text())}</pre></section>\n"
        f"<script>{_SCRIPT}</script></body></html>\n"
    )


def fragment(shown: Showable) -> str:
    """What a notebook shows: the figures, and the picture where it is not too large.

    Args:
        shown: the model.

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


__all__ = ["fragment", "page"]
