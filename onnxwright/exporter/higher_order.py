"""Higher-order operators of torch: `cond` as If, `while_loop` as Loop, `scan` and `map` as Scan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch._higher_order_ops.flex_attention import math_attention
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from onnxwright.exporter.lowerings import traced
from onnxwright.exporter.strided import strided
from onnxwright.exporter.symbolic_ops import onnx_operator, symbolic

Translator = Any  # `exporter.translate.Translator`, which reads the table of this module
Handler = Callable[[Translator, Node, list[Any], dict[str, Any]], Any]


def _cond(t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`cond(pred, true_graph, false_graph, operands)` (torch.cond) as ONNX If."""
    predicate, on_true, on_false, operands = args
    if isinstance(predicate, bool):
        return t.run(on_true if predicate else on_false, operands)
    return _several(
        t.op.If(
            predicate,
            then_branch=lambda: _branch(t, on_true, operands),
            else_branch=lambda: _branch(t, on_false, operands),
        )
    )


def _branch(t: Translator, graph: GraphModule, operands: list[Any]) -> Any:
    results = t.run(graph, operands)
    return results[0] if len(results) == 1 else tuple(results)


def _several(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _while_loop(t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`while_loop(cond, body, carried, additional)` (torch.while_loop) as ONNX Loop."""
    _, results = _turns(t, args, stacked=False)
    return results


def _while_loop_stack_output(
    t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """`while_loop_stack_output(cond, body, carried, additional)`: what is carried, of all turns.

    A loop that never turns gives what it was to carry.
    """
    op, carried = t.op, args[2]
    first, results = _turns(t, args, stacked=True)
    rows = results[len(carried) :]
    if isinstance(first, bool):
        return rows if first else [op.Unsqueeze(c, [0]) for c in carried]
    return [
        op.If(
            first,
            then_branch=lambda row=row: op.Identity(row),
            else_branch=lambda c=c: op.Unsqueeze(c, [0]),
        )
        for row, c in zip(rows, carried, strict=True)
    ]


def _turns(t: Translator, args: list[Any], *, stacked: bool) -> tuple[Any, list[Any]]:
    """Whether a loop turns at all, and the results of its Loop."""
    condition, body, carried, additional = args
    first = t.run(condition, [*carried, *additional])[0]

    def step(i: Any, going: Any, *values: Any) -> Any:
        made = t.run(body, [*values, *additional])
        again = t.run(condition, [*made, *additional])[0]
        return (again, *made, *made) if stacked else (again, *made)

    return first, _several(t.op.Loop(None, first, *carried, body=step))


def _map(t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`map_impl(body, xs, others)` (torch map) as ONNX Scan over the first axis."""
    body, xs, others = args

    def step(*rows: Any) -> Any:
        results = t.run(body, [*rows, *others])
        return results[0] if len(results) == 1 else tuple(results)

    return _several(t.op.Scan(*xs, body=step, num_scan_inputs=len(xs)))


def _scan(t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`scan(combine, init, xs, additional)` (torch scan, dim 0) as ONNX Scan."""
    combine, init, xs, additional = args

    def step(*values: Any) -> Any:
        results = t.run(combine, [*values, *additional])
        return results[0] if len(results) == 1 else tuple(results)

    return _several(t.op.Scan(*init, *xs, body=step, num_scan_inputs=len(xs)))


def _associative_scan(t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`associative_scan(combine, xs, additional)` as ONNX Scan whose state is the result so far."""
    combine, xs, additional = args
    op = t.op
    first = [op.Gather(x, 0, axis=0) for x in xs]
    rest = [op.Slice(x, [1], [2**63 - 1], [0]) for x in xs]

    def step(*values: Any) -> Any:
        made = t.run(combine, [*values, *additional])
        return (*made, *made)

    results = _several(op.Scan(*first, *rest, body=step, num_scan_inputs=len(xs)))
    rows = results[len(xs) :]
    return [
        op.Concat(op.Unsqueeze(start, [0]), row, axis=0)
        for start, row in zip(first, rows, strict=True)
    ]


def _flex_attention(t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`flex_attention` by torch's formula: scores and masks of all pairs at once, then softmax.

    Source: torch._higher_order_ops.flex_attention.math_attention.
    """
    fakes = map_arg((node.args, node.kwargs), _known)
    inner = traced(math_attention, *fakes)
    return t.inlined(node, inner, fakes, (args, kwargs))


def _known(node: Node) -> Any:
    """What torch knows of a node: a fake tensor, a size, or the graph it stands for."""
    if node.op == "get_attr" and "val" not in node.meta:
        return getattr(node.graph.owning_module, str(node.target))
    return node.meta["val"]


def _inline(place: int, first: int) -> Handler:
    """A handler that runs the graph at one position on the arguments from another on."""

    def run(t: Translator, node: Node, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return t.run(args[place], args[first:])

    return run


HANDLERS: dict[str, Handler] = {
    "onnx_symbolic::_symbolic": symbolic,
    "onnx_symbolic::_symbolic_multi_out": symbolic,
    "onnx::Attention.opset23": onnx_operator("Attention"),
    "onnx::RotaryEmbedding.opset23": onnx_operator("RotaryEmbedding"),
    "aten::as_strided": strided,
    "aten::as_strided_copy": strided,
    "aten::as_strided_scatter": strided,
    "higher_order::cond": _cond,
    "higher_order::while_loop": _while_loop,
    "higher_order::while_loop_stack_output": _while_loop_stack_output,
    "higher_order::map_impl": _map,
    "higher_order::scan": _scan,
    "higher_order::associative_scan": _associative_scan,
    "higher_order::flex_attention": _flex_attention,
    "higher_order::wrap_with_set_grad_enabled": _inline(1, 2),
    "higher_order::invoke_subgraph": _inline(0, 2),
    "higher_order::invoke_quant_packed": _inline(0, 1),
    "higher_order::wrap": _inline(0, 1),
    "higher_order::tag_activation_checkpoint": _inline(0, 1),
    "higher_order::hints_wrapper": lambda t, node, args, kwargs: t.run(args[0], args[1]),
}
