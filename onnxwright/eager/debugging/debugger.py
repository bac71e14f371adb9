"""`debug(model, inputs)`: a model run node by node, each node with its Python line and its values.

Goes into subgraphs and functions, starts anywhere, and keeps as many values as it is asked to.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import eager as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.origins import Sources, line_of
from onnxwright.diagnostics.span import Span
from onnxwright.diagnostics.text import clean
from onnxwright.eager import backend
from onnxwright.eager.control_flow import interpreter, protos
from onnxwright.eager.debugging.bound_inputs import bind, read_model, run_value
from onnxwright.eager.debugging.value_stats import (
    COLUMNS,
    Facts,
    ValueTable,
    cells,
    check_stop_on,
    facts_of,
    stop_at_bad,
)
from onnxwright.eager.ort import model_failures
from onnxwright.eager.values import Value
from onnxwright.errors import OnnxwrightError

DEFAULT_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """One value that one node made.

    Fields:
        index: the position of the node among those of its graph, for nodes of the main graph.
        path: the nodes and iterations around it, outermost first.
        node: the node's name.
        op: its operator, with the domain where it is not the standard one.
        output: the name of the value.
        facts: the value in numbers.
        seconds: how long the node took.
        origin: the Python place that made the node, where the model says it.
    """

    index: int
    path: tuple[str, ...]
    node: str
    op: str
    output: str
    facts: Facts
    seconds: float
    origin: Span | None

    @property
    def source(self) -> str:
        """The Python line that made the node; empty where that is not known."""
        return line_of(self.origin)

    def as_dict(self) -> dict[str, Any]:
        """The fields, the facts among them, as one flat dictionary."""
        own = {k: getattr(self, k) for k in ("index", "path", "node", "op", "output")}
        place = self.origin.place if self.origin is not None else ""
        return {**own, "origin": place, **self.facts.as_dict(), "seconds": self.seconds}


@dataclass(repr=False)
class Debug(ValueTable[NodeRecord]):
    """What a debugged run did.

    `str()` is a table, a notebook shows it as HTML, iteration gives `NodeRecord`s.

    Fields:
        model: the model.
        records: one entry for each value, in the order they were made.
        values: the values of the main graph that were kept, by name.
        outputs: the outputs of the model, by name; empty where the run stopped early.
        inputs: the inputs, by name.
    """

    model: Any
    records: list[NodeRecord] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    _options: Any = None

    _HEAD = ("#", "op", "output", *COLUMNS, "Python line")

    def _entries(self) -> list[NodeRecord]:
        return self.records

    def __getitem__(self, name: str) -> Any:
        """A value that was kept."""
        if name in self.values:
            return self.values[name]
        if name in self.outputs:
            return self.outputs[name]
        is_recorded = any(r.output == name and not r.path for r in self.records)
        advice = (
            'it was not kept: run with `keep="all"` or a greater `max_bytes`'
            if is_recorded
            else "the kept values are " + (", ".join(list(self.values)[:20]) or "none")
        )
        fail(messages.UnknownNode(what="value", name=name, advice=advice))

    def resume(self, node: str | int, **changed: Any) -> Debug:
        """Run again from a node on, with the values that were kept.

        Args:
            node: the name of a node of the main graph, the name of a value it makes, or its
                position.
            changed: other values for some names.

        Returns:
            The new run, of that node and the ones after it.

        Raises:
            EagerValueError: the node does not exist, or a value it needs was not kept (OW624).
        """
        start = _find_node(self.model, node)
        values = {**self.inputs, **self.values, **{k: run_value(v) for k, v in changed.items()}}
        return _run(self.model, values, start, self._options)

    def _rows(self) -> list[list[str]]:
        rows = []
        for n, r in enumerate(self.records):
            place = ""
            if r.origin is not None:
                place = f"{Path(r.origin.file).name}:{r.origin.line} {r.source}"
            indent = "  " * len(r.path)
            name = r.output if len(r.output) <= 32 else r.output[:29] + "..."
            shown = place if len(place) <= 56 else place[:53] + "..."
            texts = map(clean, (str(n), indent + r.op, name, *cells(r.facts, r.seconds), shown))
            rows.append(list(texts))
        return rows


def debug(
    model: Any,
    inputs: Mapping[str, Any] | Sequence[Any] = (),
    *,
    keep: str = "all",
    max_bytes: int = DEFAULT_BYTES,
    stop_on: str | None = None,
    until: str | int | None = None,
    on_value: Callable[[NodeRecord, Value], None] | None = None,
    sources: Sources = None,
) -> Debug:
    """Run a model node by node on the evaluator of the moment.

    Args:
        model: a model of any kind (see `ow.load`).
        inputs: the inputs by name, or in the model's order.
        keep: "all" keeps the values of the main graph, "none" frees each after its last use.
        max_bytes: with "all", the oldest values are freed when there are more bytes than this.
        stop_on: "nan", "inf", or "bad" for either: stop at the first node that makes one.
        until: the last node to run: its name, a value it makes, or its position.
        on_value: called with each record and its value; a place for a breakpoint.
        sources: Python files, or folders of them, whose lines are shown where the model names them;
            those that this process compiled from are shown anyway, others never are.

    Returns:
        The run.

    Raises:
        ModelTypeError: it is not a model (OW752).
        EagerValueError: a bad value was found (OW623); `error.debug` is the run up to there.
        EagerError: a node failed; the error shows its Python line where that is known.

    Example:
        >>> import onnx.parser
        >>> head = '<ir_version: 10, opset_import: ["" : 18]> g (float[N] x) => (float[N] y)'
        >>> text = head + "{ h = Neg(x) y = Exp(h) }"
        >>> run = debug(onnx.parser.parse_model(text), [np.zeros(2, np.float32)])
        >>> [(r.op, r.output, r.facts.mean) for r in run]
        [('Neg', 'h', 0.0), ('Exp', 'y', 1.0)]
        >>> run.resume("y", h=np.ones(2, np.float32)).outputs["y"].round(3)
        array([2.718, 2.718], dtype=float32)
    """
    check_stop_on(stop_on)
    if keep not in ("all", "none"):
        fail(messages.BadOption(option="keep", value=repr(keep), advice="use 'all', 'none'"))
    proto, load = read_model(model)
    last = None if until is None else _find_node(proto, until)
    return run_opened(
        proto, load, inputs, keep=keep, max_bytes=max_bytes, stop_on=stop_on, last=last,
        on_value=on_value, sources=sources,
    )  # fmt: skip


def run_opened(
    proto: Any,
    load: Callable[[Any], Any],
    inputs: Mapping[str, Any] | Sequence[Any],
    **options: Any,
) -> Debug:
    """Run what `read_model` gave, node by node.

    Args:
        load: the reader of its initializers.
        inputs, options: as for `debug`.
    """
    return _run(proto, bind(proto, inputs), 0, _Options(load=load, **options))


@dataclass(frozen=True, kw_only=True)
class _Options:
    """How a model is run: as for `debug`; `last` is the position of the last node."""

    keep: str = "none"
    max_bytes: int = DEFAULT_BYTES
    stop_on: str | None = None
    last: int | None = None
    on_value: Callable[[NodeRecord, Value], None] | None = None
    load: Callable[[Any], Any] | None = None
    sources: Sources = None


def _find_node(model: Any, which: str | int) -> int:
    """The position of a node of the main graph."""
    nodes = model.graph.node
    if isinstance(which, int):
        if -len(nodes) <= which < len(nodes):
            return which % len(nodes)
    else:
        for n, node in enumerate(nodes):
            if node.name == which or which in node.output:
                return n
    names = [node.name or node.op_type for node in nodes]
    advice = f"the main graph has {len(nodes)} nodes: {', '.join(names[:12])}"
    fail(messages.UnknownNode(what="node", name=str(which), advice=advice))


def _run(model: Any, values: Mapping[str, Value], start: int, options: _Options) -> Debug:
    """Run the nodes of the main graph from `start` to the last."""
    inputs = {i.name: values[i.name] for i in model.graph.input if i.name in values}
    result = Debug(model, inputs=inputs, _options=options)
    watcher = _Watcher(result, options)
    runner = interpreter.Interpreter(
        backend.run,
        protos.versions_of(model),
        protos.functions_of(model),
        watcher.on_step,
        options.load,
        failed=watcher.on_failure,
    )
    scope = {**runner.initializers(model.graph), **values}
    nodes = list(model.graph.node)
    stop = len(nodes) if options.last is None else options.last + 1
    outputs = {o.name for o in model.graph.output}
    uses = protos.last_uses(nodes)
    held = 0
    for position in range(start, stop):
        node = nodes[position]
        _check_known(node, scope)
        watcher.index = position
        runner.nodes([node], interpreter.Scope(scope))
        for name in node.output:
            if name and options.keep == "all":
                result.values[name] = scope[name]
                held += _nbytes(scope[name])
        if options.keep == "none":
            for name in protos.used_names(node):
                if uses.get(name) == position and name not in outputs:
                    scope.pop(name, None)
        while held > options.max_bytes and len(result.values) > 1:
            oldest = next(iter(result.values))
            held -= _nbytes(result.values.pop(oldest))
            if uses.get(oldest, -1) <= position and oldest not in outputs:
                scope.pop(oldest, None)
    result.outputs = {o.name: scope[o.name] for o in model.graph.output if o.name in scope}
    return result


def _nbytes(value: Value) -> int:
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    return sum(_nbytes(v) for v in value) if isinstance(value, list) else 0


def _check_known(node: onnx.NodeProto, scope: Mapping[str, Value]) -> None:
    for name in protos.used_names(node):
        if name and name not in scope:
            what = f"{node.op_type} needs it: give `{name}=...`, or run the nodes before"
            fail(messages.UnknownNode(what="kept value", name=name, advice=what))


class _Watcher:
    """Makes a record of each step, and of each failure an error with the Python line."""

    def __init__(self, result: Debug, options: _Options) -> None:
        self.result = result
        self.options = options
        self.index = 0

    def on_step(self, step: interpreter.Step) -> None:
        """Note what a node made."""
        node = step.node
        origin = model_failures.origin_of(node, self.options.sources)
        op = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        index = self.index if not step.path else -1
        for name, value in zip(node.output, step.outputs, strict=False):
            if not name:
                continue
            facts = facts_of(value)
            record = NodeRecord(index, step.path, node.name, op, name, facts, step.seconds, origin)
            self.result.records.append(record)
            if self.options.on_value is not None:
                self.options.on_value(record, value)
            stop_at_bad(
                facts, self.options.stop_on, name, lambda: origin or user_span(), debug=self.result
            )

    def on_failure(self, node: onnx.NodeProto, error: OnnxwrightError) -> None:
        """Raise the failure of a node at the Python line that made it."""
        if hasattr(error, "debug"):
            raise error
        origin = model_failures.origin_of(node, self.options.sources)
        note = f"node {node.op_type} `{node.name}` -> {', '.join(node.output)}"
        first = error.diagnostic
        moved = dataclasses.replace(first.with_notes(note), span=origin or first.span)
        moved_error = type(error)(moved, *error.diagnostics[1:])
        moved_error.debug = self.result  # type: ignore[attr-defined]
        raise moved_error from error
