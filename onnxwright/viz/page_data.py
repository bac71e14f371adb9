"""What the page draws, as plain data: items in groups, and the edges between them.

The browser lays it out and folds its groups: the modules of PyTorch that nodes come from, and the
graphs of If, Loop and Scan.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from onnxwright.diagnostics.origins import Sources
from onnxwright.eager.debugging.value_stats import Facts, facts_of
from onnxwright.ir.text import clean, short
from onnxwright.viz.drawing import css_of, lines_of, source_text
from onnxwright.viz.view import Block, Step, View, Weight

_SCOPES = "pkg.torch.onnx.name_scopes"
_CLASSES = "pkg.torch.onnx.class_hierarchy"
_LONG = 400  # characters of a text in the table of a node
# A group with more parts than this is divided, so that a browser need not draw them all.
_MANY, _SHARE = 3000, 200


def page_data(view: View, sources: Sources, values: Mapping[str, Any]) -> dict[str, Any]:
    """The graphs of a model for the page.

    Args:
        sources: Python files whose lines may be shown.
        values: values of the main graph by name, of a run.

    Returns:
        What `json.dumps` takes: for each graph items, groups and edges.

    Example:
        >>> from onnx import parser
        >>> from onnxwright.viz.view import view
        >>> shown = view(parser.parse_graph("g (float[2] x) => (float[2] y) { y = Relu(x) }"))
        >>> [item["l"][0] for item in page_data(shown, None, {})["graphs"][0]["items"]]
        ['x', 'Relu', 'y']
    """
    facts = {clean(name): facts_of(value) for name, value in values.items()}
    graphs = []
    for block in view.blocks:
        graph = _Graph(block, sources, facts if block is view.main else {})
        graphs.append(graph.data())
    return {"graphs": graphs}


@dataclass(slots=True)
class _Scope:
    """Where things are added: the group, what makes each name there, and what weights are known."""

    group: int
    makers: dict[str, int]
    weights: dict[str, Weight]


@dataclass
class _Graph:
    """One graph as items, groups and edges, in the order of its nodes."""

    block: Block
    sources: Sources
    facts: Mapping[str, Facts]
    items: list[dict[str, Any]] = field(default_factory=list)
    groups: list[dict[str, Any]] = field(default_factory=list)
    edges: list[tuple[int, int, str]] = field(default_factory=list)
    modules: dict[tuple[int, str], int] = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
        """Everything, as the page reads it."""
        block = self.block
        scope = _Scope(-1, {}, {})
        self._fill(block, scope)
        for name in block.outputs:
            key = self._pill(block, name, "output", -1)
            if name in scope.makers:
                self.edges.append((scope.makers[name], key, block.typed(name)))
        self._drop_small_groups()
        self._divide_large_groups()
        name = f"{block.kind} {block.name}"
        return {"name": name, "items": self.items, "groups": self.groups, "edges": self.edges}

    def _fill(self, block: Block, scope: _Scope) -> None:
        scope.weights |= {w.name: w for w in block.weights}
        for name in block.inputs:
            scope.makers[name] = self._pill(block, name, "input", scope.group)
        for step in block.steps:
            group = self._module(step, scope.group)
            if step.blocks:
                key = self._nested(block, step, scope, group)
            else:
                key = self._item(step, group, *self._described(block, step, scope.weights))
            for name in dict.fromkeys(step.inputs):
                if name in scope.makers:
                    self.edges.append((scope.makers[name], key, block.typed(name)))
            scope.makers |= {name: key for name in step.outputs if name}

    def _nested(self, block: Block, step: Step, scope: _Scope, group: int) -> int:
        """A node with graphs of its own: a group with a group for each of them."""
        _, rows = self._described(block, step, scope.weights)
        title = " ".join(filter(None, (step.op, step.name)))
        number = self._group(group, title, "", "flow", rows)
        for name, inner in step.blocks:
            part = self._group(number, name, "", "part", [])
            before = len(self.items)
            self._fill(inner, _Scope(part, dict(scope.makers), dict(scope.weights)))
            if len(self.items) == before:
                self._item(step, part, ["(empty)"], [])
        return -number - 1

    def _item(self, step: Step, group: int, lines: list[str], rows: list[list[str]]) -> int:
        words = [step.op, step.name, *step.inputs, *step.outputs, step.origin, *_module_path(step)]
        has_message = any(len(row) > 2 for row in rows)
        css = css_of(step) + (" bad" if has_message else "")
        return self._add(group, css, lines, rows, " ".join(words))

    def _pill(self, block: Block, name: str, word: str, group: int) -> int:
        kind = block.types.get(name)
        lines = [short(name, 34)] + ([short(str(kind), 34)] if kind is not None else [])
        rows = [[word, block.typed(name)], *self._value(name)]
        return self._add(group, "io", lines, rows, f"{word} {name}")

    def _add(self, group: int, css: str, lines: list[str], rows: Any, text: str) -> int:
        self.items.append({"p": group, "c": css, "l": lines, "d": rows, "s": text.lower()})
        return len(self.items) - 1

    def _group(self, around: int, name: str, kind: str, css: str, rows: list[list[str]]) -> int:
        entry = {"p": around, "n": short(name, 60), "t": short(kind, 60), "c": css, "d": rows}
        self.groups.append(entry)
        return len(self.groups) - 1

    def _module(self, step: Step, around: int) -> int:
        """The group of the module that a node comes from."""
        group = around
        path, classes = _module_path(step), _module_classes(step)
        for depth, name in enumerate(path):
            key = (group, name)
            if key not in self.modules:
                parent = f"{path[depth - 1]}." if depth else ""
                kind = classes[depth] if depth < len(classes) else ""
                label = name.removeprefix(parent) or name
                self.modules[key] = self._group(group, label, kind, "module", [])
            group = self.modules[key]
        return group

    # -- what is said of a node ------------------------------------------------------------------

    def _described(
        self, block: Block, step: Step, weights: Mapping[str, Weight]
    ) -> tuple[list[str], list[list[str]]]:
        """The lines in a box, and the table beside the picture."""
        rows = [["operator", step.op]]
        rows += [["name", step.name]] if step.name else []
        path = _module_path(step)
        rows += [["module", path[-1]]] if path else []
        for name in step.inputs:
            weight = weights.get(name)
            if weight is None:
                rows.append(["input", block.typed(name) if name else "(absent)"])
                continue
            held = "in another file" if weight.external else _stored(weight)
            rows.append(["weight", f"{block.typed(name)}  {held}"])
        rows += [["attribute", f"{name} = {short(text, _LONG)}"] for name, text in step.attributes]
        for name in filter(None, step.outputs):
            rows += [["output", block.typed(name)], *self._value(name)]
        if step.origin:
            rows.append(["Python", step.place])
            text = clean(source_text(step.origin, self.sources))
            rows += [["line", short(text, _LONG)]] if text else []
        return list(lines_of(block, step, weights)), rows

    def _value(self, name: str) -> list[list[str]]:
        """A value of a run in numbers; with a third entry where it is not finite."""
        facts = self.facts.get(name)
        if facts is None:
            return []
        numbers = [("min", facts.low), ("max", facts.high), ("mean", facts.mean)]
        parts = [f"{label} {number:.6g}" for label, number in numbers if number is not None]
        if facts.nans or facts.infs:
            return [["value", " ".join((*parts, f"NaN {facts.nans} Inf {facts.infs}")), "bad"]]
        return [["value", " ".join((facts.type, *parts))]]

    # -- groups ------------------------------------------------------------------------------------

    def _drop_small_groups(self) -> None:
        """A module with one node in it is drawn as that node; likewise a module in a module."""
        counts = [0] * len(self.groups)
        for part in (*self.items, *self.groups):
            if part["p"] >= 0:
                counts[part["p"]] += 1
        small = {
            n: g["p"] for n, g in enumerate(self.groups) if g["c"] == "module" and counts[n] < 2
        }
        for group in self.groups:
            if group["p"] in small:
                around = self.groups[group["p"]]["n"]
                group["n"] = short(f"{around}.{group['n']}", 60)
        numbers = {n: new for new, n in enumerate(n for n in range(len(counts)) if n not in small)}

        def home(group: int) -> int:
            while group in small:
                group = small[group]
            return numbers.get(group, -1)

        for part in (*self.items, *self.groups):
            part["p"] = home(part["p"])
        self.groups = [g for n, g in enumerate(self.groups) if n not in small]
        self.edges = [
            (a if a >= 0 else -home(-a - 1) - 1, b if b >= 0 else -home(-b - 1) - 1, text)
            for a, b, text in self.edges
        ]

    def _divide_large_groups(self) -> None:
        """Many nodes side by side become groups of consecutive nodes."""
        counts: dict[int, list[dict[str, Any]]] = {}
        for item in self.items:
            counts.setdefault(item["p"], []).append(item)
        for group, items in counts.items():
            if len(items) <= _MANY:
                continue
            for start in range(0, len(items), _SHARE):
                share = items[start : start + _SHARE]
                title = f"nodes {start} to {start + len(share) - 1}"
                divided = self._group(group, title, "", "module", [])
                for item in share:
                    item["p"] = divided


def _stored(weight: Weight) -> str:
    return weight.preview or f"{weight.nbytes} bytes"


def _module_path(step: Step) -> list[str]:
    """The modules that a node comes from, outermost first, by their full names."""
    scopes = _listed(step, _SCOPES)
    if scopes:
        return [clean(name) for name in scopes[:-1] if name]
    parts = [part for part in step.name.split("/") if part][:-1]
    return [".".join(parts[: n + 1]) for n in range(len(parts))]


def _module_classes(step: Step) -> list[str]:
    """The classes of these modules, without the packages they are from."""
    names = _listed(step, _SCOPES)[:-1]
    pairs = zip(names, _listed(step, _CLASSES), strict=False)
    return [clean(kind).rpartition(".")[2] for name, kind in pairs if name]


def _listed(step: Step, key: str) -> list[str]:
    """A list of names in the metadata of a node; empty where there is none."""
    text = next((p.value for p in step.node.metadata_props if p.key == key), "")
    try:
        listed = ast.literal_eval(text) if text else []
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    return [str(name) for name in listed] if isinstance(listed, (list, tuple)) else []
