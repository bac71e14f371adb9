"""`show MODEL` and `view MODEL`: a model as text, figures, picture, or in a browser."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import tempfile
import webbrowser
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from onnxwright.cli.run.running import add_inputs, check_provider, gather, traced
from onnxwright.cli.shared.console import OK, CliError, print_json, wants_color
from onnxwright.cli.shared.files import load, write
from onnxwright.cli.shared.grammar import add_color, add_dims, add_json, add_sources, command, sizes

if TYPE_CHECKING:
    from onnxwright.cli.shared.grammar import Commands


def add(commands: Commands) -> None:
    """Add the commands to the parser."""
    parser = command(
        commands,
        "show",
        "show a model as typed text, in figures, or as a picture",
        [
            "onnxwright show model.onnx",
            "onnxwright show model.onnx --summary --dim N=1",
            "onnxwright show model.onnx --svg model.svg",
        ],
        _show,
    )
    parser.add_argument("model", metavar="MODEL", help="a file, FILE.py:fn, or - for a pipe")
    parser.add_argument("--summary", action="store_true", help="figures instead of the listing")
    parser.add_argument("--work", action="store_true", help="the estimated FLOPs of each node")
    parser.add_argument("--svg", metavar="FILE", help="write a picture; - for a pipe")
    parser.add_argument("--html", metavar="FILE", help="write a page: figures, picture, listing")
    add_dims(parser)
    add_sources(parser)
    add_json(parser)
    add_color(parser)
    parser = command(
        commands,
        "view",
        "open a model in a browser: in Netron if it is installed, else our page",
        [
            "onnxwright view model.onnx",
            "onnxwright view model.onnx -o page.html",
            "onnxwright view model.onnx --page --random --dim N=2",
        ],
        _view,
    )
    parser.add_argument("model", metavar="MODEL", help="a file, FILE.py:fn, or - for a pipe")
    parser.add_argument("-o", "--output", metavar="FILE", help="write our page and open nothing")
    add_sources(parser)
    add_inputs(parser)
    parser.add_argument("--page", action="store_true", help="our page, Netron or not")
    parser.add_argument("--no-browser", action="store_true", help="print the address only")


def _show(given: Namespace) -> int:
    from onnxwright.viz import show
    from onnxwright.viz.summary import decimal

    dims = sizes(given.dim)
    if [given.svg, given.html].count("-") + given.json > 1 and "-" in (given.svg, given.html):
        raise CliError("only one of --svg, --html and --json can go through the pipe")
    shown = show(load(given.model, function=True).proto, dims=dims, sources=given.sources)
    written = False
    for target, text in ((given.svg, shown.svg), (given.html, shown.html)):
        if target:
            write(target, text())
            written = True
    if given.json:
        print_json(shown.summary.as_dict())
    elif given.work:
        for work in shown.summary.work:
            count = "?" if work.flops is None else decimal(work.flops)
            print(f"{count:>10}  {work.op:<20}  {work.name}")
        print(f"{decimal(shown.summary.flops):>10}  in all")
    elif given.summary:
        print(shown.summary)
    elif not written:
        print(shown.text(color=wants_color(given.color)))
    return OK


def _view(given: Namespace) -> int:
    loaded = load(given.model, function=True)
    run = None
    if given.inputs or given.random:  # our page shows the values that the nodes give
        check_provider(given)
        run = traced(loaded, gather(loaded, given), given, keep="all")
        given.page = True
    netron = importlib.util.find_spec("netron") is not None
    if netron and not given.output and not given.page and loaded.path is not None:
        return _netron(loaded.path, given.no_browser)
    from onnxwright.viz import show

    page = show(loaded.proto, sources=given.sources, values=run).html()
    if given.output:
        write(given.output, page)
        return OK
    name = Path(loaded.label).stem if loaded.path is not None else "model"
    handle, path = tempfile.mkstemp(prefix=f"{name}.", suffix=".html")
    os.close(handle)
    write(path, page)
    print(path)
    if not given.no_browser and not _opened(Path(path).as_uri()):
        print("onnxwright view: no browser was found; open the file above", file=sys.stderr)
    return OK


def _opened(address: str) -> bool:
    with contextlib.suppress(webbrowser.Error):
        return webbrowser.open(address)
    return False


def _netron(path: Path, quiet: bool) -> int:
    import importlib

    netron = importlib.import_module("netron")
    try:
        netron.start(str(path), browse=not quiet)
        netron.wait()
    except OSError as error:
        raise CliError(f"Netron cannot be started: {error}") from error
    return OK


__all__ = ["add"]
