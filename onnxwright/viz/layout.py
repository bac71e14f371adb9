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
        lines: pairs of keys of boxes.

    Returns:
        The layout, y downward, in pixels.

    Raises:
        ImportError: the engine is not installed.

    Example:
        >>> found = place(Group(0, 0, 0, [Box(1, 72, 36), Box(2, 72, 36)]), [(1, 2)])
        >>> found.boxes[1][1] < found.boxes[2][1], len(found.lines[0])
        (True, 4)
    """
    module = engine()
    many = root.count() > _MANY
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


def _fill(graph: Any, group: Group) -> None:
    for box in group.boxes:
        graph.add_node(
            f"n{box.key}", width=f"{box.width / 72:.3f}", height=f"{box.height / 72:.3f}"
        )
    for inner in group.groups:
        # A title of a fixed size, drawn by us: an empty table holds its place.
        size = f'WIDTH="{max(inner.width, 1):.0f}" HEIGHT="{max(inner.height, 1):.0f}"'
        label = f'<<TABLE BORDER="0" FIXEDSIZE="TRUE" {size}><TR><TD></TD></TR></TABLE>>'
        made = graph.add_subgraph(name=f"cluster_{inner.key}", label=label, labeljust="l")
        _fill(made, inner)


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


__all__ = ["Box", "Group", "Placed", "engine", "place"]
