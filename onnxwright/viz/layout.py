"""Where boxes and lines go: a graph with nested boxes laid out by Graphviz.

Graphviz is the engine: it is well kept, lays out nested boxes and boxes of different sizes, and
takes a second for 2,000 nodes.  It comes as `pygraphviz` 2, whose wheels contain it, so that no
system package is needed; the extra `viz` installs it.  Only sizes go in and only positions come
out: no text of a model reaches it, fonts play no part, and the picture is drawn by us.

(Others were tried: grandalf knows sizes but no nested boxes and is not maintained; igraph and
fast-sugiyama know neither.)
"""

from __future__ import annotations

import contextlib
import io
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

# Graphviz keeps state of its own between calls.
_LOCK = threading.Lock()
# From this many nodes on, fewer rounds are spent on making lines short and on crossings.
_MANY = 1000
# From this many on, bands of a quarter of it are laid out each for itself: the engine's time grows
# with more than the square (10,000 boxes in one piece took it minutes).
_BAND = 2000
_GAP = 24.0


@dataclass(frozen=True, slots=True)
class Box:
    """A node to be placed: its number and its size in pixels."""

    key: int
    width: float
    height: float


@dataclass
class Group:
    """A box around boxes: its title's size, the boxes and the groups in it."""

    key: int
    width: float
    height: float
    boxes: list[Box] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)

    def count(self) -> int:
        """How many boxes there are, at any depth."""
        return len(self.boxes) + sum(group.count() for group in self.groups)


@dataclass(frozen=True, slots=True)
class Placed:
    """A layout: sizes of the whole, corners of boxes and groups, points of lines.

    Fields:
        width, height: of the whole.
        boxes: key -> left, top, width, height.
        groups: likewise.
        lines: for each line, the points of a chain of Bezier curves; empty where it has none.
    """

    width: float
    height: float
    boxes: dict[int, tuple[float, float, float, float]]
    groups: dict[int, tuple[float, float, float, float]]
    lines: list[list[tuple[float, float]]]


def engine() -> Any:
    """The layout engine's module.

    Raises:
        ImportError: it is not installed; the text names the extra.
    """
    try:
        import pygraphviz
    except ImportError as error:
        raise ImportError(
            "a picture needs a layout engine: pip install 'onnxwright[viz]'  "
            "(the typed listing and the summary work without it)"
        ) from error
    return pygraphviz


def place(root: Group, lines: Sequence[tuple[int, int]]) -> Placed:
    """Lay out boxes, boxes around them, and the lines between.

    Args:
        root: the whole; its own key and title are not drawn.

    Returns:
        The layout, y downward, in pixels.

    Raises:
        ImportError: the engine is not installed.

    Example:
        >>> layout = place(Group(0, 0, 0, [Box(1, 72, 36), Box(2, 72, 36)]), [(1, 2)])
        >>> layout.boxes[1][1] < layout.boxes[2][1], len(layout.lines[0])
        (True, 4)
    """
    engine()
    if root.count() > _BAND:
        return _apart(root, lines)
    return _whole(root, lines)


def _whole(root: Group, lines: Sequence[tuple[int, int]], *, many: bool = False) -> Placed:
    module = engine()
    many = many or root.count() > _MANY
    with _LOCK, contextlib.redirect_stderr(io.StringIO()):
        graph = module.AGraph(directed=True, strict=False)
        graph.graph_attr.update(rankdir="TB", ranksep="0.35", nodesep="0.2", label="")
        if many:
            # 2,000 nodes with two inputs each: 1.5 s instead of 12 s, and as readable.
            graph.graph_attr.update(nslimit="0.02", mclimit="0.1")
        graph.node_attr.update(shape="box", fixedsize="true", label="")
        graph.edge_attr.update(arrowhead="none")
        _fill(graph, root)
        for number, (source, target) in enumerate(lines):
            graph.add_edge(f"n{source}", f"n{target}", key=str(number), id=str(number))
        data = json.loads(graph.draw(format="json0", prog="dot"))
    return _read(data, len(lines))


def _apart(root: Group, lines: Sequence[tuple[int, int]]) -> Placed:
    """Groups beside each other, each in bands below each other."""
    placed = Placed(0, 0, {}, {}, [[] for _ in lines])
    width = height = 0.0
    tops = [*root.groups, *([Group(0, 0, 0, root.boxes)] if root.boxes else [])]
    for group in tops:
        wide, high = _banded(group, lines, placed, width)
        width, height = width + wide + _GAP, max(height, high)
    boxes = placed.boxes
    for number, (source, target) in enumerate(lines):
        if not placed.lines[number] and source in boxes and target in boxes:
            placed.lines[number] = _across(boxes[source], boxes[target])
    return Placed(max(width - _GAP, 0), height, placed.boxes, placed.groups, placed.lines)


