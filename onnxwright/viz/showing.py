"""`show(model)`: one object that is a listing, a summary, a picture and a page."""

from __future__ import annotations

import html
import os
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from onnxwright.diagnostics.origins import Sources
from onnxwright.errors import OnnxwrightError
from onnxwright.ir.writing import write_file
from onnxwright.viz.drawing import draw
from onnxwright.viz.listing import listing
from onnxwright.viz.summary import Summary, summarize
from onnxwright.viz.view import View, read, view

# NOTE: eager mode is loaded for values and pages only: a listing needs none of it.
if TYPE_CHECKING:
    from onnxwright.eager.debugging.debugger import Debug


class Shown:
    """A model, ready to be looked at.

    `str()` is the typed listing, `repr()` too (coloured on a terminal), a notebook shows the
    picture with the figures above it.

    Args:
        model: what `show` was given.
        dims: sizes of symbolic dimensions for the estimates.
        sources: Python files, or folders of them, whose lines are shown where the model names them.
        values: what a run gave: `debug(model, inputs)`, or values by name.
    """

    def __init__(
        self,
        model: Any,
        dims: Mapping[str, int] | None = None,
        sources: Sources = None,
        values: Mapping[str, Any] | Debug | None = None,
    ) -> None:
        self._proto = read(model)
        self._sources = sources
        self._dims = dict(dims or {})
        self._values = _by_name(values)

    @cached_property
    def view(self) -> View:
        """What is shown, as data."""
        return view(self._proto)

    @cached_property
    def summary(self) -> Summary:
        """The model in figures."""
        return summarize(self._proto, dims=self._dims)

    def text(self, *, color: bool = False, weights: bool = True) -> str:
        """The typed listing.

        Args:
            color: whether to colour it for a terminal.
            weights: whether to list the initializers.

        Returns:
            Lines of text.
        """
        return listing(self.view, color=color, weights=weights)

    def svg(self) -> str:
        """The picture, which any browser opens.

        Returns:
            An SVG document.

        Raises:
            ImportError: the layout engine is missing; the text names the extra to install.
        """
        return draw(self.view, self._sources)

    def html(self) -> str:
        """A page of its own: figures, graph and listing; it needs nothing but a browser.

        Modules of PyTorch and the graphs of If, Loop and Scan can be folded, nodes can be searched,
        and a click on a node shows its types, weights, attributes, Python line and values.

        Returns:
            An HTML document.
        """
        from onnxwright.viz.page import page

        return page(self, self._sources, self._values)

    def save(self, path: str | Path) -> None:
        """Write a file: `.svg` the picture, `.html` the page, anything else the listing.

        Args:
            path: where to.
        """
        writer = {".svg": self.svg, ".html": self.html}.get(Path(path).suffix, self.text)
        write_file(path, writer())

    def print(self, file: IO[str] | None = None) -> None:
        """Print the listing, in colour where it goes to a terminal.

        Args:
            file: standard output if not given.
        """
        stream = file or sys.stdout
        stream.write(self.text(color=on_terminal(stream)) + "\n")

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text(color=on_terminal(sys.stdout))

    def _repr_html_(self) -> str:
        from onnxwright.viz.page import fragment

        return fragment(self)


def _by_name(values: Any) -> dict[str, Any]:
    """What a run gave, by the names of values."""
    if values is None or isinstance(values, Mapping):
        return dict(values or {})
    from onnxwright.eager.debugging.debugger import Debug

    if isinstance(values, Debug):
        return {**values.inputs, **values.values, **values.outputs}
    return dict(values)


def notebook(script: Any) -> str:
    """What a notebook shows of a script; its error where it cannot be compiled."""
    try:
        return Shown(script)._repr_html_()
    except OnnxwrightError as error:
        # A cell shows what is wrong with the function, and the function is there all the same.
        return f"<pre>{html.escape(repr(script))}\n\n{html.escape(str(error))}</pre>"


def on_terminal(stream: IO[str]) -> bool:
    """Whether a stream is a terminal that shows colours."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(getattr(stream, "isatty", lambda: False)())


def show(
    model: Any,
    *,
    dims: Mapping[str, int] | None = None,
    sources: Sources = None,
    values: Mapping[str, Any] | Debug | None = None,
) -> Shown:
    """Look at a model or function.

    Args:
        model: a ModelProto, FunctionProto or GraphProto, the same of `onnx_ir`, a script, or the
            path of a model file.  External data is not read.
        dims: sizes of symbolic dimensions for estimates, such as `{"N": 1}`.
        sources: Python files, or folders of them, whose lines the picture shows where the model
            names them; those that this process compiled from are shown anyway.
        values: what a run gave, which the page shows beside the types: `debug(model, inputs)`, or
            values by name.

    Returns:
        An object whose text is a typed listing; `.summary` has figures, `.svg()` a picture,
        `.html()` a page, `.save(path)` writes one of them.

    Raises:
        ModelError: the model is damaged.
        TypeError: `model` is none of these.

    Example:
        >>> from onnx import parser
        >>> print(show(parser.parse_graph("g (float[2] x) => (float[2] y) { y = Relu(x) }")))
        graph g(x: FLOAT[2]) -> (y: FLOAT[2])
            y: FLOAT[2] = Relu(x)
    """
    return Shown(model, dims, sources, values)
