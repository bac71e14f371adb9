"""A model in figures: operators, parameters, bytes, inputs, outputs, opsets, estimated work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import onnx
from onnx import inliner

from onnxwright.ir.text import clean
from onnxwright.types.kinds import TensorType
from onnxwright.viz.flops import flops_of
from onnxwright.viz.view import Block, View, read, slim, view, weight_of

_TOP = 12


@dataclass(frozen=True, slots=True)
class NodeWork:
    """One node and its estimated floating point operations; None where they are not known."""

    name: str
    op: str
    flops: int | None

    def as_dict(self) -> dict[str, Any]:
        """The fields as a dictionary."""
        return {"name": self.name, "op": self.op, "flops": self.flops}


@dataclass(frozen=True, slots=True)
class Summary:
    """A model in figures.

    Fields:
        name: the name of the main graph.
        opsets: domain -> version.
        inputs, outputs: name -> type as text.
        nodes: how many nodes there are, those of subgraphs and functions counted once.
        operators: operator -> how many nodes, the most frequent first.
        functions: how many functions the model has.
        parameters: how many numbers the initializers and the tensors in nodes hold.
        nbytes: how many bytes they take; `external` of them are in other files.
        work: the nodes that run, functions inlined, each with its estimated FLOPs.
        free: names of dimensions of the inputs that were given no size.
    """

    name: str
    opsets: Mapping[str, int]
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    nodes: int
    operators: Mapping[str, int]
    functions: int
    parameters: int
    nbytes: int
    external: int
    work: tuple[NodeWork, ...]
    free: tuple[str, ...] = ()

    @property
    def flops(self) -> int:
        """The estimated work of one run, of the nodes where it is known."""
        return sum(w.flops or 0 for w in self.work)

    @property
    def unknown(self) -> int:
        """How many nodes have no estimate."""
        return sum(w.flops is None for w in self.work)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        return {
            "name": self.name,
            "opsets": dict(self.opsets),
            "inputs": dict(self.inputs),
            "outputs": dict(self.outputs),
            "nodes": self.nodes,
            "operators": dict(self.operators),
            "functions": self.functions,
            "parameters": self.parameters,
            "bytes": self.nbytes,
            "external_bytes": self.external,
            "flops": self.flops,
            "flops_unknown_nodes": self.unknown,
            "free_dimensions": list(self.free),
            "work": [w.as_dict() for w in self.work],
        }

    def rows(self) -> list[tuple[str, str]]:
        """Label and text of everything that is worth a line."""
        opsets = ", ".join(f"{d} {v}" for d, v in self.opsets.items())
        rows = [("model", self.name), ("opset", opsets or "none")]
        for label, values in (("inputs", self.inputs), ("outputs", self.outputs)):
            rows.append((label, ", ".join(f"{n}: {t}" for n, t in values.items()) or "none"))
        size = binary(self.nbytes)
        if self.external:
            size += f" ({binary(self.external)} in other files)"
        rows.append(("parameters", f"{self.parameters:,} in {size}"))
        many = "function" if self.functions == 1 else "functions"
        more = f", {self.functions} {many}" if self.functions else ""
        rows.append(("nodes", f"{self.nodes}{more}"))
        rows.append(("operators", self._operators()))
        rows.append(("FLOPs (estimated)", self._work()))
        return rows

    def _work(self) -> str:
        if not self.unknown:
            return decimal(self.flops)
        hint = f" (give sizes to {', '.join(self.free)})" if self.free else ""
        flops_text = f"{decimal(self.flops)}; " if self.flops else ""
        return f"{flops_text}{self.unknown} of {len(self.work)} nodes not known{hint}"

    def _operators(self) -> str:
        shown = [f"{op} {n}" for op, n in list(self.operators.items())[:_TOP]]
        rest = len(self.operators) - _TOP
        return ", ".join(shown) + (f", and {rest} more" if rest > 0 else "")

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(label) for label, _ in rows)
        return "\n".join(f"{label:<{width}}  {text}" for label, text in rows)


def binary(count: int) -> str:
    """A number of bytes with its unit.

    Example:
        >>> binary(900), binary(3 << 20)
        ('900 B', '3.0 MiB')
    """
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def decimal(count: int) -> str:
    """A large number with a letter for thousands, millions and so on.

    Example:
        >>> decimal(48), decimal(4_100_000_000)
        ('48', '4.10 G')
    """
    size = float(count)
    for unit in ("", " k", " M", " G", " T"):
        if size < 1000:
            return f"{count}" if not unit else f"{size:.2f}{unit}"
        size /= 1000
    return f"{size:.2f} P"


def summarize(model: Any, *, dims: Mapping[str, int] | None = None) -> Summary:
    """A model in figures.

    Args:
        model: a `View`, or what `show` takes.
        dims: sizes of symbolic dimensions for the estimates, such as `{"N": 1}`.

    Raises:
        TypeError: `model` cannot be shown.

    Example:
        >>> from onnx import parser
        >>> head = '<ir_version: 10, opset_import: ["" : 18]> g '
        >>> text = head + "(float[N, 4] x, float[4, 2] w) => (float[N, 2] y) { y = MatMul(x, w) }"
        >>> summary = summarize(parser.parse_model(text), dims={"N": 10})
        >>> summary.flops, dict(summary.operators)
        (160, {'MatMul': 1})
    """
    if isinstance(model, View):
        shown, proto = model, None
    else:
        proto = read(model)
        shown = view(proto)
    counts = Counter(step.op for step in shown.all_steps())
    weights = [w for block in shown.blocks for w in block.all_weights()]
    weights += [weight_of(t) for step in shown.all_steps() for t in _tensors(step.node)]
    main = shown.main
    return Summary(
        shown.title,
        shown.opsets,
        {name: str(main.types.get(name, "?")) for name in main.inputs},
        {name: str(main.types.get(name, "?")) for name in main.outputs},
        counts.total(),
        dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
        len(shown.functions),
        sum(w.count for w in weights),
        sum(w.nbytes for w in weights),
        sum(w.nbytes for w in weights if w.external),
        tuple(_work(_inlined(shown, _sized(proto, dims or {})).main, dict(dims or {}))),
        _free(main, dims or {}),
    )


def _free(block: Block, dims: Mapping[str, int]) -> tuple[str, ...]:
    """Names of dimensions of the inputs that have no size."""
    kinds = [block.types.get(name) for name in block.inputs]
    shapes = [kind.shape or () for kind in kinds if isinstance(kind, TensorType)]
    names = [clean(d) for shape in shapes for d in shape if isinstance(d, str) and d not in dims]
    return tuple(dict.fromkeys(names))


def _tensors(node: Any) -> Iterator[Any]:
    """The tensors among a node's attributes, such as the value of a Constant."""
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.TENSOR and not attribute.ref_attr_name:
            yield attribute.t


