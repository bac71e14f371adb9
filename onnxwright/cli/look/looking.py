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

from onnxwright.cli.run.running import INPUTS, check_provider, gather, traced
from onnxwright.cli.shared.console import OK, CliError, print_json, wants_color
from onnxwright.cli.shared.files import load, write
from onnxwright.cli.shared.grammar import (
    COLOR,
    DIMS,
    JSON,
    MODEL,
    SOURCES,
    argument,
    command,
    flag,
    numbers,
)


@command(
    "show",
    "show a model as typed text, in figures, or as a picture",
    [
        "onnxwright show model.onnx",
        "onnxwright show model.onnx --summary --dim N=1",
        "onnxwright show model.onnx --svg model.svg",
    ],
    MODEL,
    flag("--summary", "figures instead of the listing"),
    flag("--work", "the estimated FLOPs of each node"),
    argument("--svg", "FILE", "write a picture; - for a pipe"),
    argument("--html", "FILE", "write a page: figures, picture, listing"),
    DIMS,
    SOURCES,
    JSON,
    COLOR,
)
def _show(args: Namespace) -> int:
    from onnxwright.viz import show
    from onnxwright.viz.summary import decimal

    dims = numbers(args.dim)
    if [args.svg, args.html].count("-") + args.json > 1 and "-" in (args.svg, args.html):
        raise CliError("only one of --svg, --html and --json can go through the pipe")
    shown = show(load(args.model, function=True).proto, dims=dims, sources=args.sources)
    written = False
    for target, text in ((args.svg, shown.svg), (args.html, shown.html)):
        if target:
            write(target, text())
            written = True
    if args.json:
        print_json(shown.summary.as_dict())
    elif args.work:
        for work in shown.summary.work:
            count = "?" if work.flops is None else decimal(work.flops)
            print(f"{count:>10}  {work.op:<20}  {work.name}")
        print(f"{decimal(shown.summary.flops):>10}  in all")
    elif args.summary:
        print(shown.summary)
    elif not written:
        print(shown.text(color=wants_color(args.color)))
    return OK


@command(
    "view",
    "open a model in a browser: in Netron if it is installed, else our page",
    [
        "onnxwright view model.onnx",
        "onnxwright view model.onnx -o page.html",
        "onnxwright view model.onnx --page --random --dim N=2",
    ],
    MODEL,
    argument("-o --output", "FILE", "write our page and open nothing"),
    SOURCES,
    *INPUTS,
    flag("--page", "our page, Netron or not"),
    flag("--no-browser", "print the address only"),
)
def _view(args: Namespace) -> int:
    loaded = load(args.model, function=True)
    run = None
    if args.inputs or args.random:  # our page shows the values that the nodes give
        check_provider(args)
        run = traced(loaded, gather(loaded, args), args, keep="all")
        args.page = True
    netron = importlib.util.find_spec("netron") is not None
    if netron and not args.output and not args.page and loaded.path is not None:
        return _netron(loaded.path, args.no_browser)
    from onnxwright.viz import show

    page = show(loaded.proto, sources=args.sources, values=run).html()
    if args.output:
        write(args.output, page)
        return OK
    name = Path(loaded.label).stem if loaded.path is not None else "model"
    handle, path = tempfile.mkstemp(prefix=f"{name}.", suffix=".html")
    os.close(handle)
    write(path, page)
    print(path)
    if not args.no_browser and not _opened(Path(path).as_uri()):
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