def _banded(
    group: Group, lines: Sequence[tuple[int, int]], layout: Placed, left: float
) -> tuple[float, float]:
    """Lay out one group from a left edge on; its width and height."""
    bands: list[Group] = [Group(0, 0, 0)]
    parts: list[Box | Group] = [*group.boxes, *group.groups]
    parts.sort(key=lambda part: part.key)
    for part in parts:  # in the order in which they were made, that is of the nodes
        if bands[-1].count() >= _BAND // 4:
            bands.append(Group(0, 0, 0))
        if isinstance(part, Box):
            bands[-1].boxes.append(part)
        else:
            bands[-1].groups.append(part)
    homes = {key: n for n, band in enumerate(bands) for key in _keys(band)}
    inner: list[list[int]] = [[] for _ in bands]
    for number, (source, target) in enumerate(lines):
        home = homes.get(source)
        if home is not None and home == homes.get(target):
            inner[home].append(number)
    placed = [
        _whole(band, [lines[n] for n in numbers], many=True)
        for band, numbers in zip(bands, inner, strict=True)
    ]
    wide = max([p.width for p in placed] + [group.width]) + 2 * _GAP
    top = group.height + _GAP / 2
    for part_, numbers in zip(placed, inner, strict=True):
        dx, dy = left + (wide - part_.width) / 2, top
        for mine, theirs in ((part_.boxes, layout.boxes), (part_.groups, layout.groups)):
            theirs.update({k: (x + dx, y + dy, w, h) for k, (x, y, w, h) in mine.items()})
        for number, points in zip(numbers, part_.lines, strict=True):
            layout.lines[number] = [(x + dx, y + dy) for x, y in points]
        top += part_.height + 2 * _GAP
    if group.key:
        layout.groups[group.key] = (left, 0.0, wide, top)
    # A box around boxes is drawn before what is in it.
    ordered = dict(sorted(layout.groups.items()))
    layout.groups.clear()
    layout.groups.update(ordered)
    return wide, top


def _keys(group: Group) -> list[int]:
    return [box.key for box in group.boxes] + [k for g in group.groups for k in _keys(g)]


def _across(
    source: tuple[float, float, float, float], target: tuple[float, float, float, float]
) -> list[tuple[float, float]]:
    """A line from band to band: down from a box, and from above into another."""
    x, y = source[0] + source[2] / 2, source[1] + source[3]
    end, stop = target[0] + target[2] / 2, target[1]
    bend = max(_GAP, min(abs(stop - y) / 3, 8 * _GAP))
    return [(x, y), (x, y + bend), (end, stop - bend), (end, stop)]


def _fill(graph: Any, group: Group) -> None:
    for box in group.boxes:
        graph.add_node(
            f"n{box.key}", width=f"{box.width / 72:.3f}", height=f"{box.height / 72:.3f}"
        )
    for inner in group.groups:
        # A title of a fixed size, drawn by us: an empty table holds its place.
        size = f'WIDTH="{max(inner.width, 1):.0f}" HEIGHT="{max(inner.height, 1):.0f}"'
        label = f'<<TABLE BORDER="0" FIXEDSIZE="TRUE" {size}><TR><TD></TD></TR></TABLE>>'
        subgraph = graph.add_subgraph(name=f"cluster_{inner.key}", label=label, labeljust="l")
        _fill(subgraph, inner)


def _read(data: dict[str, Any], count: int) -> Placed:
    _, _, width, height = map(float, data["bb"].split(","))
    boxes: dict[int, tuple[float, float, float, float]] = {}
    groups: dict[int, tuple[float, float, float, float]] = {}
    for item in data.get("objects", ()):
        name = item["name"]
        if name.startswith("cluster_"):
            if "bb" in item:
                left, bottom, right, top = map(float, item["bb"].split(","))
                groups[int(name[8:])] = (left, height - top, right - left, top - bottom)
        elif "pos" in item:
            x, y = map(float, item["pos"].split(","))
            w, h = float(item["width"]) * 72, float(item["height"]) * 72
            boxes[int(name[1:])] = (x - w / 2, height - y - h / 2, w, h)
    lines: list[list[tuple[float, float]]] = [[] for _ in range(count)]
    for edge in data.get("edges", ()):
        points = [p.split(",") for p in edge.get("pos", "").split() if p[0] not in "es"]
        lines[int(edge["id"])] = [(float(p[0]), height - float(p[1])) for p in points]
    return Placed(width, height, boxes, groups, lines)