def _sized(proto: Any, dims: Mapping[str, int]) -> Any:
    """A copy without large weights in which the named dimensions of the inputs have their sizes.

    Inference goes further with numbers than with names, through a Reshape for one.
    """
    if not isinstance(proto, onnx.ModelProto):
        return None
    slimmed = slim(proto)
    if dims:
        # The model gives other shapes in names; inference gives them in numbers.
        del slimmed.graph.value_info[:]
        for info in (*slimmed.graph.input, *slimmed.graph.output):
            for dim in info.type.tensor_type.shape.dim:
                if dim.dim_param in dims:
                    dim.dim_value = dims[dim.dim_param]
    return slimmed


def _inlined(shown: View, proto: Any) -> View:
    """The view with functions inlined and sizes filled in, so that more types are known."""
    if not isinstance(proto, onnx.ModelProto):
        return shown
    try:
        return view(inliner.inline_local_functions(proto) if shown.functions else proto)
    except Exception:  # noqa: BLE001 - a broken model has no estimates inside its functions
        return shown


def _work(block: Block, dims: Mapping[str, int]) -> list[NodeWork]:
    work: list[NodeWork] = []
    for step in block.steps:
        name = step.name or ", ".join(filter(None, step.outputs))
        if not step.blocks:
            work.append(NodeWork(name, step.op, flops_of(step.node, block.types, dims)))
            continue
        inner = [_work(body, dims) for _, body in step.blocks]
        times = _repeats(block, step.op, step.inputs, step.node)
        if step.op == "If":
            # One of the branches runs: the dearer one is counted.
            work += max(inner, key=lambda works: sum(w.flops or 0 for w in works))
        else:
            for works in inner:
                work += [
                    NodeWork(
                        w.name, w.op, w.flops * times if w.flops is not None and times else None
                    )
                    for w in works
                ]
    return work


def _repeats(block: Block, op: str, inputs: tuple[str, ...], node: Any) -> int | None:
    """How often the body of a Loop or Scan runs; None where that is not known."""
    if op == "Loop" and inputs and inputs[0]:
        # A loop that may stop early is counted as if it did not.
        for weight in block.weights:
            if weight.name == inputs[0] and weight.preview.strip("[]").isdigit():
                return int(weight.preview.strip("[]"))
        for step in block.steps:
            if step.outputs == (inputs[0],) and step.op == "Constant":
                text = dict(step.attributes).get("value", "").split(" ")[-1].strip("[]")
                return int(text) if text.isdigit() else None
    if op == "Scan":
        scanned = next((a.i for a in node.attribute if a.name == "num_scan_inputs"), 0)
        kind = block.types.get(inputs[-1]) if scanned and inputs else None
        if isinstance(kind, TensorType) and kind.shape and isinstance(kind.shape[0], int):
            return kind.shape[0]
    return None
