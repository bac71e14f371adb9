"""The positions of nodes when the written Python is compiled, and the keys of facts about them.

A value with a Python name is identified by it, everything else by the place of its node:
`#3` for the fourth node of the function, those of nested graphs counted after the node they are in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onnxwright.compare.proto_graph import ProtoGraph, ProtoNode, ProtoValue
from onnxwright.decompiler.names import is_plain
from onnxwright.ir.builder import ORIGIN


class Places:
    """The order of the nodes of one function, and the names of its values."""

    def __init__(self, root: ProtoGraph) -> None:
        self.root = root
        self.order: dict[ProtoGraph, list[ProtoNode]] = {}
        self.python: dict[ProtoValue, str] = {}
        self.owner: dict[str, ProtoValue] = {}
        self.holders: dict[str, list[ProtoValue]] = {}
        self.first: dict[ProtoNode, str] = {}  # names of absent first outputs
        self.functions: dict[ProtoGraph, str] = {}  # Python functions of nested graphs
        self.attribute: dict[ProtoGraph, str] = {}
        self._numbers: dict[ProtoNode, int] = {}

    def add(self, node: ProtoNode) -> None:
        """Record a node as the next one of its graph."""
        self.order.setdefault(node.graph, []).append(node)

    def name(self, value: ProtoValue, python: str) -> None:
        """Give a value a Python name; the first value of a name has it to itself."""
        self.hold(value, python)
        self.owner.setdefault(python, value)

    def hold(self, value: ProtoValue, python: str) -> None:
        """Let a value go by a Python name that others have too."""
        self.python[value] = python
        self.holders.setdefault(python, []).append(value)

    def finish(self) -> None:
        """Count the nodes, once all are written."""
        self._numbers = {node: n for n, node in enumerate(self.all_nodes(self.root))}

    def all_nodes(self, graph: ProtoGraph) -> Iterator[ProtoNode]:
        """Every node in the order of places."""
        for node in self.order.get(graph, ()):
            yield node
            # As they are counted when the text is compiled, whatever comes first in the model.
            for name in sorted(node.subgraphs, key=lambda n: (not is_plain(n), n == "else_branch")):
                for inner in node.subgraphs[name]:
                    yield from self.all_nodes(inner)

    def key(self, x: ProtoNode | ProtoValue | ProtoGraph | str) -> str:
        """What facts call a value, node or nested graph."""
        if isinstance(x, str):
            return x
        if isinstance(x, ProtoNode):
            return self._unit(x)
        if isinstance(x, ProtoGraph):
            function_name = self.functions.get(x)
            if function_name is not None or x.owner is None:
                return function_name or ""
            return f"#{self._numbers[x.owner]}.{self.attribute[x]}"
        return self._wire(x)

    def named(self, value: ProtoValue) -> str | None:
        """The Python name that a value has to itself."""
        python = self.python.get(value)
        return python if python is not None and self.owner.get(python) is value else None

    def rank(self, x: ProtoNode | ProtoValue | ProtoGraph | str) -> tuple[int, int, int]:
        """The rank of a fact among others: in the order of nodes."""
        if isinstance(x, ProtoNode):
            return self._numbers[x], 0, 0
        if isinstance(x, ProtoGraph):
            return (self._numbers[x.owner], 2, 0) if x.owner is not None else (-1, 0, 0)
        if isinstance(x, ProtoValue) and x.producer is not None:
            return self._numbers[x.producer], 0, x.producer.outputs.index(x)
        if isinstance(x, ProtoValue) and x.input_index is not None and x.graph is not None:
            owner = x.graph.owner
            return (self._numbers[owner] if owner is not None else -1), 1, x.input_index
        return -1, -1, 0

    def _unit(self, node: ProtoNode) -> str:
        if node in self.first:
            return self.first[node]
        first = node.outputs[0] if node.outputs else None
        return (self.named(first) if first is not None else None) or f"#{self._numbers[node]}"

    def _wire(self, value: ProtoValue) -> str:
        python = self.named(value)
        if python is not None:
            return python
        if value.producer is not None:
            n = value.producer.outputs.index(value)
            return f"#{self._numbers[value.producer]}{f':{n}' if n else ''}"
        if (
            value.input_index is not None
            and value.graph is not None
            and value.graph.owner is not None
        ):
            return f"#{self._numbers[value.graph.owner]}.{value.input_index}"
        return self.python.get(value, value.name)

    # -- columns -----------------------------------------------------------------------------------

    def numbered(self) -> bool:
        """Whether every node is named after its operator and place."""
        return bool(self._numbers) and all(
            node.proto.name == f"{node.proto.op_type}_{n}" for node, n in self._numbers.items()
        )

    def origins(self) -> list[tuple[str, str]]:
        """Where nodes were written, one entry each, by file; empty where none says it."""
        runs: list[tuple[str, list[str]]] = []
        waiting: list[str] = []
        for node in self._numbers:
            origin = origin_of(node)
            if origin is None:
                (runs[-1][1] if runs else waiting).append("-")
                continue
            file, place = origin
            if not runs or runs[-1][0] != file:
                runs.append((file, waiting))
                waiting = []
            runs[-1][1].append(place)
        return [(file, " ".join(entries)) for file, entries in runs]


def origin_of(node: ProtoNode) -> tuple[str, str] | None:
    """The file and `line:column` of a node that says where it was written."""
    if not node.proto.metadata_props:
        return None
    origins: Any = [p.value for p in node.proto.metadata_props if p.key == ORIGIN]
    if len(origins) != 1:
        return None
    file, mark, column = origins[0].rpartition(":")
    file, other, line = file.rpartition(":")
    plain = mark and other and line.isdigit() and column.isdigit()
    if not plain or not (line + column).isascii() or not file:
        return None
    return file, f"{line}:{column}"
