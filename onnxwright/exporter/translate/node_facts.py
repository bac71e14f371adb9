"""What is known of a node that a report lists: its operator, types, module and line of Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from onnxwright.diagnostics.span import Span, source_line
from onnxwright.exporter.dimensions import Dimensions
from onnxwright.exporter.places import module_of, span_of, target_name
from onnxwright.exporter.torch_types import dtype_of

Names = Dimensions | None


@dataclass(frozen=True)
class NodeNote:
    """One node of a captured program, as text.

    Fields:
        node: the name of the FX node.
        target: its operator.
        inputs: each argument, with its element type and shape if it is a tensor.
        outputs: each result, in the same way.
        module: the path of the module it is in; empty for the model itself.
        kind: the class of that module.
        place: the user's line, `file:line`; empty if torch kept none.
        code: the text of that line.
        reason: what is to say of it.
    """

    node: str
    target: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    module: str
    kind: str
    place: str
    code: str
    reason: str = ""


def note_of(node: Node, reason: str = "", names: Names = None) -> NodeNote:
    """What a report says of a node.

    Example:
        >>> import torch
        >>> program = torch.export.export(torch.nn.Linear(3, 2), (torch.ones(1, 3),))
        >>> note = note_of(list(program.graph.nodes)[-2])
        >>> note.target, note.inputs[0], note.outputs
        ('aten::linear', 'input: FLOAT[1, 3]', ('FLOAT[1, 2]',))
    """
    path, kind = module_of(node)
    span = span_of(node)
    results = node.meta.get("val")
    several = results if isinstance(results, (tuple, list)) else (results,)
    return NodeNote(
        node.name,
        target_name(node.target),
        inputs_of(node, names),
        tuple(type_of(r, names) for r in several),
        path,
        kind,
        f"{span.file}:{span.line}" if span is not None else "",
        _code(span),
        reason,
    )


def inputs_of(node: Node, names: Names = None) -> tuple[str, ...]:
    """The arguments of a node: `name: FLOAT[2, 3]` for a tensor, `name=3` for others."""
    schema = getattr(node.target, "_schema", None)
    parameter_names = [a.name for a in schema.arguments] if schema is not None else []
    named = [
        (parameter_names[n] if n < len(parameter_names) else "", value)
        for n, value in enumerate(node.args)
    ]
    named += list(node.kwargs.items())
    return tuple(_argument(name, value, names) for name, value in named)


def _argument(name: str, value: Any, names: Names) -> str:
    if isinstance(value, Node):
        kind = type_of(value.meta.get("val"), names)
        return f"{name}: {kind}" if name else kind
    if isinstance(value, (list, tuple)) and any(isinstance(v, Node) for v in value):
        inner = ", ".join(_argument("", v, names) for v in value)
        return f"{name}: [{inner}]" if name else f"[{inner}]"
    return f"{name}={value}" if name else str(value)


def type_of(value: Any, names: Names = None) -> str:
    """What torch knows of a value: `FLOAT[batch, 3]`, `an integer`.

    Example:
        >>> import torch
        >>> type_of(torch.zeros(2, 3)), type_of([torch.zeros(1), 5]), type_of(None)
        ('FLOAT[2, 3]', '[FLOAT[1], 5]', 'None')
    """
    if isinstance(value, torch.Tensor):
        try:
            kind = dtype_of(value.dtype).name
        except TypeError:  # a type that ONNX does not have
            kind = str(value.dtype)
        return f"{kind}[{', '.join(_size(size, names) for size in value.shape)}]"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(type_of(v, names) for v in value)}]"
    return _size(value, names)


def _size(size: Any, names: Names) -> str:
    """A size by its name, where it has one."""
    if names is None or not isinstance(size, torch.SymInt):
        return str(size)
    dimension = names.of(size)
    return str(size) if dimension is None else str(dimension)


def _code(span: Span | None) -> str:
    return (source_line(span.file, span.line) or "").strip() if span is not None else ""


# -- checks ----------------------------------------------------------------------------------------
# The nodes of a captured program that only check numbers: a model computes and does not check.

# Assertions about numbers: they have no ONNX.
_CHECKS = (
    "aten::_assert_scalar",
    "aten::sym_constrain_range",
    "aten::sym_constrain_range_for_size",
)


def only_checked(graph: torch.fx.Graph) -> set[Node]:
    """The assertions about numbers, and the numbers that nothing else reads.

    PyTorch's bounds may be beyond the 64 bits of a size.

    Example:
        >>> graph = torch.fx.Graph()
        >>> size = graph.call_function(torch.ops.aten.sym_size.int, (graph.placeholder("x"), 0))
        >>> check = graph.call_function(torch.ops.aten._assert_scalar.default, (size, "a size"))
        >>> only_checked(graph) == {check}
        True
    """
    nodes: set[Node] = set()
    for node in reversed(graph.nodes):
        name = target_name(node.target) if node.op == "call_function" else ""
        if name in _CHECKS or (
            name.startswith("_operator::") and node.users and nodes.issuperset(node.users)
        ):
            nodes.add(node)
    return nodes
