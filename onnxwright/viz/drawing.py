"""The picture of a model as SVG: boxes for nodes, nested boxes for subgraphs and functions.

A box shows its types, attributes and Python line when the pointer rests on it.  Every text is
escaped, and nothing in the document runs or is fetched.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field

from onnxwright.diagnostics.origins import Sources, line_of, span_of_origin
from onnxwright.ir.text import clean, short
from onnxwright.operators import facts
from onnxwright.viz.layout import Box, Group, Placed, place
from onnxwright.viz.view import Block, Step, View, Weight

_CHARACTER = 6.65  # width of one, in pixels, of an 11 pixel monospace font
_LINE = 14
_PAD = 8
_WIDEST = 34  # characters in a box
_STYLE = """
.ow text{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.ow .op{font-weight:bold}.ow .more{fill:#555}.ow .head{fill:#444;font-weight:bold}
.ow rect{stroke-width:1;rx:4;ry:4}
.ow .node rect{fill:#f6f8fa;stroke:#57606a}.ow .io rect{fill:#dafbe1;stroke:#1a7f37;rx:11;ry:11}
.ow .const rect{fill:#fff;stroke:#8c959f;stroke-dasharray:3 2}
.ow .heavy rect{fill:#ddf4ff;stroke:#0969da}.ow .call rect{fill:#fbefff;stroke:#8250df}
.ow .flow rect{fill:#fff8c5;stroke:#9a6700}
.ow .group{fill:#8c959f;fill-opacity:.06;stroke:#8c959f}
.ow .group.function{fill:#8250df;fill-opacity:.05;stroke:#8250df}
.ow path{fill:none;stroke:#6e7781;stroke-width:1}.ow path.inner{stroke-dasharray:4 3}
.ow g:hover>rect{stroke-width:2.5}.ow g:hover>path{stroke:#0969da;stroke-width:2.5}
"""
_DEFINITIONS = """\
<rect x="-4" y="-4" width="100%" height="100%" fill="white" stroke="none"/>
<defs><marker id="ow-arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7"
orient="auto"><path d="M0 0L8 4L0 8z" style="fill:#6e7781;stroke:none"/></marker></defs>"""


@dataclass(frozen=True, slots=True)
class _Shape:
    """What is drawn in a box: its class, its lines, what the pointer reads, where it leads."""

    css: str
    lines: tuple[str, ...]
    title: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line from a box to a box."""

    source: int
    target: int
    title: str
    css: str = ""


@dataclass
class _Scene:
    """Everything that is drawn, before it is placed."""

    shapes: dict[int, _Shape] = field(default_factory=dict)
    titles: dict[int, tuple[str, str]] = field(default_factory=dict)
    lines: list[_Line] = field(default_factory=list)
    anchors: dict[str, int] = field(default_factory=dict)
    next: int = 0
    sources: Sources = None

    def key(self) -> int:
        """A fresh number."""
        self.next += 1
        return self.next

    def add(self, group: Group, shape: _Shape) -> int:
        """A box in a group."""
        key = self.key()
        self.shapes[key] = shape
        width = max((len(line) for line in shape.lines), default=1) * _CHARACTER + 2 * _PAD
        group.boxes.append(Box(key, max(width, 36), len(shape.lines) * _LINE + _PAD))
        return key

    def group(self, around: Group, title: str, css: str) -> Group:
        """A group in a group."""
        key = self.key()
        title = short(title, 90)
        self.titles[key] = (title, css)
        placed = Group(key, len(title) * _CHARACTER + _PAD, _LINE)
        around.groups.append(placed)
        return placed


def draw(view: View, sources: Sources = None) -> str:
    """The picture of a model.

    Args:
        sources: Python files, or folders of them, whose lines are shown where the model names them.

    Returns:
        An SVG document.

    Raises:
        ImportError: the layout engine is not installed.

    Example:
        >>> from onnx import parser
        >>> from onnxwright.viz.view import view
        >>> text = draw(view(parser.parse_graph("g (float[2] x) => (float[2] y) { y = Relu(x) }")))
        >>> text.startswith("<svg"), "y: FLOAT[2]" in text
        (True, True)
    """
    scene = _Scene(sources=sources)
    root = Group(0, 0, 0)
    for key in view.functions:
        scene.anchors[key] = len(scene.anchors) + 1
    for block in view.blocks:
        words = f"{block.kind} {block.name}"
        if block.attributes:
            words += f" ({', '.join(block.attributes)})"
        group = scene.group(root, words, block.kind)
        _block(scene, group, block, {}, {}, top=True)
    placed = place(root, [(line.source, line.target) for line in scene.lines])
    return _svg(view, scene, placed)


def _block(
    scene: _Scene,
    group: Group,
    block: Block,
    makers: Mapping[str, int],
    held: Mapping[str, Weight],
    *,
    top: bool,
) -> dict[str, int]:
    """Add what a block holds; what makes each of its values."""
    makers, held = dict(makers), {**held, **{w.name: w for w in block.weights}}
    for name in block.inputs:
        makers[name] = scene.add(group, _pill(block, name, "input"))
    for step in block.steps:
        _step(scene, group, block, step, makers, held)
    if top:
        for name in block.outputs:
            key = scene.add(group, _pill(block, name, "output"))
            if name in makers:
                scene.lines.append(_Line(makers[name], key, block.typed(name)))
    if not group.boxes and not group.groups:
        scene.add(group, _Shape("const", ("(empty)",), "nothing is in here"))
    return makers


def _pill(block: Block, name: str, word: str) -> _Shape:
    kind = block.types.get(name)
    lines = [short(name, _WIDEST)] + ([short(str(kind), _WIDEST)] if kind is not None else [])
    return _Shape("io", tuple(lines), f"{word} {block.typed(name)}")


def _step(
    scene: _Scene,
    group: Group,
    block: Block,
    step: Step,
    makers: dict[str, int],
    held: Mapping[str, Weight],
) -> None:
    around = group
    results: list[tuple[int, str]] = []
    if step.blocks:
        around = scene.group(group, " ".join(filter(None, (step.op, step.name))), "subgraph")
        for name, inner in step.blocks:
            box = scene.group(around, name, "subgraph")
            inside = _block(scene, box, inner, makers, held, top=False)
            results += [
                (inside[o], f"{name}: {inner.typed(o)}") for o in inner.outputs if o in inside
            ]
    key = scene.add(around, _shape(scene, block, step, held))
    for name in dict.fromkeys(step.inputs):
        if name in makers:
            scene.lines.append(_Line(makers[name], key, block.typed(name)))
    scene.lines += [_Line(source, key, title, "inner") for source, title in results]
    for name in step.outputs:
        if name:
            makers[name] = key


def _shape(scene: _Scene, block: Block, step: Step, held: Mapping[str, Weight]) -> _Shape:
    link = f"#f{scene.anchors[step.callee]}" if step.callee in scene.anchors else ""
    title = _title(block, step, held, scene.sources)
    return _Shape(css_of(step), lines_of(block, step, held), title, link)


def lines_of(block: Block, step: Step, held: Mapping[str, Weight]) -> tuple[str, ...]:
    """What is written in the box of a node.

    Args:
        held: the weights that it may read, by name.

    Returns:
        The operator, up to three weights, and the type of the result.
    """
    lines = [short(step.op, _WIDEST)]
    constant = step.op == "Constant"
    if constant:
        lines = [short(text, _WIDEST) for _, text in step.attributes] or lines
    weights = [held[name] for name in step.inputs if name in held]
    for weight in weights[:3]:
        lines.append(short(f"{short(weight.name, 16)} {weight.preview or weight.type}", _WIDEST))
    kinds = [block.types.get(name) for name in step.outputs if name]
    if len(kinds) == 1 and kinds[0] is not None and not constant:
        lines.append(short(f"{kinds[0]}", _WIDEST))
    return tuple(lines)


def css_of(step: Step) -> str:
    """The class of the box of a node, which chooses its colours."""
    if step.callee is not None:
        return "call"
    if step.blocks:
        return "flow"
    if step.op == "Constant":
        return "const"
    return "heavy" if facts(step.op).heavy else "node"


def _title(block: Block, step: Step, held: Mapping[str, Weight], sources: Sources) -> str:
    """What the pointer reads: the node, its inputs, attributes and results, its Python line."""
    lines = [f"{step.op}  {step.name}".rstrip()]
    for name in step.inputs:
        weight = held.get(name)
        shown = f" = {weight.preview}" if weight is not None and weight.preview else ""
        lines.append(f"  in   {block.typed(name) if name else '(absent)'}{shown}")
    lines += [f"  attr {name} = {text}" for name, text in step.attributes]
    lines += [f"  out  {block.typed(name)}" for name in step.outputs if name]
    if step.origin:
        lines.append(step.origin)
        text = clean(source_text(step.origin, sources))
        if text:
            lines.append(f"  {text}")
    return "\n".join(lines)


def source_text(origin: str, sources: Sources = None) -> str:
    """The Python line that an origin names; empty where it is not read.

    Args:
        origin: `file:line:col`, perhaps with the end.
        sources: files of which lines may be shown, besides those that this process compiled.

    Returns:
        The line without its indentation.

    Example:
        >>> source_text("/etc/hosts:1:1")
        ''
    """
    return line_of(span_of_origin(origin, sources))


# -- the document ----------------------------------------------------------------------------------


def _svg(view: View, scene: _Scene, placed: Placed) -> str:
    width, height = placed.width + 8, placed.height + 8
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="-4 -4 {width:.1f} {height:.1f}"'
    style = html.escape(_STYLE, quote=False)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ow" {size}>',
        f"<title>{html.escape(view.title)}</title><style>{style}</style>",
        _DEFINITIONS,
    ]
    anchors = {f"function {name}": n for name, n in scene.anchors.items()}
    for key, (left, top, wide, high) in placed.groups.items():
        title, css = scene.titles[key]
        anchor = anchors.get(title.split(" (")[0])
        mark = f' id="f{anchor}"' if anchor else ""
        out.append(
            f'<g{mark}><rect class="group {css}" x="{left:.1f}" y="{top:.1f}" '
            f'width="{wide:.1f}" height="{high:.1f}"/><text class="head" x="{left + 7:.1f}" '
            f'y="{top + 15:.1f}">{html.escape(title)}</text></g>'
        )
    for line, points in zip(scene.lines, placed.lines, strict=True):
        if len(points) >= 4:
            out.append(_path(line, points))
    for key, (left, top, wide, high) in placed.boxes.items():
        out.append(_box(scene.shapes[key], left, top, wide, high))
    out.append("</svg>")
    return "\n".join(out) + "\n"


def _path(line: _Line, points: list[tuple[float, float]]) -> str:
    first, *rest = (f"{x:.1f} {y:.1f}" for x, y in points)
    css = f' class="{line.css}"' if line.css else ""
    return (
        f'<g><path{css} marker-end="url(#ow-arrow)" d="M{first}C{" ".join(rest)}"/>'
        f"<title>{html.escape(line.title)}</title></g>"
    )


def _box(shape: _Shape, left: float, top: float, wide: float, high: float) -> str:
    texts = []
    for number, text in enumerate(shape.lines):
        css = "op" if number == 0 else "more"
        y = top + _LINE * (number + 1) + 1
        texts.append(
            f'<text class="{css}" text-anchor="middle" x="{left + wide / 2:.1f}" y="{y:.1f}">'
            f"{html.escape(text)}</text>"
        )
    body = (
        f'<g class="{shape.css}"><title>{html.escape(shape.title)}</title><rect '
        f'x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{high:.1f}"/>'
        f"{''.join(texts)}</g>"
    )
    return f'<a href="{shape.link}">{body}</a>' if shape.link else body
